import type { GeneratedTest } from '../../../../src/core/run/generated-test.js';
import { createCellWorker } from '../../../../verifiers/execution-based/execution-based.js';
import { FakeSandbox, type FakeSessionView } from '../../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../../fakes/memory-result-store.js';
import { playSuite } from '../../../fakes/suite-player.js';
import { calcTest, calculatorIssue, RIGHT } from '../../../fixtures/calculator.js';
import { go } from '../../../fixtures/sandbox-commands.js';

async function driversByContainer(tests: readonly GeneratedTest[]): Promise<readonly string[]> {
  const drivers = new Map<FakeSessionView, string>();
  const play = playSuite({});
  const sandbox = new FakeSandbox((request, session) => {
    const driver = request.argv
      .find((word) => /\/driver\.\w+$/.test(word))
      ?.split('.')
      .at(-1);
    if (driver !== undefined) drivers.set(session, `${drivers.get(session) ?? ''}${driver}`);
    return play(request, session);
  });
  const work = createCellWorker({
    sandbox,
    results: new MemoryResultStore(),
    nonce: () => 'n'.repeat(48),
    pause: () => Promise.resolve(),
  });
  const { instance_id, environment } = calculatorIssue;
  await work({ instance_id, environment, tree: RIGHT, repeat: 0, tests: [...tests] }, go);
  return [...drivers.values()];
}

it('gives either half of the tests of each language a container in which no other has run', async () => {
  const tests = [calcTest('one', 'True'), { ...calcTest('two', 'true'), path: 'two.mjs' }, calcTest('three', 'True')];
  expect(await driversByContainer(tests)).toEqual(['py', 'cjs', 'py']);
});

it('gives the scripts of each candidate a container in which no other has run', async () => {
  const authors = ['a', 'b', 'a'];
  const tests = authors.map((author, index) => ({ ...calcTest(`${author}-own-${index}`, `True or ${index}`), author }));
  expect(await driversByContainer(tests)).toEqual(['py', 'py']);
});
