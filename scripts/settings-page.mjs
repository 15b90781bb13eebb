// `npm run settings` writes docs/settings.md from the schema of the settings, which a test compares it with.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const GROUPS = [
  ['Models', /^(OPENAI_|BESTK_(MODEL_URLS|VERIFIER_MODEL|PRICES|LLM_|PROMPTS|REPLAY|RECORD))/],
  ['Agent', /^BESTK_AGENT_/],
  ['Judge', /^BESTK_EF_/],
  ['Tests', /^BESTK_(TEST_|REGRESSION_S)/],
  ['Kubernetes', /^(KUBECONFIG|BESTK_KUBERNETES_)/],
  ['Containers', /^(BESTK_(SANDBOX|MIN_FREE|PULL|IMAGE_)|DOCKER_)/],
  ['Store and service', /./],
];

/** The page for a zod object whose fields are described. */
export function settingsPage({ shape }) {
  const names = Object.keys(shape);
  const groups = names.map((name) => GROUPS.find(([, pattern]) => pattern.test(name))[0]);
  const section = (title) => {
    const rows = names.filter((_, index) => groups[index] === title).map((name) => row(name, shape[name]));
    return [`## ${title}`, '', '| variable | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
  };
  return [
    '# Settings',
    '',
    'Environment variables, read once at start. A wrong value ends the program with exit code 2 and names the variable.',
    '`npm run settings` writes this page from `src/app/settings.ts`.',
    '',
    ...GROUPS.map(([title]) => section(title)),
  ].join('\n');
}

function row(name, schema) {
  const value = defaultOf(schema);
  const shown = value === undefined || String(value) === '' || isEmpty(value) ? '' : `\`${value}\``;
  return `| \`${name}\` | ${shown} | ${schema.description ?? ''} |`;
}

function isEmpty(value) {
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function defaultOf(schema) {
  if (schema === undefined) return undefined;
  const { type, defaultValue, innerType, in: input } = schema.def;
  return type === 'default' ? defaultValue : defaultOf(innerType ?? input);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { Settings } = await import('../dist/src/app/settings.js');
  writeFileSync(new URL('../docs/settings.md', import.meta.url), settingsPage(Settings));
}
