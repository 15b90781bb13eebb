// Every test file has a folder for temporary files of its own, which goes when the file is done: what one leaves fills no
// disk, and no file sees another's.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestEnvironment } from 'jest-environment-node';

const OUTSIDE = tmpdir();

export default class extends TestEnvironment {
  constructor(...args) {
    const folder = mkdtempSync(join(OUTSIDE, 'bestk-jest-'));
    // As open as /tmp is: databases and containers of the tests have users of their own.
    chmodSync(folder, 0o1777);
    process.env.TMPDIR = folder;
    super(...args);
    this.folder = folder;
  }

  async teardown() {
    await super.teardown();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
