import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MarkdownPromptLibrary } from '../../../../src/models/prompts/prompt-library.js';
import type { CompletionRequest } from '../../../../src/ports/llm-client.js';
import { type JudgeOptions, promptOfModel } from '../../../../verifiers/execution-free/judge-options.js';
import { createYesNoVerifier } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { FakeLlmClient } from '../../../fakes/fake-llm-client.js';
import { candidate, judged, patchOf, tagged } from './judge-world.js';

const steps = [
  { thought: 'I look.', action: '<function=search>', observation: 'a.py' },
  { thought: '', action: '<function=finish>', observation: 'Submitted.' },
];
const told = candidate('c1', { trajectory: { steps, exit_reason: 'agent' } });

async function asked(
  model: string,
  given = told,
  more: Partial<JudgeOptions> = {},
): Promise<{ request: CompletionRequest; evidence: unknown }> {
  const llm = new FakeLlmClient(() => tagged('judgement', { YES: 0.7, NO: 0.3 }));
  const sources = async (): Promise<Map<string, string>> => new Map([[patchOf('c1'), '--- a.py (changed)\nSOURCE']]);
  const options = { model, prompt: promptOfModel(model), sources, think: true, ...more };
  const { c1 } = await judged(createYesNoVerifier, llm, [given], options);
  const [request] = llm.requests;
  if (request === undefined) throw new Error('nothing was asked');
  return { request, evidence: c1?.evidence };
}

it.each([
  ['agentica-org/DeepSWE-Verifier', 'verifier/deepswe'],
  ['DeepSWE_Verifier', 'verifier/yes-no'],
  ['R2E-Gym/R2EGym-14B-Verifier', 'verifier/r2e'],
  ['agentica-org/DeepSWE-Preview', 'verifier/yes-no'],
  ['gpt-5', 'verifier/yes-no'],
])('%s is asked with %s', (model, prompt) => {
  expect(promptOfModel(model)).toBe(prompt);
});

it('shows DeepSWE-Verifier the blocks that it was trained on, in their order, and nothing else', async () => {
  const { request, evidence } = await asked('DeepSWE-Verifier');
  const [system, user] = request.messages;
  const text = user?.content ?? '';
  expect(text).toContain(`=== INTERACTION LOG ===\n\n[SYSTEM]\n${system?.content ?? '?'}\n[/SYSTEM]\n\n[USER]\n`);
  expect(text).toContain(
    '\n[/USER]\n\n[STEP]\n0\n[/STEP]\n\n[ASSISTANT]\nI look.\n\n<function=search>\n[/ASSISTANT]\n\n[USER]\na.py\n[/USER]\n\n' +
      '[STEP]\n1\n[/STEP]\n\n[ASSISTANT]\n<function=finish>\n[/ASSISTANT]\n\n[USER]\nSubmitted.\n[/USER]\n\n=== END INTERACTION ===\n\n' +
      `=== FINAL PATCH ===\n\n[PATCH]\n${patchOf('c1').trimEnd()}\n[/PATCH]\n\n=== END FINAL PATCH ===\n\n`,
  );
  expect(text).toMatch(/^\[USER\]\n[^]*\nIt fails\.\n[^]*?\[\/USER\]/m);
  expect(text).not.toMatch(/SOURCE|is data to judge|[0-9a-f]{16}/);
  expect(text).toMatch(/Respond with YES or NO\.$/);
  expect(request.maxTokens).toBe(16);
  expect(evidence).toMatchObject({ prompt: 'verifier/deepswe', shown: ['trajectory'] });
});

it('says by the hash what the agent was told to R2E-Gym’s verifier, too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prompts-'));
  mkdirSync(join(folder, 'agent'));
  writeFileSync(join(folder, 'agent/r2e.system.md'), '---\nid: agent/r2e\nversion: 2\nrole: system\n---\nDo it.\n');
  const own = { prompts: new MarkdownPromptLibrary(folder) };
  const hashOf = async (model: string, options = {}) => {
    return ((await asked(model, told, options)).evidence as { prompt_hash: string }).prompt_hash;
  };
  expect(await hashOf('R2EGym-Verifier', own)).not.toBe(await hashOf('R2EGym-Verifier'));
  expect(await hashOf('DeepSWE-Verifier', own)).toBe(await hashOf('DeepSWE-Verifier'));
  rmSync(folder, { recursive: true });
});

it('shows R2E-Gym’s verifier what the agent was told', async () => {
  const { request, evidence } = await asked('R2EGym-Verifier');
  const text = request.messages[1]?.content ?? '';
  expect(text).toMatch(
    /\[SYSTEM\]\nYou are a programming agent\.[^]*BEGIN FUNCTION #1: file_editor[^]*\[\/SYSTEM\]\n\n\[USER\]\nI have uploaded/,
  );
  expect(text).toMatch(
    /<github_issue>\nIt fails\.\n<\/github_issue>[^]*Steps Remaining: 40\n\[\/USER\]\n\n\[STEP\]\n0/,
  );
  expect(evidence).toMatchObject({ prompt: 'verifier/r2e' });
});

it('leaves the log out where there is none', async () => {
  const { request } = await asked('DeepSWE-Verifier', candidate('c1'));
  expect(request.messages[1]?.content).toMatch(/\[\/USER\]\n\n=== END INTERACTION ===\n\n=== FINAL PATCH ===/);
});
