export interface Cluster {
  readonly url: string;
  readonly port: number;
  /** Of its socket. */
  readonly folder: string;
  readonly isUp: boolean;
  start(): Promise<void>;
  stop(signal?: 'SIGKILL' | 'SIGINT'): Promise<void>;
  sql(text: string, database?: string): Promise<string>;
  destroy(): Promise<void>;
}

export function startCluster(options?: {
  settings?: Record<string, string | number>;
  password?: string;
  parent?: string;
  env?: Record<string, string>;
}): Promise<Cluster>;
