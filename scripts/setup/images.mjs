import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from './content-hash.mjs';
import { canInstall, hasProgram, install } from './debian.mjs';
import { inspectImage } from './engine.mjs';
import { run, step, Unavailable } from './run.mjs';

const BASE = 'bestk/base:bookworm';
const FIXTURE = 'bestk/fixture:1';
const LANGUAGES = 'bestk/languages:1';
const NODE = 'bestk/node:20';
const POSTGRES = 'bestk/postgres:15';
/** The program's own image, as the tests build it. */
export const SERVICE = 'bestk/service:test';

/** Builds the image all others stand on, when it is missing or its recipe changed. */
export async function buildBase(root) {
  const script = join(root, 'scripts/base-image.sh');
  const recipe = createHash('sha256').update(readFileSync(script)).digest('hex');
  const image = await inspectImage(BASE);
  if (image?.Config.Labels?.['bestk.recipe'] === recipe) return;
  await requireClient();
  await step(`image ${BASE}`, () => run('bash', [script]));
}

export const buildExample = (root) => buildEnvironment(root, 'examples/quickstart', 'bestk/example:1');
export const buildBenchExample = (root) => buildEnvironment(root, 'examples/bench', 'bestk/bench-example:1');

/** Builds an example's environment, when it is missing or the example or its base changed. */
async function buildEnvironment(root, folder, tag) {
  const base = await inspectImage(BASE);
  const content = `${contentHash(root, [`${folder}/Dockerfile`, `${folder}/repo`])}@${base.Id}`;
  const image = await inspectImage(tag);
  if (image?.Config.Labels?.['bestk.content'] === content) return;
  await requireClient();
  const label = ['--label', `bestk.content=${content}`];
  const env = { ...process.env, DOCKER_BUILDKIT: '0' };
  await step(`image ${tag}`, () =>
    run('docker', ['build', '-q', '--network', 'none', ...label, '-t', tag, folder], { cwd: root, env }),
  );
}

/** Builds the image the tests run containers from; its script knows by itself when there is nothing to do. */
export async function buildFixture(root) {
  await requireClient();
  const build = () => run('bash', [join(root, 'scripts/fixture-image.sh')], { cwd: root });
  if (await inspectImage(FIXTURE)) await build();
  else await step(`image ${FIXTURE}`, build);
}

/** Builds the image of compiled languages; its script knows by itself when there is nothing to do. */
export async function buildLanguages(root) {
  await requireClient();
  const build = () => run('bash', [join(root, 'scripts/languages-image.sh')], { cwd: root });
  if (await inspectImage(LANGUAGES)) await build();
  else await step(`image ${LANGUAGES}`, build);
}

/** Builds the program's own image on Node and packages of this machine, when it is missing or what it is made of changed. */
export async function buildService(root, tag = SERVICE) {
  await requireClient();
  await run('bash', [join(root, 'scripts/node-image.sh')], { cwd: root });
  const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const made = ignored.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  const content = `${contentHash(root, ['Dockerfile', ...made])}@${(await inspectImage(NODE)).Id}`;
  if ((await inspectImage(tag))?.Config.Labels?.['bestk.content'] === content) return;
  const options = ['--network', 'none', '--build-arg', `NODE_IMAGE=${NODE}`, '--label', `bestk.content=${content}`];
  const env = { ...process.env, DOCKER_BUILDKIT: '0' };
  await step(`image ${tag}`, () => run('docker', ['build', '-q', ...options, '-t', tag, '.'], { cwd: root, env }));
}

/** Builds the image that stands for PostgreSQL's own; its script knows by itself when there is nothing to do. */
export async function buildPostgres(root) {
  await requireClient();
  const build = () => run('bash', [join(root, 'scripts/postgres-image.sh')], { cwd: root });
  if (await inspectImage(POSTGRES)) await build();
  else await step(`image ${POSTGRES}`, build);
}

/** An engine may answer where the docker command is missing; Debian 12 has it in docker.io alone. */
async function requireClient() {
  if (hasProgram('docker')) return;
  if (!canInstall()) throw new Unavailable('A Docker engine answers, but the docker command is missing: install it.');
  await install(['docker.io']);
}
