/** An error answer of the service, with its own message. */
export class ApiProblem extends Error {
  constructor(
    message: string,
    /** 0 = the service was not reached. */
    readonly status: number,
    readonly next: string,
  ) {
    super(message);
  }
}

export function problemOf(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : new ApiProblem(String(error), 0, '');
}

const KEY = 'bestk-api-key';
/** Receives an event when the service requires a key, or a different one. */
export const keyWanted = new EventTarget();

export function currentKey(): string | null {
  return window.sessionStorage.getItem(KEY);
}

/** Kept until the tab is closed. */
export function keepKey(key: string): void {
  window.sessionStorage.setItem(KEY, key);
}

/** @throws ApiProblem */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const key = currentKey();
  if (key !== null) headers.set('Authorization', `Bearer ${key}`);
  const response = await fetch(path, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error;
    throw new ApiProblem('The service cannot be reached.', 0, 'Check that it is running.');
  });
  if (response.ok) return response;
  if (response.status === 401) keyWanted.dispatchEvent(new Event('wanted'));
  throw await refusalOf(response);
}

export async function getJson(path: string, signal?: AbortSignal): Promise<unknown> {
  return (await request(path, signal === undefined ? {} : { signal })).json();
}

/** `undefined` = no body. */
export async function postJson(path: string, body?: unknown): Promise<unknown> {
  const content =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  return (await request(path, { method: 'POST', ...content })).json();
}

/** API path of a run or a part of it; ids may contain any characters. */
export function runPath(id: string, ...rest: readonly string[]): string {
  return `/v1/runs/${[id, ...rest].map(encodeURIComponent).join('/')}`;
}

export function queryOf(parameters: Readonly<Record<string, string | number | null | undefined>>): string {
  const said = Object.entries(parameters).flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return said.length === 0 ? '' : `?${said.join('&')}`;
}

async function refusalOf(response: Response): Promise<ApiProblem> {
  const { status, statusText } = response;
  const body: unknown = await response.json().catch(() => null);
  const said = (typeof body === 'object' && body !== null ? body : {}) as { detail?: unknown; next?: unknown };
  const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
  return new ApiProblem(text(said.detail, `${status} ${statusText}`), status, text(said.next, ''));
}

/** Starts a browser download. Its name keeps only characters that are safe in any file system. */
export function saveAs(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, '_').slice(-120);
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(url);
  }, 10_000);
}
