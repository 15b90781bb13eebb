// Runs a test file with Jest's own framework, its modules loaded by Node: bestk and its packages once for a worker and not
// once for each file, which cost more than most tests do. A file and what it has of test/ are its own all the same, so that
// what fixtures hold, and the hooks that they add, are not another file's.
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import framework from 'jest-circus/runner';

const require = createRequire(import.meta.url);
register('../test/run-typescript.mjs', import.meta.url);
process.setSourceMapsEnabled(true);

let files = 0;

/** What the framework asks of a runtime. */
const NATIVE = {
  requireModule: require,
  requireInternalModule(path) {
    // Its state is of one file.
    delete require.cache[path];
    return require(path);
  },
  setGlobalsForRuntime: () => undefined,
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path) => import(`${pathToFileURL(path).href}?file=${(files += 1)}`),
};

export default function run(globalConfig, config, environment, _runtime, path, send) {
  // Jest's own has maps of what it compiled itself alone.
  Error.prepareStackTrace = undefined;
  const here = Object.create(environment, { global: { value: globalThis } });
  return framework.default(globalConfig, config, here, NATIVE, path, send);
}
