import type { RunView } from '../../http/run-views.js';
import { runPath } from '../api.js';
import { count, seconds } from '../format.js';
import { useAnswer } from '../use-answer.js';

const COLUMNS = ['Process', 'Rollouts', 'Verdicts', 'Test suites', 'Time, summed'];

/** Which process did what of a run that is over. */
export function Workers({ id }: { readonly id: string }) {
  const workers = useAnswer<RunView>(runPath(id)).data?.progress.workers ?? [];
  if (workers.length === 0) return null;
  return (
    <>
      <h3>Who did what</h3>
      <div class="scroll" tabIndex={0} role="region" aria-label="Who did what">
        <table class="list">
          <thead>
            <tr>
              {COLUMNS.map((name, index) => (
                <th key={name} scope="col" class={index > 0 ? 'number' : undefined}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {workers.map((each) => (
              <tr key={each.worker}>
                <th scope="row">{each.worker}</th>
                <td class="number">{count(each.rollout)}</td>
                <td class="number">{count(each.verdict)}</td>
                <td class="number">{count(each.cells)}</td>
                <td class="number">{seconds(each.seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
