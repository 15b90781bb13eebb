import { engineCall, connectDocker } from './engine.js';

const ASK_AGAIN_MS = 10_000;

/** Asks where an engine on this machine keeps its data; null for one elsewhere, or while it does not answer. */
export function dockerRoot(dockerHost: string | undefined): () => Promise<string | null> {
  const isLocal = dockerHost === undefined || dockerHost.startsWith('unix:');
  if (!isLocal) return () => Promise.resolve(null);
  const docker = connectDocker(dockerHost);
  let root: string | null = null;
  let asked: { readonly at: number; readonly answer: Promise<void> } | null = null;
  const ask = async (): Promise<void> => {
    const info = await engineCall<unknown>({ container: 'info' }, () => docker.info()).catch(() => null);
    root = (info as { DockerRootDir?: string } | null)?.DockerRootDir ?? null;
  };
  return async () => {
    const isDue = asked === null || (root === null && asked.at + ASK_AGAIN_MS < performance.now());
    if (isDue) asked = { at: performance.now(), answer: ask() };
    await asked?.answer;
    return root;
  };
}
