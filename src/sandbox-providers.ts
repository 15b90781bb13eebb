import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Provider } from '@nestjs/common';
import { dockerRoot } from './adapters/docker-root.js';
import { LocalMachineRoom } from './adapters/local-machine-room.js';
import { createSandbox } from './adapters/sandboxes.js';
import { CONFIG, type Config } from './config.js';
import { createLogger } from './logger.js';
import { MachineRoom } from './ports/machine-room.js';
import { Sandbox } from './ports/sandbox.js';
import { Watching } from './watching.js';

const OUTPUT_BYTES = 1024 * 1024;

/** Sandboxes, and the room that the machine has for them. */
export const sandboxProviders: Provider[] = [
  { provide: MachineRoom, useFactory: machineRoom, inject: [CONFIG] },
  {
    provide: Sandbox,
    useFactory: ({ sandbox, images, logLevel, secrets }: Config, room: MachineRoom, watching: Watching) => {
      const logger = createLogger(logLevel, secrets);
      const warn = (text: string): void => {
        logger.warn(text);
      };
      const say = (text: string): void => {
        logger.info(text);
      };
      const pulling = { ...images, say };
      return watching.sandbox(createSandbox({ ...sandbox, pulling, room, outputBytes: OUTPUT_BYTES, warn }));
    },
    inject: [CONFIG, MachineRoom, Watching],
  },
];

/** On a cluster the kubelet looks after the nodes; here is only what this process itself writes. */
function machineRoom({ floors, store, sandbox: { engine, dockerHost } }: Config): MachineRoom {
  const isDocker = engine === 'docker';
  const root = dockerRoot(dockerHost);
  return new LocalMachineRoom(floors, {
    store: 'file' in store ? dirname(resolve(store.file)) : null,
    uploads: tmpdir(),
    engine: () => (isDocker ? root() : Promise.resolve(null)),
    memory: isDocker && (dockerHost === undefined || dockerHost.startsWith('unix:')),
  });
}
