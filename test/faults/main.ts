// `npm run test:faults`: strikes runs at random moments, and tells in a table what became of them. Exit 1: not what must.
import { parseArgs } from 'node:util';
import { seededRandom } from '../../src/core/random.js';
import type { Fault } from './fault.js';
import { FAULTS } from './faults.js';
import { Stages } from './stages.js';
import { table } from './table.js';
import { type Trial, trial, type Undisturbed } from './trial.js';

const { values: options } = parseArgs({
  options: {
    points: { type: 'string', default: '20' },
    only: { type: 'string', default: FAULTS.map(({ name }) => name).join(',') },
    seed: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
  },
});
const seed = Number(options.seed);
const asked = options.only.split(',');
const chosen = FAULTS.filter(({ name }) => asked.includes(name));
if (chosen.length < asked.length || !Number.isInteger(seed)) {
  console.error(
    `usage: npm run test:faults -- [--points N] [--seed N] [--short] [--only ${FAULTS.map(({ name }) => name).join(',')}]`,
  );
  process.exit(2);
}

/** Runs for each point: one that is over before it is struck shows nothing, and moments are drawn closer after it. */
const MOST_TRIES = 3;
const TOO_LATE = ' (it was over: once more)';

const struck = new Map<string, Trial[]>();
const stages = new Stages(options.short ? 1 : 3);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void stages.close().finally(() => process.exit(130));
  });
}
try {
  for (const [index, fault] of chosen.entries()) {
    const points = options.short ? 1 : Math.max(1, Math.ceil(Number(options.points) * fault.share));
    struck.set(fault.name, await strikeAt(fault, points, chosen[index + 1]));
  }
} finally {
  await stages.close();
}
console.log(`\n${table(struck)}`);
const failed = [...struck].flatMap(([name, trials]) =>
  trials.flatMap(({ problems }, index) => problems.map((problem) => `FAILED ${name}, point ${index + 1}: ${problem}`)),
);
for (const line of failed) console.log(line);
if (failed.length > 0)
  console.log(`Again: npm run test:faults -- --seed ${seed} --only ${faultsThatFailed().join(',')}`);
process.exit(failed.length === 0 ? 0 : 1);

async function strikeAt(fault: Fault, points: number, next: Fault | undefined): Promise<Trial[]> {
  const trials: Trial[] = [];
  const { stage, reference } = await stages.on(fault.surroundings, next?.surroundings);
  // A fault's points are the same whichever others are struck before.
  const random = seededRandom(seed * 1_000 + FAULTS.indexOf(fault));
  let { seconds } = reference;
  for (let tries = 1; trials.length < points; tries += 1) {
    for (const clock of Object.values(stage.parts.clocks)) clock.jump(0);
    const measured = { ...reference, seconds };
    const result = await trial({ fault, stage, random, brief: options.short }, measured, `${fault.name} ${tries}`);
    const tooLate = !result.underWay && result.problems.length === 0 && tries < MOST_TRIES * points;
    console.error(`${fault.name} ${trials.length + 1}/${points}: ${told(result, measured)}${tooLate ? TOO_LATE : ''}`);
    if (tooLate) seconds *= result.at;
    else trials.push(result);
  }
  return trials;
}

function told({ at, right, inFlight, twice, seconds, problems }: Trial, reference: Undisturbed): string {
  const moment = `${(at * reference.seconds).toFixed(1)} of ${reference.seconds.toFixed(1)} s`;
  const calls = `${inFlight} calls in flight, ${twice} made twice`;
  return [
    `struck at ${moment}, ${calls}, ended ${right ? 'right' : 'WRONG'} ${seconds.toFixed(1)} s later`,
    ...problems,
  ].join('\n  ');
}

function faultsThatFailed(): readonly string[] {
  return [...struck].filter(([, trials]) => trials.some(({ problems }) => problems.length > 0)).map(([name]) => name);
}
