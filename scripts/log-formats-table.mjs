// `npm run log-formats` writes the table of log formats in docs/grading.md, which a test compares with the code.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const NONE = '';

/** The table for the formats of `verifiers/execution-based/reports/log-formats.ts`. */
export function logFormatsTable(formats, parserNames) {
  const code = (names) => (names.length === 0 ? NONE : names.map((name) => `\`${name}\``).join(', '));
  const rows = Object.entries(formats).map(([format, { sweBench, sweRebench, multi = '' }]) => {
    const languages = multi
      .split(' ')
      .filter((name) => name !== '')
      .join(', ');
    return `| \`${format}\` | ${code(parserNames(sweBench))} | ${code(parserNames(sweRebench))} | ${languages} |`;
  });
  return [
    '| format | parsers of SWE-bench 5, Multilingual, Multimodal | parsers of SWE-rebench V2 | languages of Multi-SWE-bench |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { LOG_FORMATS, parserNames } = await import('../dist/verifiers/execution-based/reports/log-formats.js');
  const page = readFileSync('docs/grading.md', 'utf8');
  const begin = page.indexOf('| format | parsers of ');
  const end = page.indexOf('\n\n', begin);
  writeFileSync(
    'docs/grading.md',
    `${page.slice(0, begin)}${logFormatsTable(LOG_FORMATS, parserNames)}${page.slice(end)}`,
  );
}
