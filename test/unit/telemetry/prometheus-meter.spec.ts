import { PrometheusMeter } from '../../../src/telemetry/prometheus-meter.js';
import * as trouble from '../../../src/core/errors/unavailable.js';
import {
  EngineDiskFullError,
  EngineUnavailableError,
  ImageMissingError,
  SandboxLostError,
} from '../../../src/core/errors/unavailable.js';
import { COUNTERS, DURATIONS, LEVELS } from '../../../src/ports/telemetry.js';

const NAMES = [...Object.keys(COUNTERS), ...Object.keys(DURATIONS), ...Object.keys(LEVELS)];

it('names every metric as Prometheus would, and tells each before anything happened', async () => {
  const text = await new PrometheusMeter('1.2.3', false).text();
  for (const name of NAMES) expect(text).toContain(`# TYPE ${name} `);
  for (const name of Object.keys(COUNTERS)) expect(name).toMatch(/^bestk_[a-z_]+_total$/);
  for (const name of Object.keys(DURATIONS)) expect(name).toMatch(/^bestk_[a-z_]+_seconds$/);
  expect(text).toContain('bestk_run_duration_seconds_count{outcome="failed",code="internal"} 0');
  expect(text).toContain('bestk_build_info{version="1.2.3"} 1');
});

it.each([
  new EngineUnavailableError(''),
  new EngineDiskFullError(''),
  new ImageMissingError(''),
  new SandboxLostError(''),
  new trouble.SandboxStarvedError(''),
  new trouble.ImagePullError('', '', true),
  new trouble.SandboxEvictedError(''),
  new trouble.SandboxOutOfMemoryError(''),
  new trouble.SandboxExpiredError(''),
  new trouble.SandboxUnschedulableError(''),
])('tells of $code before it fails a sandbox: an alert would miss the first', async ({ code }) => {
  const text = await new PrometheusMeter('0', false).text();
  expect(text).toContain(`bestk_sandbox_failures_total{kind="${code}"} 0`);
});

it('counts, times and levels', async () => {
  const meter = new PrometheusMeter('0', false);
  const labels = { model: 'judge', role: 'agent', kind: 'input' };
  meter.add('bestk_model_tokens_total', labels, 40);
  meter.add('bestk_model_tokens_total', labels, 2);
  meter.time('bestk_stage_duration_seconds', { stage: 'sampling', outcome: 'ok' }, 20);
  meter.shift('bestk_containers_live', { purpose: 'agent' }, 1);
  meter.shift('bestk_containers_live', { purpose: 'agent' }, 1);
  meter.shift('bestk_containers_live', { purpose: 'agent' }, -1);
  const text = await meter.text();
  expect(text).toContain('bestk_model_tokens_total{model="judge",role="agent",kind="input"} 42');
  expect(text).toContain('bestk_stage_duration_seconds_bucket{le="15",stage="sampling",outcome="ok"} 0');
  expect(text).toContain('bestk_stage_duration_seconds_bucket{le="30",stage="sampling",outcome="ok"} 1');
  expect(text).toContain('bestk_containers_live{purpose="agent"} 1');
});

it('survives counts that a server made up', async () => {
  const meter = new PrometheusMeter('0', false);
  for (const by of [-5, Number.NaN, Number.POSITIVE_INFINITY])
    meter.add('bestk_replay_hits_total', { role: 'judge' }, by);
  expect(await meter.text()).not.toContain('bestk_replay_hits_total{');
});

it('keeps label sets bounded and readable, whatever it is given', async () => {
  const meter = new PrometheusMeter('0', false);
  for (let n = 0; n < 1000; n += 1) meter.add('bestk_result_writes_total', { kind: `kind-${n}` });
  meter.add('bestk_replay_hits_total', { role: 'a"} 1\nbestk_forged_total{x="' });
  const lines = (await meter.text()).split('\n');
  const kinds = lines.filter((line) => line.startsWith('bestk_result_writes_total{'));
  expect(kinds).toHaveLength(65);
  expect(kinds).toContain('bestk_result_writes_total{kind="other"} 936');
  expect(lines.filter((line) => line.startsWith('bestk_forged'))).toEqual([]);
});
