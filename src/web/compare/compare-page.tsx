import { CompareArms } from './compare-arms.js';
import { CompareReports } from './compare-reports.js';
import { CompareRuns } from './compare-runs.js';

/** Runs, reports, or arms of a benchmark beside each other. Ids of runs are never called as these are. */
export function ComparePage({ place }: { readonly place: readonly string[] }) {
  const [what, ...rest] = place;
  const [id = '', ...arms] = rest;
  if (what === 'arms') return <CompareArms key={id} id={id} named={arms} />;
  if (what === 'reports') return <CompareReports key={rest.join(' ')} ids={rest} />;
  return <CompareRuns key={place.join(' ')} ids={place} />;
}
