import { InstrumentedSandbox } from '../../../src/telemetry/instrumented.js';
import { EngineUnavailableError, SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { UNMETERED, UNTRACED } from '../../../src/ports/telemetry.js';
import { type ExecOutcome, type ExecRequest, type Sandbox, type SandboxSpec } from '../../../src/ports/sandbox.js';
import { sandboxContract } from '../../contracts/sandbox.contract.js';
import { ended, exited, FakeSandbox, type FakeHandler, type FakeSessionView } from '../../fakes/fake-sandbox.js';

const COMMIT = 'a'.repeat(40);
const go = new AbortController().signal;
const spec: SandboxSpec = { image: 'any', workdir: '/testbed', baseCommit: null, purpose: 'test' };

type Program = (
  args: readonly string[],
  request: ExecRequest,
  session: FakeSessionView,
) => ExecOutcome | Promise<ExecOutcome>;

/** The few programs the contract uses. */
const programs: Readonly<Record<string, Program>> = {
  echo: (args) => exited(0, `${args.join(' ')}\n`),
  pwd: (_, { cwd }, { spec: { workdir } }) => exited(0, `${cwd ?? workdir}\n`),
  printenv: ([name = ''], { env }) => exited(0, `${env?.[name] ?? ''}\n`),
  cat: ([path], { stdin }, { files }) =>
    exited(0, path === undefined ? Buffer.from(stdin ?? '').toString() : Buffer.from(files.get(path) ?? []).toString()),
  sleep: async ([seconds], { deadlineS }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.min(Number(seconds), deadlineS) * 1000).unref());
    return Number(seconds) >= deadlineS ? ended('timed-out') : exited(0);
  },
  sh: ([, script = '']) => (script.startsWith('exit ') ? exited(Number(script.slice(5))) : exited(0, '', 'oops\n')),
};

const play: FakeHandler = (request, session) => {
  const [name = '', ...args] = request.argv;
  return programs[name]?.(args, request, session) ?? exited(127, '', `${name}: not found\n`);
};

const fake = (): Sandbox =>
  new FakeSandbox(play, { images: { 'fake:1': { workdirs: ['/testbed'], commits: [COMMIT] } } });
const place = { image: 'fake:1', workdir: '/testbed', commit: COMMIT };
sandboxContract('FakeSandbox', () => ({ sandbox: fake(), ...place }));
sandboxContract('watched', () => ({
  sandbox: new InstrumentedSandbox(fake(), { meter: UNMETERED, tracer: UNTRACED }),
  ...place,
}));

describe('FakeSandbox', () => {
  it('counts, and meets the faults it is told to', async () => {
    const sandbox = new FakeSandbox(() => exited(0))
      .failOpen(2, new EngineUnavailableError('down'))
      .failExec(2, new SandboxLostError('gone'));
    const first = await sandbox.open(spec, go);
    await expect(sandbox.open(spec, go)).rejects.toBeInstanceOf(EngineUnavailableError);
    await first.exec({ argv: ['a'], deadlineS: 1 }, go);
    await expect(first.exec({ argv: ['b'], deadlineS: 1 }, go)).rejects.toThrow('gone');
    await expect(first.exec({ argv: ['c'], deadlineS: 1 }, go)).rejects.toThrow('closed');
    expect(sandbox).toMatchObject({ opens: 2, execs: 2, openNow: 0 });
    expect(sandbox.requests.map(({ argv }) => argv[0])).toEqual(['a', 'b']);
  });

  it('lets a handler see and change the files', async () => {
    const sandbox = new FakeSandbox((_, { files }) => {
      files.set('/out', new TextEncoder().encode(`${String(files.size)} files`));
      return exited(0);
    });
    await using session = await sandbox.open(spec, go);
    await session.writeFiles([{ path: '/in', content: 'x' }], go);
    await session.exec({ argv: ['count'], deadlineS: 1 }, go);
    expect(Buffer.from((await session.readFile('/out', 100, go)) ?? []).toString()).toBe('1 files');
  });
});
