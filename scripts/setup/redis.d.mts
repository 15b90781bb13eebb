export interface Redis {
  /** Of a server with a password. */
  readonly url: string;
  readonly port: number;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  destroy(): Promise<void>;
}
export function missingRedis(): string[];
export function startRedis(options?: { password?: string }): Promise<Redis>;
