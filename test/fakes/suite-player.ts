import type { ExecRequest, ExecOutcome } from '../../src/ports/sandbox.js';
import { exited, type FakeHandler, type FakeSessionView } from './fake-sandbox.js';

/** How the played repository answers; trees are named by the source patch applied to them, null = base. */
export interface Played {
  /** Exit status of a generated test, known by its content; it always proves its end, but where it hangs. */
  readonly test?: (tree: string | null, content: string) => number | 'hangs';
  /** What a generated test says before its end, for those that observe. */
  readonly says?: (tree: string | null, content: string) => string;
  /** Exit status of a script that base had not seen first: a control, which no honest patch solves. */
  readonly control?: (tree: string, content: string) => number;
  /** Statuses of the existing tests by id. */
  readonly regression?: (tree: string | null) => Readonly<Record<string, string>>;
  readonly applies?: (patch: string) => boolean;
}

/** Plays a container that speaks the protocols of the execution-based verifier. */
export function playSuite({
  test = () => 2,
  says = () => '',
  control = () => 2,
  regression = () => ({}),
  applies = () => true,
}: Played): FakeHandler {
  const trees = new WeakMap<FakeSessionView, string>();
  const seenFirst = new Map<string, 'base' | 'patch'>();
  const status = (tree: string | null, content: string): number | 'hangs' => {
    const first = seenFirst.get(content) ?? (tree === null ? 'base' : 'patch');
    seenFirst.set(content, first);
    return tree === null || first === 'base' ? test(tree, content) : control(tree, content);
  };
  return (request, session) => {
    const tree = trees.get(session) ?? null;
    const line = request.argv.join(' ');
    if (line.includes('--check')) return checkEach(request, session, applies);
    if (request.argv.includes('apply')) {
      trees.set(session, stdinOf(request));
      return exited(0);
    }
    if (request.env?.BESTK_PROBE !== undefined) return note(request.env.BESTK_PROBE, session, regression(tree));
    if (line.includes('driver.py')) {
      return drive(request, session, (content) => ({ code: status(tree, content), says: says(tree, content) }));
    }
    return exited(0);
  };
}

function stdinOf({ stdin = '' }: ExecRequest): string {
  return Buffer.from(stdin).toString();
}

function text(session: FakeSessionView, path: string): string {
  return new TextDecoder().decode(session.files.get(path));
}

/** Plays the check of which patches apply. */
export function checkEach(
  request: ExecRequest,
  session: FakeSessionView,
  applies: (patch: string) => boolean,
  refusal = 'error: patch does not apply\n',
): ExecOutcome {
  const [folder = '', count = '0', said = ''] = request.argv.slice(4);
  const statuses = Array.from({ length: Number(count) }, (_, index) =>
    applies(text(session, `${folder}/${index}`)) ? 0 : 1,
  );
  for (const [index, status] of statuses.entries()) {
    const words = status === 0 ? '' : refusal;
    session.files.set(`${said}/${index}`, new TextEncoder().encode(words));
  }
  return exited(0, statuses.map((status) => `${status}\n`).join(''));
}

function note(path: string, session: FakeSessionView, statuses: Readonly<Record<string, string>>): ExecOutcome {
  const [file = '', k] = path.split('|');
  const lines = Object.entries(statuses).map(([t, s]) => `${JSON.stringify({ t, s, k })}\n`);
  session.files.set(file, new TextEncoder().encode(lines.join('')));
  return exited(0);
}

interface End {
  readonly code: number | 'hangs';
  readonly says: string;
}

function drive(request: ExecRequest, session: FakeSessionView, end: (content: string) => End): ExecOutcome {
  const folder = request.argv.find((word) => word.endsWith('/driver.py'))?.slice(0, -'/driver.py'.length) ?? '';
  const nonces = stdinOf(request).split('\n').filter(Boolean);
  const reports: string[] = [];
  for (const [i, nonce] of nonces.entries()) {
    const { code, says } = end(text(session, `${folder}/${i}.py`).trimEnd());
    const timed_out = code === 'hangs';
    const ended = timed_out ? { status: -15, said: '' } : { status: code, said: `${says}${nonce} ${code}` };
    reports.push(`${JSON.stringify({ i, ...ended, timed_out, out_of_memory: false, ms: 1, log: '' })}\n`);
    if (timed_out) break;
  }
  return exited(0, reports.join(''));
}
