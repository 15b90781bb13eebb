import type { CurvesOfArms } from '../../http/benchmarks/benchmarks.controller.js';
import { percent } from '../format.js';

export type CurveOfArm = CurvesOfArms['arms'][number];

type Share = CurveOfArm['points'][number]['pass_at_k'];

const [WIDTH, HEIGHT] = [350, 190];
const PLOT = { left: 38, right: 246, top: 12, bottom: 160 };
/** Between two labels. */
const LINE = 14;

interface Line {
  readonly name: 'Pass' | 'Best';
  readonly points: readonly (Share & { readonly k: number })[];
}

/** Pass@k and Best@k of an arm over k, with their intervals; the numbers stand beside it. */
export function ArmCurve({ curve }: { readonly curve: CurveOfArm }) {
  const lines = linesOf(curve);
  const scale = new Scale(Math.max(2, ...curve.points.map(({ k }) => k)));
  return (
    <figure class="arm-curve">
      <figcaption>{curve.arm}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={inWords(curve.arm, lines)}>
        <Axes scale={scale} ks={curve.points.map(({ k }) => k)} />
        {lines.map(({ name, points }) => (
          <g key={name} class={`curve-${name.toLowerCase()}`}>
            <path class="curve-interval" d={scale.band(points)} />
            <path class="curve-line" d={scale.line(points)} />
            {points.map(({ k, value }) => (
              <circle key={k} cx={scale.x(k)} cy={scale.y(value)} r={2.5} />
            ))}
          </g>
        ))}
        <Labels lines={lines} scale={scale} />
      </svg>
      <details>
        <summary>Numbers</summary>
        <Numbers curve={curve} />
      </details>
    </figure>
  );
}

function linesOf({ points }: CurveOfArm): readonly Line[] {
  const best = points.flatMap(({ k, best_at_k: share }) => (share === null ? [] : [{ k, ...share }]));
  const pass: Line = { name: 'Pass', points: points.map(({ k, pass_at_k }) => ({ k, ...pass_at_k })) };
  return best.length === 0 ? [pass] : [pass, { name: 'Best', points: best }];
}

function inWords(arm: string, lines: readonly Line[]): string {
  const ends = lines.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return `${name}@${first?.k ?? 1} ${percent(first?.value ?? 0)}, ${name}@${last?.k ?? 1} ${percent(last?.value ?? 0)}`;
  });
  return `${arm}: ${ends.join('; ')}`;
}

/** k by its logarithm, shares from none to all: the curves of all arms have one scale. */
class Scale {
  constructor(private readonly most: number) {}

  x(k: number): number {
    return PLOT.left + (Math.log(k) / Math.log(this.most)) * (PLOT.right - PLOT.left);
  }

  y(share: number): number {
    return PLOT.bottom - share * (PLOT.bottom - PLOT.top);
  }

  line(points: Line['points'], side: 'value' | 'low' | 'high' = 'value'): string {
    const places = points.map((point) => `${this.x(point.k).toFixed(1)},${this.y(point[side]).toFixed(1)}`);
    return `M${places.join('L')}`;
  }

  band(points: Line['points']): string {
    return `${this.line(points, 'high')}L${this.line(points.toReversed(), 'low').slice(1)}Z`;
  }
}

function Axes({ scale, ks }: { readonly scale: Scale; readonly ks: readonly number[] }) {
  return (
    <g class="curve-axes">
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line x1={PLOT.left} x2={PLOT.right} y1={scale.y(share)} y2={scale.y(share)} />
          <text x={PLOT.left - 5} y={scale.y(share) + 4} text-anchor="end">
            {Math.round(share * 100)}%
          </text>
        </g>
      ))}
      {ks
        .filter((k) => Number.isInteger(Math.log2(k)) || k === ks.at(-1))
        .map((k) => (
          <text key={k} x={scale.x(k)} y={PLOT.bottom + 16} text-anchor="middle">
            {k}
          </text>
        ))}
      <text x={PLOT.right + 12} y={PLOT.bottom + 16}>
        = k
      </text>
    </g>
  );
}

/** At the ends of the lines, apart from each other. */
function Labels({ lines, scale }: { readonly lines: readonly Line[]; readonly scale: Scale }) {
  const ends = lines.flatMap(({ name, points }) => points.slice(-1).map((last) => ({ name, ...last })));
  const [upper = 0, lower = 0] = ends.map(({ value }) => scale.y(value));
  const apart = Math.max(0, LINE - Math.abs(lower - upper)) / 2;
  return (
    <>
      {ends.map(({ name, k, value }, index) => (
        <text
          key={name}
          class={`curve-label curve-${name.toLowerCase()}`}
          x={PLOT.right + 8}
          y={scale.y(value) + 4 + (ends.length < 2 ? 0 : index === 0 ? -apart : apart)}
        >
          {`${name}@${k} ${Math.round(value * 100)}%`}
        </text>
      ))}
    </>
  );
}

function Numbers({ curve: { points } }: { readonly curve: CurveOfArm }) {
  return (
    <table class="list">
      <thead>
        <tr>
          {['k', 'Pass@k', 'Best@k'].map((name) => (
            <th key={name} scope="col" class="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {points.map(({ k, pass_at_k, best_at_k }) => (
          <tr key={k}>
            <th scope="row" class="number">
              {k}
            </th>
            <ShareCell share={pass_at_k} />
            <ShareCell share={best_at_k} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ShareCell({ share }: { readonly share: Share | null }) {
  if (share === null) return <td class="number quiet">–</td>;
  return (
    <td class="number">
      {percent(share.value)} <span class="quiet">{`${percent(share.low)} to ${percent(share.high)}`}</span>
    </td>
  );
}
