// Runs a test file with Jest's own framework, its modules loaded by Node: bestk and its packages once for a worker and not
// once for each file, which cost more than most tests do. A file and what it has of test/ are its own all the same, so that
// what fixtures hold, and the hooks that they add, are not another file's.
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
import framework from 'jest-circus/runner';

const require = createRequire(import.meta.url);
register('../test/run-typescript.mjs', import.meta.url);
process.setSourceMapsEnabled(true);

const hooks = require('node:async_hooks');
let files = 0;
let storages = [];

/** What the framework asks of a runtime. */
const NATIVE = {
  requireModule: require,
  requireInternalModule: loadAnew,
  setGlobalsForRuntime: () => undefined,
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (path) => import(`${pathToFileURL(path).href}?file=${(files += 1)}`),
};

/**
 * Its state is of one file. So are the handlers of its events, which it keeps where another file's would be asked, too; and the
 * storage of its asynchronous context, since Node 20 asks every one in use at every promise: after sixty files, tests of many
 * promises would take ten times as long.
 */
function loadAnew(path) {
  delete globalThis[Symbol.for('EVENT_HANDLERS')];
  for (const storage of storages) storage.disable();
  storages = [];
  const before = Object.getOwnPropertyDescriptor(hooks, 'AsyncLocalStorage');
  const value = class extends hooks.AsyncLocalStorage {
    constructor() {
      super();
      storages.push(this);
    }
  };
  Object.defineProperty(hooks, 'AsyncLocalStorage', { configurable: true, value });
  try {
    delete require.cache[path];
    return require(path);
  } finally {
    Object.defineProperty(hooks, 'AsyncLocalStorage', before);
  }
}

export default function run(globalConfig, config, environment, _runtime, path, send) {
  // Jest's own has maps of what it compiled itself alone.
  Error.prepareStackTrace = undefined;
  const here = Object.create(environment, { global: { value: globalThis } });
  return framework.default(globalConfig, config, here, NATIVE, path, send);
}
