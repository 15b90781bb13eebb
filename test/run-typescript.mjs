// `node --import ./test/run-typescript.mjs file.ts`: lets a test run a part of bestk as a process of its own.
import { existsSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transformSync } from '@swc/core';

if (isMainThread) register(import.meta.url);

export async function resolve(specifier, context, next) {
  const source = specifier.startsWith('.') ? new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL) : null;
  if (source?.protocol === 'file:' && existsSync(source))
    return { url: source.href, format: 'module', shortCircuit: true };
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const parser = { syntax: 'typescript', decorators: true };
  const { code } = transformSync(readFileSync(fileURLToPath(url), 'utf8'), {
    jsc: { target: 'es2022', parser, transform: { legacyDecorator: true, decoratorMetadata: true } },
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}
