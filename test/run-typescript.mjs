// `node --import ./test/run-typescript.mjs file.ts`: lets a test run a part of bestk as a process of its own.
import { existsSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformSync } from '@swc/core';

const TESTS = new URL('.', import.meta.url).pathname;

if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  if (!specifier.startsWith('.') || !context.parentURL?.startsWith('file:')) return next(specifier, context);
  const sources = ['.ts', '.tsx'].map((end) => new URL(specifier.replace(/\.js$/, end), context.parentURL));
  const source = sources.find((each) => existsSync(each));
  if (source === undefined) return next(specifier, context);
  // What a test file has of its own, its fixtures have too.
  if (source.pathname.startsWith(TESTS)) source.search = new URL(context.parentURL).search;
  return { url: source.href, format: 'module', shortCircuit: true };
}

export async function load(url, context, next) {
  const path = /\.tsx?(\?|$)/.test(url) ? fileURLToPath(url) : null;
  if (path === null) return next(url, context);
  const parser = { syntax: 'typescript', decorators: true, tsx: path.endsWith('x') };
  const { code } = transformSync(readFileSync(path, 'utf8'), {
    filename: path,
    sourceMaps: 'inline',
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
