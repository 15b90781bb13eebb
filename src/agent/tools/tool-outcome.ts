/** What an action came to. */
export interface ToolOutcome {
  /** In words for the model, without the header that names the tool. */
  readonly text: string;
  readonly exitCode?: number;
  /** Whether doing it again rebuilds what it did to the container. */
  readonly repeat: boolean;
  /** The command took the container with it; it must be rebuilt from the actions before. */
  readonly lost?: true;
  /** It was not done: what was to end the work is answered with what is wrong with it. */
  readonly refused?: true;
}

/** An outcome that changed nothing. */
export function told(text: string): ToolOutcome {
  return { text, repeat: false };
}

/** Lines kept at either end, as R2E-Gym's scaffold does; what agents are told of it (`SHOWN`) says so, too. */
const KEPT_LINES = 40;
/** A line may be megabytes long, so that lines alone bound nothing. */
const KEPT_CHARS = 8_000;

/** What an agent is told, once, of how much it sees. */
export const SHOWN = `Of long output the first and last ${KEPT_LINES} lines are shown, and a file is named that holds all of it.`;

/** An output as the model sees it: head and tail, with what is left out between them named. */
export function clipOutput(output: string): string {
  const lines = output.split('\n');
  const cut = lines.length - 2 * KEPT_LINES;
  const kept =
    cut <= 1
      ? output
      : [
          ...lines.slice(0, KEPT_LINES),
          `[… ${cut} of ${lines.length} lines left out …]`,
          ...lines.slice(-KEPT_LINES),
        ].join('\n');
  return clipChars(kept, 2 * KEPT_CHARS);
}

/** Such as `1 line` and `2 lines`. */
export function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}

/** At most about `limit` characters, from both ends. */
export function clipChars(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const [head, tail] = [text.slice(0, half), text.slice(-half)];
  return `${withoutHalf(head)}\n[… ${text.length - 2 * half} characters left out …]\n${withoutHalf(tail)}`;
}

/** Cutting between the two units of one character leaves a half that is no text. */
function withoutHalf(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
}
