import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { seededRandom } from '../../dist/src/core/random.js';
import { aim, openWorld } from './world.mjs';

const FULL = { issues: 6, kills: 10 };
const SHORT = { issues: 2, kills: 3 };
/** What was sent so long before a kill had to be stored by then; what was on its way, or not read yet, nobody can know of. */
const UNREAD_MS = 250;

/** Judged and executed in containers: once undisturbed, once killed again and again. */
export async function benchKill(short) {
  const { issues, kills } = short ? SHORT : FULL;
  const world = await openWorld(issues);
  const run = (name) => {
    const given = ['--candidates', world.candidates, '--tests', world.tests, '--verifiers', 'ef,eb', '--parallel', '2'];
    const args = ['bench', 'run', '--dataset', world.issues, ...given, '--out', `${world.folder}/${name}`];
    return world.start(args, `${name}.sqlite`);
  };
  try {
    const whole = await run('whole').ended;
    const calls = world.model.calls();
    world.model.forget();
    const killed = [];
    const killedAt = [];
    const random = seededRandom(1);
    let last = null;
    while (last === null) {
      const command = run('killed');
      const after = killed.length < kills ? (0.5 + random() * Math.max(1, (2 * whole.seconds) / kills)) * 1000 : 0;
      const kill = () => {
        killedAt.push(performance.now());
        command.child.kill('SIGKILL');
      };
      const timer = after === 0 ? null : setTimeout(kill, after);
      const ended = await command.ended;
      clearTimeout(timer);
      if (ended.signal === 'SIGKILL') killed.push(command.child.pid);
      else last = ended;
    }
    if (last.code !== whole.code) {
      console.log(`  ended with ${last.signal ?? last.code}: ${last.err.slice(-2_000)}`);
      return aim(`exit ${last.code} after ${killed.length} kills`, false);
    }
    const report = (name) => readFileSync(`${world.folder}/${name}/report/report.json`, 'utf8');
    const [lines, others] = ['killed', 'whole'].map((name) => report(name).split('\n'));
    for (const [at, line] of lines.entries()) if (line !== others[at]) console.log(`  ${line} (${others[at]})`);
    const { calls: asked, again, cut } = world.model.count();
    const ages = again.map((sent) => Math.min(...killedAt.filter((at) => at >= sent).map((at) => at - sent)));
    const twice = ages.filter((age) => age > UNREAD_MS).length;
    const unread = ages.filter((age) => age <= UNREAD_MS);
    return [
      aim(`${issues} issues, killed ${killed.length} times; then exit ${last.code}`, last.code === whole.code),
      aim('the same report byte for byte', report('killed') === report('whole')),
      aim(
        `${twice} of ${asked} calls asked again whose answer was sent more than ${UNREAD_MS} ms before a kill (aim 0); undisturbed ${calls} calls`,
        twice === 0,
      ),
      aim(
        `${unread.length} more, answered at most ${Math.round(Math.max(0, ...unread))} ms before; ${cut} cut off`,
        true,
      ),
      aim(`${containersOf(killed)} containers left (aim 0)`, containersOf(killed) === 0),
    ].every(Boolean);
  } finally {
    world.close();
  }
}

function containersOf(pids) {
  const format = '{{.Label "bestk.owner"}}';
  const owners = execFileSync('docker', ['ps', '-a', '--filter', 'label=bestk=1', '--format', format], {
    encoding: 'utf8',
  });
  return owners.split('\n').filter((owner) => pids.includes(Number(owner.split('/')[1]))).length;
}
