import type { RunPageView } from '../../http/runs/run-page.js';
import { moment, money } from '../format.js';
import { linkTo } from '../route.js';
import { StatusMark } from '../notice.js';

type Row = RunPageView['runs'][number];

interface Props {
  readonly runs: readonly Row[];
  /** `-cost`: by cost, largest first. */
  readonly sort: string;
  readonly chosen: readonly string[];
  readonly onChoose: (id: string) => void;
  readonly onSort: (sort: string) => void;
}

export function RunsTable({ runs, sort, chosen, onChoose, onSort }: Props) {
  const column = (name: string, text: string, className = '') => (
    <SortHeader {...{ name, text, sort, onSort, className }} />
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of runs">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Compare</span>
            </th>
            {column('instance', 'Instance')}
            <th scope="col">Status</th>
            {column('k', 'K', 'number')}
            <th scope="col">Preset</th>
            <th scope="col">Selected</th>
            <th scope="col">Decided by</th>
            {column('cost', 'Cost', 'number')}
            {column('created', 'Created')}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.id} run={run} isChosen={chosen.includes(run.id)} onChoose={onChoose} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunRow({ run, isChosen, onChoose }: { run: Row; isChosen: boolean; onChoose: (id: string) => void }) {
  const name = run.instance_id ?? run.id;
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <td>
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={`Compare ${name}, ${run.id}`}
          onChange={() => {
            onChoose(run.id);
          }}
        />
      </td>
      <th scope="row">
        <a href={linkTo(['runs', run.id])}>{name}</a>
        <span class="quiet id">{run.id}</span>
      </th>
      <td>
        <StatusMark status={run.status} />
        {run.failure !== null && <span class="quiet failed-why">{`${run.failure.message} ${run.failure.next}`}</span>}
      </td>
      <td class="number">{run.k ?? '–'}</td>
      <td>{run.preset ?? '–'}</td>
      <td>
        <Outcome run={run} />
      </td>
      <td>{run.deciding_stage ?? '–'}</td>
      <td class="number">{run.cost_usd === null ? '–' : money(run.cost_usd)}</td>
      <td class="time">{moment(run.created_at)}</td>
    </tr>
  );
}

function Outcome({ run: { status, candidate_id } }: { readonly run: Row }) {
  if (candidate_id !== null) return <code>{candidate_id}</code>;
  return <span>{status === 'done' ? 'none worth returning' : '–'}</span>;
}

interface HeaderProps extends Pick<Props, 'sort' | 'onSort'> {
  readonly name: string;
  readonly text: string;
  readonly className: string;
}

function SortHeader({ name, text, sort, onSort, className }: HeaderProps) {
  const isBy = sort.replace('-', '') === name;
  const falls = sort.startsWith('-');
  const order = falls ? 'descending' : 'ascending';
  return (
    <th scope="col" class={className} aria-sort={isBy ? order : undefined}>
      <button
        type="button"
        class="sort"
        onClick={() => {
          onSort(isBy && falls ? name : `-${name}`);
        }}
      >
        {text} <span aria-hidden="true">{isBy ? (falls ? '▾' : '▴') : '▹'}</span>
      </button>
    </th>
  );
}
