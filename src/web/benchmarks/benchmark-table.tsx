import type { BenchmarkRunsView } from '../../http/benchmarks/benchmarks.controller.js';
import { money } from '../format.js';
import { StatusMark } from '../notice.js';
import { linkTo } from '../route.js';

export type BenchmarkRun = BenchmarkRunsView['runs'][number];

/** What issues can be filtered by, by name. */
export const OUTCOMES: Readonly<Record<string, (run: BenchmarkRun) => boolean>> = {
  waiting: ({ status }) => status === 'queued',
  running: ({ status }) => status === 'running',
  failed: ({ status }) => status === 'failed' || status === 'cancelled',
  right: ({ right }) => right === true,
  wrong: ({ right }) => right === false,
  'not graded': ({ status, right }) => status === 'done' && right === null,
};

interface Props {
  readonly arms: readonly string[];
  readonly runs: readonly BenchmarkRun[];
  readonly instances: readonly string[];
}

/** Every issue in every arm. */
export function BenchmarkTable({ arms, runs, instances }: Props) {
  const cells = new Map(runs.map((run) => [`${run.arm} ${run.instance_id}`, run]));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of issues">
      <table class="list issues">
        <thead>
          <tr>
            <th scope="col">Issue</th>
            {arms.map((arm) => (
              <th scope="col" key={arm}>
                {arm}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {instances.map((instance) => (
            <tr key={instance}>
              <th scope="row">{instance}</th>
              {arms.map((arm) => (
                <td key={arm}>
                  <RunCell run={cells.get(`${arm} ${instance}`)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunCell({ run }: { readonly run: BenchmarkRun | undefined }) {
  if (run === undefined) return <span class="quiet">–</span>;
  const { id, status, handed, candidate_id, confidence, cost_usd, failure } = run;
  if (status === 'queued' && !handed) return <span class="quiet">waiting</span>;
  const link = (text: string) => (
    <a href={linkTo(['runs', id])} title={failure?.message}>
      {text}
    </a>
  );
  if (status !== 'done') {
    return (
      <>
        <StatusMark status={status} /> {link(failure?.code ?? 'run')}
      </>
    );
  }
  const facts = [
    ...(confidence === null ? [] : [confidence.toFixed(2)]),
    ...(cost_usd === null ? [] : [money(cost_usd)]),
  ];
  return (
    <>
      <Right right={run.right} /> {link(candidate_id ?? 'none')} <span class="quiet">{facts.join(' · ')}</span>
    </>
  );
}

/** A sign and a word, never colour alone. */
function Right({ right }: { readonly right: boolean | null }) {
  if (right === null) return <span class="quiet">selected</span>;
  return right ? <span class="outcome-right">✓ right</span> : <span class="outcome-wrong">✕ wrong</span>;
}
