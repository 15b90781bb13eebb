import type { ContainerSandboxOptions } from '../../src/sandbox/container/container-sandbox.js';
import type { Sandbox } from '../../src/ports/sandbox.js';

/** A real engine of containers to test on. */
export interface EngineHarness {
  /** A sandbox with the limits of `test/fixtures/sandbox-commands.ts`, for the fixture's image. */
  readonly makeSandbox: (options?: Partial<ContainerSandboxOptions>) => Sandbox;
  /** Names of the containers that this process made and that are still there. */
  readonly leftovers: () => Promise<readonly string[]>;
}
