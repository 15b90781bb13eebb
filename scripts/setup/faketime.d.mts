export function faketimeLibrary(): string | undefined;
