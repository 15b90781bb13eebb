/** What a text says as JSON; undefined for one that is none. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
