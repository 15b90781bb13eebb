import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const DOCKER_HUB = 'https://index.docker.io/v1/';

const DockerConfig = z.object({
  auths: z
    .record(z.string(), z.object({ auth: z.string().optional(), identitytoken: z.string().optional() }))
    .default({}),
});

/** What `docker login` left for a registry in `config.json`; helpers that keep passwords elsewhere are not asked. */
export async function credentialsFor(image: string, configFolder: string): Promise<object | undefined> {
  const registry = registryOf(image);
  const auths = await storedLogins(join(configFolder, 'config.json'));
  const login = auths[registry] ?? auths[`https://${registry}`];
  if (login === undefined) return undefined;
  if (login.identitytoken !== undefined) return { identitytoken: login.identitytoken, serveraddress: registry };
  const [, username, password] = /^([^:]*):([^]*)$/.exec(Buffer.from(login.auth ?? '', 'base64').toString()) ?? [];
  return username === undefined ? undefined : { username, password, serveraddress: registry };
}

async function storedLogins(file: string): Promise<z.infer<typeof DockerConfig>['auths']> {
  try {
    return DockerConfig.parse(JSON.parse(await readFile(file, 'utf8'))).auths;
  } catch {
    // Without a file, or with one that Docker could not read either, the registry says whether it needs a login.
    return {};
  }
}

function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : DOCKER_HUB;
}
