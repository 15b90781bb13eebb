import { RESOURCES, type Level, type Resource } from '../../src/core/errors/unavailable.js';
import { HostResources } from '../../src/ports/sandbox.js';

/** A machine with as much room as a test says, and a floor of 100 bytes. */
export class GivenResources extends HostResources {
  readonly free: Record<Resource, number>;

  constructor(free: Partial<Record<Resource, number>> = {}) {
    super();
    this.free = { engine: Infinity, memory: Infinity, store: Infinity, uploads: Infinity, ...free };
  }

  override levels(): Promise<readonly Level[]> {
    const level = (resource: Resource): Level => ({
      resource,
      place: 'here',
      freeBytes: this.free[resource],
      floorBytes: 100,
    });
    return Promise.resolve(RESOURCES.map(level));
  }
}
