import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIXTURE_IMAGE } from '../fixture-image.js';
import { PrivateEngine } from './private-engine.js';
import { Stage } from './stage.js';
import { type Undisturbed, undisturbed } from './trial.js';
import type { Surroundings } from './surroundings.js';

const ENGINE_DISK_MB = 1024;

/** The stage of the fault to come: those with the same surroundings, one behind the other, are struck on one. */
export class Stages {
  private engine: PrivateEngine | null = null;
  private stage: Stage | null = null;
  private key = '';
  private measured: Undisturbed | null = null;

  /** @param calibrations undisturbed runs on the first stage, of which the median counts */
  constructor(private readonly calibrations: number) {}

  async on(surroundings: Surroundings): Promise<{ readonly stage: Stage; readonly reference: Undisturbed }> {
    const key = JSON.stringify(surroundings);
    if (this.stage === null || this.key !== key) {
      await this.stage?.close();
      this.stage = null;
      this.stage = await Stage.open(surroundings, await this.startedEngine());
      this.key = key;
      // The first one also pays for what is read for the first time.
      await undisturbed(this.stage, 'warming up');
    }
    this.measured ??= await this.measure(this.stage);
    return { stage: this.stage, reference: this.measured };
  }

  async close(): Promise<void> {
    await this.stage?.close();
    await this.engine?.destroy();
  }

  private async measure(stage: Stage): Promise<Undisturbed> {
    const all: Undisturbed[] = [];
    for (let n = 0; n < this.calibrations; n += 1) all.push(await undisturbed(stage, `undisturbed ${n}`));
    all.sort((a, b) => a.seconds - b.seconds);
    const median = all[Math.floor(all.length / 2)];
    if (median === undefined) throw new Error('Nothing was measured.');
    return median;
  }

  private async startedEngine(): Promise<PrivateEngine> {
    if (this.engine !== null) return this.engine;
    this.engine = new PrivateEngine(mkdtempSync(join(tmpdir(), 'bestk-engine-')), ENGINE_DISK_MB);
    await this.engine.start();
    this.engine.copy(FIXTURE_IMAGE);
    return this.engine;
  }
}
