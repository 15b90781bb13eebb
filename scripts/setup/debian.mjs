import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run, step } from './run.mjs';

/** Whether a program is on the PATH. */
export function hasProgram(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Whether packages can be installed: root, and Debian or a relative of it. */
export function canInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && hasProgram('apt-get');
}

/** Installs Debian packages without questions. */
export async function install(packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const patience = ['-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=300'];
  await step(`Debian packages ${packages.join(', ')}`, async () => {
    await run('apt-get', [...patience, 'update', '-qq'], { env });
    await run('apt-get', [...patience, 'install', '-y', '-qq', '--no-install-recommends', ...packages], { env });
  });
}

const PYTHON_PACKAGES = '/usr/lib/python3/dist-packages';

/** The Debian packages that building and checking the Python client needs and this machine lacks. */
export function missingPython() {
  return ['setuptools', 'wheel', 'mypy']
    .filter((name) => !existsSync(join(PYTHON_PACKAGES, name)))
    .map((name) => `python3-${name}`);
}
