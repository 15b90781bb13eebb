import type { CurvesOfArms } from '../../http/benchmarks/benchmarks.controller.js';
import { counted, percent } from '../format.js';

type CurveOfArm = CurvesOfArms['arms'][number];

/** Best@K of each arm between a random candidate and a perfect selector, over what is graded so far. */
export function Standings({ arms }: CurvesOfArms) {
  const graded = arms.filter(({ selected }) => selected !== null);
  if (graded.length === 0) return <p class="quiet">Nothing is graded yet: nothing is known of right and wrong.</p>;
  return (
    <section>
      <h2>Right so far</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Right so far">
        <table class="list standings">
          <thead>
            <tr>
              <th scope="col">Arm</th>
              <th scope="col" class="number" title="a random candidate">
                Pass@1
              </th>
              <th scope="col" class="number" title="what was selected, with Wilson's interval of 95 %">
                Best@K
              </th>
              <th scope="col" class="number" title="a perfect selector">
                Pass@K
              </th>
              <th scope="col">0 to 100 %: ▲ Pass@1, ● Best@K with its interval, ┃ Pass@K</th>
            </tr>
          </thead>
          <tbody>
            {graded.map((curve) => (
              <Row key={curve.arm} curve={curve} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ curve: { arm, selected, points } }: { readonly curve: CurveOfArm }) {
  const [first, last] = [points[0]?.pass_at_k, points.at(-1)?.pass_at_k];
  return (
    <tr>
      <th scope="row">{arm}</th>
      <td class="number">{first === undefined ? '–' : percent(first.value)}</td>
      <td class="number">
        {selected !== null && percent(selected.value)}{' '}
        <span class="quiet">{selected !== null && intervalOf(selected)}</span>
      </td>
      <td class="number">{last === undefined ? '–' : percent(last.value)}</td>
      <td>
        <span class="range" aria-hidden="true">
          {selected !== null && (
            <span
              class="range-interval"
              style={{ left: percent(selected.low), width: percent(selected.high - selected.low) }}
            />
          )}
          <Mark name="first" share={first} />
          <Mark name="all" share={last} />
          <Mark name="best" share={selected ?? undefined} />
        </span>
      </td>
    </tr>
  );
}

function Mark({ name, share }: { readonly name: string; readonly share: { readonly value: number } | undefined }) {
  if (share === undefined) return null;
  return <span class={`range-${name}`} style={{ left: percent(share.value) }} />;
}

function intervalOf({ low, high, issues }: NonNullable<CurveOfArm['selected']>): string {
  return `(${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)}, ${counted(issues, 'issue')})`;
}
