import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { contentHash } from './content-hash.mjs';
import { canInstall, hasProgram, install } from './debian.mjs';
import { inspectImage } from './engine.mjs';
import { run, step, Unavailable } from './run.mjs';

const BASE = 'bestk/base:bookworm';
const EXAMPLE = 'bestk/example:1';
const EXAMPLE_FOLDER = 'examples/quickstart';
const FIXTURE = 'bestk/fixture:1';

/** Builds the image all others stand on, when it is missing or its recipe changed. */
export async function buildBase(root) {
  const script = join(root, 'scripts/base-image.sh');
  const recipe = createHash('sha256').update(readFileSync(script)).digest('hex');
  const image = await inspectImage(BASE);
  if (image?.Config.Labels?.['bestk.recipe'] === recipe) return;
  await requireClient();
  await step(`image ${BASE}`, () => run('bash', [script]));
}

/** Builds the example's environment, when it is missing or the example or its base changed. */
export async function buildExample(root) {
  const base = await inspectImage(BASE);
  const content = `${contentHash(root, [`${EXAMPLE_FOLDER}/Dockerfile`, `${EXAMPLE_FOLDER}/repo`])}@${base.Id}`;
  const image = await inspectImage(EXAMPLE);
  if (image?.Config.Labels?.['bestk.content'] === content) return;
  await requireClient();
  const label = ['--label', `bestk.content=${content}`];
  const env = { ...process.env, DOCKER_BUILDKIT: '0' };
  await step(`image ${EXAMPLE}`, () =>
    run('docker', ['build', '-q', '--network', 'none', ...label, '-t', EXAMPLE, EXAMPLE_FOLDER], { cwd: root, env }),
  );
}

/** Builds the image the tests run containers from; its script knows by itself when there is nothing to do. */
export async function buildFixture(root) {
  await requireClient();
  const build = () => run('bash', [join(root, 'scripts/fixture-image.sh')], { cwd: root });
  if (await inspectImage(FIXTURE)) await build();
  else await step(`image ${FIXTURE}`, build);
}

/** An engine may answer where the docker command is missing; Debian 12 has it in docker.io alone. */
async function requireClient() {
  if (hasProgram('docker')) return;
  if (!canInstall()) throw new Unavailable('A Docker engine answers, but the docker command is missing: install it.');
  await install(['docker.io']);
}
