import { SandboxLostError } from '../../../../src/core/errors/unavailable.js';
import type { Verdict } from '../../../../src/core/run/verdict.js';
import { exited, FakeSandbox } from '../../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../../fakes/memory-result-store.js';
import { playSuite } from '../../../fakes/suite-player.js';
import { told, verifierOn } from '../../../fakes/verifier-on.js';
import { calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../../fixtures/calculator.js';
import { newFile } from '../../../fixtures/forgers/forger.js';
import { go } from '../../../fixtures/sandbox-commands.js';

/** What the image tells of itself. */
interface Image {
  readonly programs?: readonly string[];
  readonly commands?: readonly string[];
  readonly interpreters?: readonly string[];
  readonly modules?: readonly string[];
  readonly ignored?: readonly string[];
}

describe('files of the image in a patch', () => {
  let asked: string[];
  let trees: string[];

  beforeEach(() => {
    [asked, trees] = [[], []];
  });

  function sandbox({ ignored = [], ...places }: Image): FakeSandbox {
    const play = playSuite({
      test: (tree) => (tree?.includes('return a + b') === true ? 0 : 2),
      regression: () => ({ a: 'passed' }),
    });
    return new FakeSandbox((request, session) => {
      const line = request.argv.join(' ');
      if (line.includes('check-ignore')) {
        asked = String(request.stdin).trim().split('\n');
        const folders = Object.entries(places).flatMap(([kind, each]) => each.map((place) => `${kind} ${place}`));
        const found = asked.filter((path) => ignored.includes(path.slice(2)));
        return exited(0, [...folders, ...found].map((entry) => `${entry}\0`).join(''));
      }
      if (line.includes('apply') && !line.includes('--check')) trees.push(String(request.stdin));
      return play(request, session);
    });
  }

  const verify = (image: Image, ...patches: readonly string[]): Promise<readonly Verdict[]> =>
    verifierOn(sandbox(image)).verify(
      { issue: calculatorIssue, candidates: patches.map((patch, id) => candidate(String(id), patch)), tests: [] },
      go,
    );
  const apartIn = (verdicts: readonly Verdict[]): unknown =>
    verdicts.find(({ evidence }) => 'set_apart' in evidence)?.evidence.set_apart;
  const mode = (path: string): string => `diff --git a/${path} b/${path}\nold mode 100644\nnew mode 100755\n`;
  const program = (path: string): string => newFile(path, '#!/bin/sh').replace('mode 100644', 'mode 100755');

  it.each([
    ['that git ignores', { ignored: ['made/x.py'] }, newFile('made/x.py', 'a = 1')],
    ['that git ignores and the patch changes', { ignored: ['x.py'] }, WRONG.replaceAll('calc.py', 'x.py')],
    ['that becomes a program', { programs: ['/tools'], commands: ['sed'] }, program('tools/sed')],
    ['that becomes a program at the root', { programs: ['/'] }, program('python3')],
    ['that becomes an interpreter that the image lacks', { programs: ['tools'] }, program('tools/node')],
    ['in a folder that is not written plainly', { programs: ['/a/../tools/./bin//'] }, program('tools/bin/python3')],
    [
      'that the patch makes executable later',
      { programs: ['tools'], commands: ['sed'] },
      newFile('tools/sed', '#!/bin/sh') + mode('tools/sed'),
    ],
    ['that the patch makes executable', { programs: ['tools'], commands: ['sed'] }, mode('tools/sed')],
    ['that is the interpreter', { interpreters: ['/own/python3'] }, WRONG.replaceAll('calc.py', 'own/python3')],
    ['that leads to the interpreter', { interpreters: ['/own/bin/python3'] }, WRONG.replaceAll('calc.py', 'own')],
    ['that leads to a folder of programs', { programs: ['/now/bin'] }, WRONG.replaceAll('calc.py', 'now')],
    [
      'that becomes a folder of programs',
      { programs: ['tools/bin'] },
      newFile('tools', '../src').replace('100644', '120000').replace('../src', 'src'),
    ],
    ['that becomes a module named like Python’s', { modules: ['lib'] }, newFile('lib/json/__init__.py', 'a = 1')],
  ])('is set apart: one %s', async (_, image, added) => {
    const verdicts = await verify(image, RIGHT + added);
    expect(new Set(trees)).toEqual(new Set([RIGHT]));
    expect(told(verdicts)['0']).toMatchObject({ regression: 1 });
    expect(new Set(apartIn(verdicts) as string[]).size).toBe(1);
  });

  it.each([
    ['in no folder of the image', {}, newFile('pkg/json.py', 'a = 1')],
    ['that is a program of a new name', { programs: ['tools'], commands: ['sed'] }, program('tools/sums')],
    ['that cannot be run', { programs: [''], commands: ['more.py'] }, newFile('more.py', 'a = 1')],
    ['below a folder of programs', { programs: ['tools'], commands: ['sed'] }, program('tools/lib/sed')],
    ['that is a program on base', { programs: ['tools'], commands: ['sed'] }, WRONG.replaceAll('calc.py', 'tools/sed')],
    ['with a name of its own', { modules: ['lib'] }, newFile('lib/jsons.py', 'a = 1')],
  ])('stays: one %s', async (_, image, added) => {
    expect(apartIn(await verify(image, RIGHT + added))).toBeUndefined();
    expect(new Set(trees)).toEqual(new Set([RIGHT + added]));
  });

  it('asks once for all patches, by paths that git takes for nothing else, and remembers the answer', async () => {
    const results = new MemoryResultStore();
    const image = sandbox({});
    const candidates = [candidate('a', RIGHT), candidate('b', RIGHT + newFile(':x', 'a'))];
    const task = { issue: calculatorIssue, candidates, tests: [] };
    await verifierOn(image, { results }).verify(task, go);
    expect(asked).toEqual(['./:x', './calc.py']);
    const again = sandbox({});
    asked = [];
    await verifierOn(again, { results }).verify(task, go);
    expect([asked, again.opens]).toEqual([[], 0]);
  });

  it('runs patches that are equal without them once', async () => {
    const verdicts = await verify(
      { ignored: ['made/x', 'made/y'] },
      RIGHT + newFile('made/x', '1'),
      RIGHT + newFile('made/y', '2'),
      RIGHT,
    );
    expect(trees).toEqual([RIGHT]);
    expect(Object.values(told(verdicts)).map(({ regression }) => regression)).toEqual([1, 1, 1]);
  });

  it('leaves nothing of a patch that changes only such files, and refuses one that renames source to one', async () => {
    const moved = 'diff --git a/calc.py b/made/x.py\nsimilarity index 100%\nrename from calc.py\nrename to made/x.py\n';
    const verdicts = await verify({ ignored: ['made/x.py'] }, newFile('made/x.py', '1'), moved);
    expect(told(verdicts)).toEqual({
      0: { regression: 'no-source-change', reproduction: 'no-source-change' },
      1: { regression: 'refused-patch', reproduction: 'refused-patch' },
    });
  });

  it('reads answers about more files than the output of a command may have', async () => {
    const given = sandbox({ ignored: ['made/x'] });
    const long = new FakeSandbox(async (request, session) => {
      const outcome = await given.handler(request, session);
      return request.argv.join(' ').includes('check-ignore') ? { ...outcome, truncated: true } : outcome;
    });
    const candidates = [candidate('a', RIGHT + newFile('made/x', '1'))];
    const verdicts = await verifierOn(long).verify({ issue: calculatorIssue, candidates, tests: [] }, go);
    expect([trees, apartIn(verdicts)]).toEqual([[RIGHT], ['made/x']]);
  });

  it('asks again in a fresh container if git cannot be asked', async () => {
    let failures = 0;
    const given = sandbox({});
    const flaky = new FakeSandbox((request, session) => {
      if (request.argv.join(' ').includes('check-ignore') && (failures += 1) < 2) throw new SandboxLostError('gone');
      return given.handler(request, session);
    });
    const task = {
      issue: calculatorIssue,
      candidates: [candidate('a', RIGHT)],
      tests: [calcTest('t', 'add(2, 3) == 5')],
    };
    expect(told(await verifierOn(flaky).verify(task, go))).toEqual({ a: { regression: 1, reproduction: 1 } });
    expect(failures).toBe(2);
  });
});
