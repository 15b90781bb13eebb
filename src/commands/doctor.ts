import type { Command } from 'commander';
import { BestkError, EXIT } from '../core/errors/errors.js';
import { RESOURCES } from '../core/errors/unavailable.js';
import type { HostResources } from '../ports/sandbox.js';
import { type Completion, numberedToken } from '../ports/llm-client.js';
import type { App, OpenApp } from './command.js';
import { printJson, printText } from './output.js';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** The finding, or what was tried and what to do. */
  readonly detail: string;
}

const MIB = 1024 * 1024;
const EXAMPLE = `
Example:
  $ bestk doctor --image my/sympy:1.11

Exit: 0 all checks passed, 3 something is not available.`;

/** `bestk doctor`: checks settings, store, containers, image and model; each failure comes with a remedy. */
export function registerDoctor(program: Command, openApp: OpenApp): void {
  program
    .command('doctor')
    .description('check settings, store, container engine, image and model endpoint')
    .option('--image <name>', 'also check that this image is present')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async ({ image, json }: { image?: string; json?: true }) => {
      const app = await openApp();
      const checks = await examine(app, image).finally(() => app.close());
      if (json === true) printJson({ checks });
      else for (const { name, ok, detail } of checks) printText(`${ok ? 'ok    ' : 'FAILED'} ${name}: ${detail}`);
      process.exitCode = checks.every(({ ok }) => ok) ? EXIT.done : EXIT.unavailable;
    });
}

async function examine(app: App, image: string | undefined): Promise<readonly Check[]> {
  const signal = AbortSignal.timeout(30_000);
  return [
    await check('store', async () => {
      await app.runs.checkReady();
      return app.storePath;
    }),
    await check('engine', () => app.sandbox.engineVersion()),
    await check('machine', () => roomOf(app.room)),
    ...(image === undefined
      ? []
      : [
          await check('image', async () => (await app.sandbox.describeImage(image, signal)).id),
          await check('isolation', async () => isolationOf(await app.sandbox.concerns(image, signal))),
        ]),
    await checkModel(app, { name: 'agent', model: app.agentModel, without: AGENT_UNSET, tell: () => '' }, signal),
    await checkModel(app, { name: 'judge', model: app.verifierModel, without: JUDGE_UNSET, tell: logprobsOf }, signal),
    await checkModel(app, { name: 'tests', model: app.testModel, without: TESTS_UNSET, tell: () => '' }, signal),
  ];
}

async function roomOf(room: HostResources): Promise<string> {
  const low = await room.shortage(RESOURCES);
  if (low !== null) throw low;
  const levels = await room.levels();
  return levels.map(({ resource, freeBytes }) => `${resource} ${Math.floor(freeBytes / MIB)} MiB free`).join(', ');
}

function isolationOf(concerns: readonly string[]): string {
  return concerns.length === 0 ? 'nothing to object to' : `WARNING ${concerns.join(' ')}`;
}

const AGENT_UNSET = 'none configured (BESTK_AGENT_MODEL): no sampling';
const TESTS_UNSET = 'none configured (BESTK_TEST_MODEL): generated tests only from --tests';
const JUDGE_UNSET = 'none configured (BESTK_VERIFIER_MODEL): execution-based verification only';

const NUMBERED =
  'so several answers are sampled for each verdict instead: start vLLM without --return-tokens-as-token-ids';

interface ModelCheck {
  readonly name: string;
  readonly model: string | null;
  /** Explanation shown if no model is configured. */
  readonly without: string;
  readonly tell: (completion: Completion) => string;
}

async function checkModel(app: App, { name, model, without, tell }: ModelCheck, signal: AbortSignal): Promise<Check> {
  if (model === null) return { name, ok: true, detail: without };
  return check(name, async () => {
    if (app.replaying) return `${model}, answered from a recording`;
    return `${model} answers${tell(await ask(app, model, signal))}`;
  });
}

function logprobsOf(completion: Completion): string {
  const { logprobs } = completion;
  const numbered = numberedToken(completion);
  if (numbered !== null)
    return ` with log-probabilities of tokens named by number (${numbered.slice(0, 40)}), ${NUMBERED}`;
  if (logprobs === null) return ' WITHOUT log-probabilities: several answers are sampled for each verdict instead';
  const most = Math.max(0, ...logprobs.map(({ top }) => top.length));
  const few = most < 10 ? '; so few that YES or NO may be missing, see docs/serving.md' : '';
  return ` with log-probabilities of ${most} tokens${few}`;
}

function ask(app: App, model: string, signal: AbortSignal): Promise<Completion> {
  return app.llm.complete(
    {
      model,
      messages: [{ role: 'user', content: 'Answer with the one word YES.' }],
      temperature: 1,
      maxTokens: 4,
      topLogprobs: 20,
      sample: 0,
      purpose: 'doctor',
    },
    signal,
  );
}

async function check(name: string, probe: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await probe() };
  } catch (error) {
    if (!(error instanceof BestkError)) throw error;
    return { name, ok: false, detail: `${error.message.replace(/\.?$/, '.')} ${error.next}` };
  }
}

const SWEEP_EXAMPLE = `
Example:
  $ bestk sweep

Containers of running bestk processes, and containers that bestk did not create, are kept.`;

/** `bestk sweep`: removes containers left by dead processes. */
export function registerSweep(program: Command, openApp: OpenApp): void {
  program
    .command('sweep')
    .description('remove containers left behind by earlier bestk processes')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', SWEEP_EXAMPLE)
    .action(async ({ json }: { json?: true }) => {
      const app = await openApp();
      const removed = await app.sandbox.sweep().finally(() => app.close());
      if (json === true) printJson({ removed });
      else printText(`Removed ${removed} container${removed === 1 ? '' : 's'}.`);
    });
}
