import { judgementReply } from '../../fakes/chat-reply.js';
import { ModelServer } from '../../fakes/model-server.js';
import { CommandLine } from '../../fixtures/command-line.js';
import { givenRequest } from '../../fixtures/runs.js';
import { Service } from '../../fixtures/service.js';
import { FIXTURES } from '../../unit/io/saved-runs/saved-fixtures.js';

let server: ModelServer;
let service: Service;
beforeAll(async () => {
  server = await ModelServer.start((body) => ({ json: judgementReply(0.9, body.model) }), ['judge']);
  const cli = new CommandLine({
    DOCKER_HOST: 'unix:///nonexistent/docker.sock',
    OPENAI_BASE_URL: server.baseUrl,
    BESTK_VERIFIER_MODEL: 'judge',
  });
  service = await Service.start(cli);
});
afterAll(async () => {
  await service.stop();
  await server.close();
});

describe('the service where no Docker is', () => {
  it('starts, and says what is missing and what it is for', async () => {
    const line = await service.told('no container engine');
    expect(line.consequence).toMatch(/sample or execute tests fail/);
    expect(line.next).toMatch(/Start Docker/);
    expect(await service.get('/readyz')).toMatchObject({
      status: 'degraded',
      parts: { engine: { ok: false, code: 'engine-unavailable' }, models: { ok: true } },
    });
  });

  it('scores saved runs again', async () => {
    const body = ['r2e-gym', 'openhands events'].map((format) => `${JSON.stringify(FIXTURES[format]?.content)}\n`);
    const taken = await service.post('/v1/rescores?verifiers=ef', body.join(''), 'application/x-ndjson');
    const { runs } = taken as { runs: { id: string }[] };
    expect(await service.ended(runs[0]?.id ?? '')).toMatchObject({ status: 'done', statistics: { k: 2, verified: 2 } });
  });

  it('fails a run that executes tests with the reason and what to do', async () => {
    const { id } = (await service.post('/v1/runs', JSON.stringify(givenRequest()))) as { id: string };
    const run = await service.ended(id);
    expect(run).toMatchObject({ status: 'failed', failure: { code: 'engine-unavailable' } });
    expect((run.failure as { next: string }).next).toMatch(/Start Docker/);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toMatch(/bestk_sandbox_failures_total\{kind="engine-unavailable"\} [1-9]/);
    expect(metrics).toContain('bestk_run_duration_seconds_count{outcome="failed",code="engine-unavailable"} 1');
  });

  it('logs each run with its id', async () => {
    const ends = service.log.filter(({ msg }) => msg === 'run ends');
    expect(ends.map(({ outcome }) => outcome)).toEqual(['done', 'failed']);
    for (const { run_id, seconds } of ends) {
      expect(await service.get(`/v1/runs/${String(run_id)}`)).toMatchObject({ id: run_id });
      expect(seconds).toBeGreaterThan(0);
    }
  });
});
