// Runs that were never run: scores at random, with many ties.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { seededRandom } from '../../dist/src/core/random.js';
import { findPreset } from '../../dist/verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../../dist/verifiers/hybrid/select.js';

const RULE = ruleOf(findPreset('deepswe'));

/** Finished runs, a folder each, and the labels of their candidates. @returns the instances */
export function writeRuns(runs, labels, { issues, k, seed }) {
  const random = seededRandom(seed);
  const lines = [];
  const instances = [];
  for (let issue = 0; issue < issues; issue += 1) {
    const instance_id = `org__repo${issue % 12}-${issue}`;
    instances.push(instance_id);
    const rate = random() ** 1.5;
    const entries = Array.from({ length: k }, (_, at) => entryOf(`c${at}`, random() < rate, random));
    for (const { id, right } of entries) lines.push(JSON.stringify({ instance_id, candidate_id: id, resolved: right }));
    const to = join(runs, instance_id);
    mkdirSync(to, { recursive: true });
    writeFileSync(join(to, 'run.json'), JSON.stringify(runOf(instance_id, entries)));
    writeFileSync(join(to, 'verdicts.jsonl'), entries.flatMap(verdictsOf).join(''));
    writeFileSync(join(to, 'selection.json'), JSON.stringify(selectBest({ instanceId: instance_id, entries }, RULE)));
  }
  mkdirSync(dirname(labels), { recursive: true });
  writeFileSync(labels, `${lines.join('\n')}\n`);
  return instances;
}

function entryOf(id, right, random) {
  const solved = Array.from({ length: 10 }, (_, test) => `t${test}`).filter(() => random() < (right ? 0.6 : 0.3));
  return {
    right,
    id,
    execution_free: Number(Math.min(1, Math.max(0, 0.35 + 0.2 * right + 0.4 * (random() - 0.5))).toFixed(6)),
    regression: 40 + Math.floor(2 * random() + 0.6 * right),
    regression_out_of: 42,
    reproduction: solved.length,
    reproduction_out_of: 10,
    solved,
    behaviour: JSON.stringify(solved),
    patch_size: 3 + Math.floor(40 * random()),
    fingerprint: `${right}${Math.floor((right ? 4 : 12) * random())}`,
    has_source_change: true,
    applies: true,
    finished: true,
    steps: 10 + Math.floor(60 * random()),
  };
}

function verdictsOf({ id, execution_free, regression, reproduction, solved }) {
  const scored = (measure, score, out_of, evidence) =>
    `${JSON.stringify({ kind: 'scored', candidate_id: id, measure, score, out_of, evidence })}\n`;
  return [
    scored('execution_free', execution_free, 1, {}),
    scored('regression', regression, 42, {}),
    scored('reproduction', reproduction, 10, { solved }),
  ];
}

function runOf(instance_id, entries) {
  const candidates = entries.map(({ id }) => ({
    instance_id,
    candidate_id: id,
    patch: 'x'.repeat(2000),
    trajectory: null,
  }));
  const environment = { image: 'bench:1' };
  return {
    id: `run_${instance_id}`,
    created_at: '2026-01-01T00:00:00.000Z',
    provenance: {
      bestk_version: '0',
      image_id: null,
      verifier_model: 'judge',
      prompt_hashes: {},
      preset: 'deepswe',
      verifiers: ['ef', 'eb'],
      sandbox_limits: {},
    },
    usage: {
      models: [
        {
          purpose: 'judge',
          model: 'judge',
          calls: entries.length,
          stored_answers: 0,
          input_tokens: 26_000,
          cached_input_tokens: 0,
          output_tokens: 260,
          seconds: 9,
        },
      ],
      cost_usd: 0.01,
      stages: { 'execution-free': 9 },
    },
    admissions: Array.from({ length: 10 }, (_, test) => ({ test_id: `t${test}`, admitted: true, reason: null })),
    entries: entries.map(({ right: _, ...entry }) => entry),
    request: {
      issue: { instance_id, problem_statement: 'x'.repeat(3000), environment },
      preset: RULE.preset.name,
      candidates,
    },
  };
}
