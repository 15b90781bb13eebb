import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIXTURE_IMAGE } from '../fixtures/fixture-image.js';
import { PrivateEngine } from './private-engine.js';
import { Stage } from './stage.js';
import { type Undisturbed, undisturbed } from './trial.js';
import type { Surroundings } from './surroundings.js';

const ENGINE_DISK_MB = 1024;

/** The stage of the fault to come: those with the same surroundings, one behind the other, are struck on one. */
export class Stages {
  private engine: PrivateEngine | null = null;
  private starting: Promise<PrivateEngine> | null = null;
  private readonly opened = new Map<string, Promise<Stage>>();
  private readonly warm = new Set<Stage>();
  private measured: Undisturbed | null = null;

  /** @param calibrations undisturbed runs on the first stage, of which the median counts */
  constructor(private readonly calibrations: number) {}

  /** @param next what comes then, and is made ready meanwhile */
  async on(
    surroundings: Surroundings,
    next: Surroundings | undefined,
  ): Promise<{ readonly stage: Stage; readonly reference: Undisturbed }> {
    const stage = await this.stage(surroundings);
    // The first one also pays for what is read for the first time.
    if (!this.warm.has(stage)) await undisturbed(stage, 'warming up');
    this.warm.add(stage);
    this.measured ??= await this.measure(stage);
    // Its failure is told when it is asked for.
    if (next !== undefined) this.stage(next).catch(() => undefined);
    return { stage, reference: this.measured };
  }

  async close(): Promise<void> {
    const closing = [...this.opened.values()].map(async (opening) => (await opening).close());
    await Promise.allSettled(closing);
    await this.engine?.destroy();
  }

  private stage(surroundings: Surroundings): Promise<Stage> {
    const key = JSON.stringify(surroundings);
    const stage = this.opened.get(key) ?? Stage.open(surroundings, this.startedEngine());
    this.opened.set(key, stage);
    return stage;
  }

  private async measure(stage: Stage): Promise<Undisturbed> {
    const all: Undisturbed[] = [];
    for (let n = 0; n < this.calibrations; n += 1) all.push(await undisturbed(stage, `undisturbed ${n}`));
    all.sort((a, b) => a.seconds - b.seconds);
    const median = all[Math.floor(all.length / 2)];
    if (median === undefined) throw new Error('Nothing was measured.');
    return median;
  }

  private startedEngine(): Promise<PrivateEngine> {
    this.starting ??= this.startEngine();
    return this.starting;
  }

  private async startEngine(): Promise<PrivateEngine> {
    this.engine = new PrivateEngine(mkdtempSync(join(tmpdir(), 'bestk-engine-')), ENGINE_DISK_MB);
    await this.engine.start();
    await this.engine.copy(FIXTURE_IMAGE);
    return this.engine;
  }
}
