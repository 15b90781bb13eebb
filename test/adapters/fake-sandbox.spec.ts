import { EngineUnavailableError, SandboxLostError } from '../../src/core/unavailable.js';
import { type ExecOutcome, type ExecRequest, type SandboxSpec } from '../../src/ports/sandbox.js';
import { sandboxContract } from '../contracts/sandbox.contract.js';
import { ended, exited, FakeSandbox, type FakeSessionView } from '../fakes/fake-sandbox.js';

const COMMIT = 'a'.repeat(40);
const go = new AbortController().signal;
const spec: SandboxSpec = { image: 'any', workdir: '/testbed', baseCommit: null, purpose: 'test' };

/** The few programs the contract uses. */
async function play(request: ExecRequest, session: FakeSessionView): Promise<ExecOutcome> {
  const [program, ...args] = request.argv;
  switch (program) {
    case 'echo':
      return exited(0, `${args.join(' ')}\n`);
    case 'pwd':
      return exited(0, `${request.cwd ?? session.spec.workdir}\n`);
    case 'printenv':
      return exited(0, `${request.env?.[args[0] ?? ''] ?? ''}\n`);
    case 'cat':
      return exited(
        0,
        args[0] === undefined ? request.stdin : Buffer.from(session.files.get(args[0]) ?? []).toString(),
      );
    case 'sleep':
      await new Promise((resolve) => setTimeout(resolve, Math.min(Number(args[0]), request.deadlineS) * 1000).unref());
      return Number(args[0]) >= request.deadlineS ? ended('timed-out') : exited(0);
    case 'sh':
      return args[1]?.startsWith('exit ') === true ? exited(Number(args[1].slice(5))) : exited(0, '', 'oops\n');
    default:
      return exited(127, '', `${program ?? ''}: not found\n`);
  }
}

sandboxContract('FakeSandbox', () => ({
  sandbox: new FakeSandbox(play, { images: { 'fake:1': { workdirs: ['/testbed'], commits: [COMMIT] } } }),
  image: 'fake:1',
  workdir: '/testbed',
  commit: COMMIT,
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
