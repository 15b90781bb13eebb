import type { Candidate } from '../core/candidate.js';
import type { Cell } from '../core/cell.js';
import { BadInputError } from '../core/errors.js';
import type { Admission, Observe } from '../core/observe.js';
import { RunRequest } from '../core/run-request.js';
import type { Provenance, RunResult } from '../core/run-result.js';
import type { Selection } from '../core/selection.js';
import type { Verdict } from '../core/verdict.js';
import type { PromptLibrary } from '../ports/prompt-library.js';
import type { Run } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { findPreset } from '../../verifiers/hybrid/presets.js';
import { selectBest } from '../../verifiers/hybrid/select.js';
import { describeCandidates, type Described } from './entries.js';
import { RunExecutor, type Emit } from './run-executor.js';
import { score } from './score.js';
import type { VerifierFactory, VerifierName } from './verifier-set.js';

export interface PipelineTools {
  readonly verifierFactory: VerifierFactory;
  readonly sandbox: Sandbox;
  readonly prompts: PromptLibrary;
  readonly version: string;
}

/** collect (given) → score → select: one run, from its request to its result. */
export class PipelineExecutor extends RunExecutor {
  constructor(private readonly tools: PipelineTools) {
    super();
  }

  /** @throws BadInputError for an unknown preset, or a verifier that needs a model where none is configured */
  override check(request: Run['request']): void {
    const { preset, verifiers } = RunRequest.parse(request);
    findPreset(preset);
    if (preset === 'learned') {
      throw new BadInputError(
        'the preset "learned" needs a trained combiner.',
        { field: 'preset' },
        'It is used by `bestk curves`.',
      );
    }
    this.chosenVerifiers(verifiers);
  }

  /** @throws BadInputError, UnavailableError, and the signal's reason */
  override async execute(run: Run, emit: Emit, signal: AbortSignal): Promise<RunResult> {
    const request = RunRequest.parse(run.request);
    const { issue, preset: presetName } = request;
    const preset = findPreset(presetName);
    const names = this.chosenVerifiers(request.verifiers);
    const candidates = request.candidates;
    const record = new Record(emit);
    const set = this.tools.verifierFactory.create(record);
    await emit('started', {
      instance_id: issue.instance_id,
      k: candidates.length,
      verifiers: [...names],
      preset: presetName,
    });

    const task = { issue, candidates, tests: request.tests ?? [] };
    const { verdicts, seconds } = await score(
      names.map((name) => set.verifiers[name]),
      task,
      (verdict) => emit('verdict', { ...verdict, evidence: {} }),
      signal,
    );
    const described = describeCandidates(candidates, verdicts);
    const flags = new Map(described.map(({ entry, flags: own }) => [entry.id, own]));
    const selection = selectBest(
      issue.instance_id,
      described.map(({ entry }) => entry),
      preset,
      flags,
    );
    await emit('selected', { candidate_id: selection.candidate_id, deciding_stage: selection.deciding_stage });
    return {
      selection,
      patch: patchOf(candidates, selection),
      verdicts: [...verdicts],
      cells: record.cells,
      admissions: [...record.admissions],
      statistics: { ...statistics(described, verdicts, record.admissions), tests_given: task.tests.length },
      usage: { models: [...set.usage()], cost_usd: null, stages: seconds },
      provenance: await this.provenance(request, names, signal),
    };
  }

  private chosenVerifiers(asked: RunRequest['verifiers']): readonly VerifierName[] {
    const names = asked ?? this.tools.verifierFactory.defaults;
    if (names.includes('ef') && this.tools.verifierFactory.verifierModel === null) {
      throw new BadInputError(
        'the execution-free verifier needs a model, and BESTK_VERIFIER_MODEL is not set.',
        { field: 'verifiers' },
        'Set BESTK_VERIFIER_MODEL (and OPENAI_BASE_URL), or ask for the verifiers "eb" alone.',
      );
    }
    return names;
  }

  private async provenance(
    request: RunRequest,
    names: readonly VerifierName[],
    signal: AbortSignal,
  ): Promise<Provenance> {
    const { sandbox, prompts, verifierFactory, version } = this.tools;
    const executes = names.includes('eb');
    return {
      bestk_version: version,
      image_id: executes ? (await sandbox.describeImage(request.issue.environment.image, signal)).id : null,
      verifier_model: names.includes('ef') ? verifierFactory.verifierModel : null,
      prompt_hashes: { ...(await prompts.hashes()) },
      preset: request.preset,
      verifiers: [...names],
      sandbox_limits: executes ? { ...sandbox.limits } : {},
    };
  }
}

/** What verifiers report while they work: kept for the result, and told without the logs. */
class Record implements Observe {
  readonly cells: Cell[] = [];
  admissions: readonly Admission[] = [];

  constructor(private readonly emit: Emit) {}

  async cell(cell: Cell): Promise<void> {
    this.cells.push(cell);
    const { candidate_id, suite, test_id, outcome, duration_ms, passed, total } = cell;
    await this.emit('cell', { candidate_id, suite, test_id, outcome, duration_ms, passed, total });
  }

  async admission(admissions: readonly Admission[]): Promise<void> {
    this.admissions = admissions;
    await this.emit(
      'admission',
      admissions.map((admission) => ({ ...admission })),
    );
  }
}

function patchOf(candidates: readonly Candidate[], selection: Selection): string | null {
  return candidates.find(({ candidate_id }) => candidate_id === selection.candidate_id)?.patch ?? null;
}

function statistics(
  described: readonly Described[],
  verdicts: readonly Verdict[],
  admissions: readonly Admission[],
): Omit<RunResult['statistics'], 'tests_given'> {
  const fingerprints = described.flatMap(({ entry }) => entry.fingerprint ?? []);
  const scored = verdicts.filter(({ kind }) => kind === 'scored').map(({ candidate_id }) => candidate_id);
  return {
    k: described.length,
    distinct_patches: new Set(fingerprints).size,
    verified: new Set(scored).size,
    tests_admitted: admissions.filter(({ admitted }) => admitted).length,
  };
}
