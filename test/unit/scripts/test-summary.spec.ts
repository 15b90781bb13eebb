import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs jest for real on `suites` in a folder of their own, and then the summary over what it wrote. */
function summaryOf(suites: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-summary-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{}');
    for (const [name, text] of Object.entries(suites)) writeFileSync(join(folder, `${name}.test.js`), text);
    const results = join(folder, 'results.json');
    const jest = [join(process.cwd(), 'node_modules/jest/bin/jest.js'), '--json', `--outputFile=${results}`];
    spawnSync(process.execPath, [...jest, '--rootDir', folder, '-i'], { cwd: folder });
    const program = `
      import { readFileSync } from 'node:fs';
      import { summarise } from './scripts/test-summary.mjs';
      console.log(JSON.stringify(summarise(JSON.parse(readFileSync(process.argv[1], 'utf8')))));`;
    return spawnSync(process.execPath, ['--input-type=module', '-e', program, results], { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('the closing line of npm test', () => {
  it('counts passed, failed and skipped, and a suite that cannot be loaded as one failure', () => {
    const suites = {
      mixed: 'it("a", () => {}); it("b", () => { throw new Error("b"); }); it.skip("c", () => {}); it.todo("d");',
      broken: 'require("./nowhere"); it("never", () => {});',
    };
    expect(JSON.parse(summaryOf(suites))).toEqual({ line: '1 passed, 2 failed, 2 skipped', ran: 3 });
  });

  it('says that nothing ran when all is skipped', () => {
    expect(JSON.parse(summaryOf({ skipped: 'it.skip("a", () => {});' }))).toEqual({
      line: '0 passed, 0 failed, 1 skipped',
      ran: 0,
    });
  });
});
