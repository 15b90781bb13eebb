// `node --import ./test/run-typescript.mjs file.ts`: lets a test run a part of bestk as a process of its own.
import { existsSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformSync } from '@swc/core';

if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  if (!specifier.startsWith('.') || !context.parentURL?.startsWith('file:')) return next(specifier, context);
  const sources = ['.ts', '.tsx'].map((end) => new URL(specifier.replace(/\.js$/, end), context.parentURL));
  const source = sources.find((each) => existsSync(each));
  return source === undefined ? next(specifier, context) : { url: source.href, format: 'module', shortCircuit: true };
}

export async function load(url, context, next) {
  if (!/\.tsx?$/.test(url)) return next(url, context);
  const parser = { syntax: 'typescript', decorators: true, tsx: url.endsWith('x') };
  const { code } = transformSync(readFileSync(fileURLToPath(url), 'utf8'), {
    jsc: {
      target: 'es2022',
      parser,
      transform: {
        legacyDecorator: true,
        decoratorMetadata: true,
        react: { runtime: 'automatic', importSource: 'preact' },
      },
    },
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}
