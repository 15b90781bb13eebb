import { join } from 'node:path';
import { ModelServer } from '../../fakes/model-server.js';
import { finish, playScripts, replace } from '../../fixtures/agent-script.js';
import { calcTest, calculatorIssue } from '../../fixtures/calculator.js';
import { CommandLine } from '../../fixtures/command-line.js';

const SDK = join(import.meta.dirname, '../../fixtures/tracing-sdk.mjs');
const CALC = `${calculatorIssue.environment.workdir}/calc.py`;

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
}

function pathOf(span: Span, spans: readonly Span[]): string {
  const parent = spans.find(({ spanId }) => spanId === span.parent);
  return parent === undefined ? span.name : `${pathOf(parent, spans)} > ${span.name}`;
}

it('traces a real run with the SDK that the user loads', async () => {
  const server = await ModelServer.start(
    playScripts([
      [`It subtracts.\n${replace(CALC, 'return a - b', 'return a + b')}`, finish],
      [`Quick.\n${replace(CALC, 'a - b', 'abs(a) + b')}`, finish],
    ]),
    ['agent'],
  );
  const cli = new CommandLine({ OPENAI_BASE_URL: server.baseUrl, BESTK_AGENT_MODEL: 'agent' });
  const args = [
    ...['solve', '--issue', cli.write('issue.json', JSON.stringify(calculatorIssue)), '-k', '2'],
    ...['--tests', cli.jsonl('tests.jsonl', [calcTest('sum', 'add(-2, 3) == 1')]), '--out', cli.path('out')],
  ];
  const { code } = await cli.run(args, { NODE_OPTIONS: `--import=${SDK}`, TRACE_FILE: cli.path('spans.jsonl') });
  await server.close();
  expect(code).toBe(0);

  const spans = cli.readLines('spans.jsonl') as unknown as Span[];
  const paths = spans.map((span) => pathOf(span, spans));
  const sampling = 'run > stage sampling > invoke_agent bestk';
  for (const path of [`${sampling} > chat agent`, `${sampling} > container agent`]) expect(paths).toContain(path);
  const verifying = 'run > stage execution-based > verdict';
  for (const measure of ['regression', 'reproduction']) {
    expect(paths).toContain(`${verifying} ${measure} > suite ${measure} > container verify`);
  }
  expect(paths.filter((path) => !path.startsWith('run'))).toEqual([]);
  const tries = spans.filter(({ name }) => name === 'invoke_agent bestk');
  expect(tries.map(({ attributes }) => attributes['bestk.exit_reason'])).toEqual(['agent', 'agent']);
  expect(tries[0]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.request.model': 'agent',
  });
  expect(JSON.stringify(spans)).not.toContain('return a');
});
