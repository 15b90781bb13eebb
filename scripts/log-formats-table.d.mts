export function logFormatsTable(
  formats: Readonly<Record<string, object>>,
  parserNames: (names?: string) => readonly string[],
): string;
