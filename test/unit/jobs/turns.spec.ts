import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { Turns } from '../../../src/jobs/turns.js';

let turns: Turns;
let begun: number;

beforeEach(() => {
  turns = new Turns();
  begun = 0;
});

/** Work of so many pieces, none of which waits for anything else. */
async function work(pieces: number): Promise<void> {
  for (let n = 0; n < pieces; n += 1) {
    await turns.next();
    begun += 1;
  }
}

describe('turns', () => {
  it('lets everybody else go on after each piece of work', async () => {
    const all = Promise.all([work(50), work(50)]);
    const steps: number[] = [];
    while (begun < 100) {
      const before = begun;
      await turn();
      steps.push(begun - before);
    }
    await all;
    expect(Math.max(...steps)).toBe(1);
  });

  it('has work wait until who asks is answered', async () => {
    let isAnswered = false;
    const gone = turns.ask(() => isAnswered);
    const all = work(3);
    for (let n = 0; n < 5; n += 1) await turn();
    expect(begun).toBe(0);
    isAnswered = true;
    gone();
    gone();
    await all;
    expect(begun).toBe(3);
  });

  it('waits for who still asks when another is answered', async () => {
    const first = turns.ask(() => false);
    const second = turns.ask(() => false);
    const all = work(1);
    first();
    await turn();
    await turn();
    expect(begun).toBe(0);
    second();
    await all;
  });

  it('does not starve work while there is always somebody who asks', async () => {
    turns.ask(() => false);
    const timer = setInterval(() => turns.ask(() => false), 10);
    try {
      await work(3);
    } finally {
      clearInterval(timer);
    }
    expect(begun).toBe(3);
  });

  it('does not wait for what takes long, as uploads and event streams do', async () => {
    turns.ask(() => false);
    await sleep(1_100);
    const start = performance.now();
    await work(20);
    // Giving way twenty times would take two seconds.
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
