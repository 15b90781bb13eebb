import { isLow, type Level, MachineLowError, type Resource } from '../core/errors/unavailable.js';

/** What work in this process needs; uploads are asked about by themselves. */
const FOR_WORK: readonly Resource[] = ['engine', 'memory', 'store'];

/** How much of what it needs the machine has left. */
export abstract class HostResources {
  /** What can be seen from here; what cannot is not there. Never throws. */
  abstract levels(): Promise<readonly Level[]>;

  /** The first that is below its floor; null when there is room. */
  async shortage(resources: readonly Resource[] = FOR_WORK): Promise<MachineLowError | null> {
    const levels = await this.levels();
    const low = levels.find((level) => resources.includes(level.resource) && isLow(level));
    return low === undefined ? null : new MachineLowError(low);
  }
}

class Boundless extends HostResources {
  override levels(): Promise<readonly Level[]> {
    return Promise.resolve([]);
  }
}
/** Where nobody looks. */
export const BOUNDLESS: HostResources = new Boundless();
