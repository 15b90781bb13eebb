import type { LeftOut } from '../core/rollout.js';

const CACHE =
  /(^|\/)(__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.eggs|[^/]+\.egg-info|\.coverage)(\/|$)|\.(pyc|pyo|orig|rej|swp)$|(^|\/)\.DS_Store$/;
/** Scripts and notes that agents write beside the code to try things out; only at the repository's root. */
const SCRATCH =
  /^(test|tests|repro|reproduce|reproduction|edge_?cases?|debug|verify|verification|validate|check|demo|scratch|tmp|temp|try|quick|simple|final|comprehensive|minimal|run|bug|issue|example)(_[^/]*|[0-9]*)?\.(py|sh|js|mjs|ts|txt|md|log|json|out|diff|patch|db|sqlite3?)$/i;

/** Why a file that the agent added is no part of its patch, or null. */
export function leftOutReason(path: string, mode: string): LeftOut['reason'] | null {
  if (mode === GITLINK) return 'nested-repository';
  if (CACHE.test(path)) return 'cache';
  return SCRATCH.test(path) ? 'scratch' : null;
}

const GITLINK = '160000';
