export const EXAMPLE: string;
export function exampleEnvironment(out: string): Record<string, string>;
