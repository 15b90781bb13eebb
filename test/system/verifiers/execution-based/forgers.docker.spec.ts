import { randomBytes } from 'node:crypto';
import type { Verdict } from '../../../../src/core/run/verdict.js';
import { DockerSandbox } from '../../../../src/sandbox/docker/sandbox.js';
import { createExecutionBasedVerifier } from '../../../../verifiers/execution-based/execution-based.js';
import { MemoryResultStore } from '../../../fakes/memory-result-store.js';
import { Observing } from '../../../fakes/observing.js';
import { calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../../fixtures/calculator.js';
import { PYTHON_FORGERS } from '../../../fixtures/forgers/python.js';

/*
 * Patches written against this very program. `npm run test:attacks` runs them, and prints what each costs and comes to.
 */

const LIMITS = { cpus: 1, memoryMb: 512, diskMb: 256, pids: 64, outputBytes: 65_536 };
const sandbox = new DockerSandbox({ concurrency: 2, limits: LIMITS, ttlS: 900 });
const TESTS = [
  calcTest('sum', 'add(2, 3) == 5'),
  calcTest('negative', 'add(-2, 3) == 1'),
  calcTest('large', 'add(10, 20) == 30'),
  calcTest('half', 'add(1.5, 2) == 3.5'),
];

let verdicts: readonly Verdict[] = [];

function of(id: string): string {
  const told = (measure: string): string => {
    const own = verdicts.find((verdict) => verdict.candidate_id === id && verdict.measure === measure);
    return own?.kind === 'scored' ? String(own.score) : (own?.reason ?? 'nothing');
  };
  return `regression ${told('regression')}, reproduction ${told('reproduction')}`;
}

beforeAll(async () => {
  const verifier = createExecutionBasedVerifier({
    sandbox,
    results: new MemoryResultStore(),
    observe: new Observing(),
    nonce: () => randomBytes(24).toString('hex'),
    pause: async () => undefined,
  });
  const forgers = PYTHON_FORGERS.map(({ name, patch }) => candidate(name, patch));
  const candidates = [candidate('right', RIGHT), candidate('wrong', WRONG), ...forgers];
  const task = { issue: calculatorIssue, candidates, tests: TESTS };
  verdicts = await verifier.verify(task, new AbortController().signal);
}, 600_000);

afterAll(async () => {
  await sandbox.closeAll();
  if (process.env.BESTK_ATTACKS_TABLE !== undefined) process.stdout.write(table());
});

function table(): string {
  const row = ({ name, lines }: { name: string; lines: number }): string =>
    `| ${name} | ${String(lines)} | ${of(name)} |\n`;
  return `\n| a patch that … | lines | comes to |\n|---|---|---|\n${PYTHON_FORGERS.map(row).join('')}\n`;
}

it('stand beside a right and a wrong patch that get what they deserve', () => {
  expect(of('right')).toBe('regression 1, reproduction 4');
  expect(of('wrong')).toBe('regression 1, reproduction 3');
});

it.each(PYTHON_FORGERS.map(({ name }) => name))('gains nothing: %s', (name) => {
  expect(['regression forged, reproduction forged', 'regression 0, reproduction 0']).toContain(of(name));
});
