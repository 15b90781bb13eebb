/** Where in a request a problem lies, `candidates.0.patch`, and what it is. */
export interface RequestProblem {
  readonly path: string;
  readonly message: string;
}

const MAX_PROBLEMS = 100;
/** Of a path or a message: a name that a client made up is not sent back by the megabyte. */
const MAX_LENGTH = 500;

/** A request that is well-formed, but does not say what its schema asks for. */
export class InvalidRequestError extends Error {
  readonly problems: readonly RequestProblem[];

  constructor(
    issues: readonly { message: string; path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined }[],
  ) {
    super('The request does not fit its schema.');
    this.problems = issues.slice(0, MAX_PROBLEMS).map(({ message, path = [] }) => ({
      path: shortened(path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')),
      message: shortened(message),
    }));
  }
}

/** What of a text an answer may repeat. */
export function shortened(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`;
}
