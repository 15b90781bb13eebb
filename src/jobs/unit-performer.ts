import { z } from 'zod';
import { contentKey } from '../core/fingerprint.js';
import { Candidate } from '../core/run/candidate.js';
import { RunRequest } from '../core/run/run-request.js';
import type { TokenCounts } from '../core/budget/budget.js';
import type { HostResources } from '../ports/host-resources.js';
import type { ResultStore } from '../ports/result-store.js';
import type { RunStore } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { UnitKind, type Unit } from '../ports/unit-store.js';
import { ImageMissingError } from '../core/errors/unavailable.js';
import type { InRun } from './expected-units.js';
import type { Emit } from '../runs/run-executor.js';
import type { RunDependencies, RunDependenciesFactory } from '../runs/run-dependencies.js';
import { UnitAccount } from './unit-account.js';
import { NotHereError } from './unit-error.js';
import { CellsUnit, RolloutUnit, VerdictUnit, type UnitDone } from './unit-payloads.js';

export interface PerformerTools {
  readonly runs: RunStore;
  readonly results: ResultStore;
  readonly sandbox: Sandbox;
  readonly dependencies: RunDependenciesFactory;
  /** How many units of each kind are done here at once. */
  readonly rooms: Readonly<Record<UnitKind, number>>;
  /** This process, among those that offer units. */
  readonly process: string;
  readonly room: HostResources;
  /** Does work in the name of a run, whoever offered it: limits are shared by run, and logs tell it. */
  readonly inRun: InRun;
}

/** What the units of one run share in this process: the request, the model calls under way, the compiled modules. */
interface Session {
  readonly request: RunRequest;
  readonly deps: RunDependencies;
  readonly account: UnitAccount;
}

const MOST_SESSIONS = 32;
const NOTHING = { cell: () => Promise.resolve(), admission: () => Promise.resolve() };

/** Does units with what the settings of this process give. */
export class UnitPerformer {
  private readonly sessions = new Map<string, Promise<Session>>();

  constructor(private readonly tools: PerformerTools) {}

  /** The settings hash and the room of each kind; none for what the machine is too low for. */
  async capacity(): Promise<readonly { readonly kind: UnitKind; readonly setup: string; readonly most: number }[]> {
    const { dependencies, rooms, room } = this.tools;
    const low = await room.shortage();
    const canJudge = low === null || (await room.shortage(['store'])) === null;
    const most = (kind: UnitKind): number => ((kind === 'verdict' ? canJudge : low === null) ? rooms[kind] : 0);
    return Promise.all(
      UnitKind.options.map(async (kind) => ({ kind, setup: await dependencies.setupOf(kind), most: most(kind) })),
    );
  }

  /** @throws NotHereError, what the work throws, and the signal's reason */
  async perform(unit: Unit, emit: Emit, signal: AbortSignal): Promise<Omit<UnitDone, 'seconds'>> {
    const session = await this.session(unit.runId);
    const result = await this.tools.inRun(unit.runId, () =>
      this.tools.sandbox.keeping(session.request.issue.environment.image, () =>
        this.byKind(unit, session, emit, signal),
      ),
    );
    return { ...session.account.take(), result };
  }

  private async byKind(unit: Unit, session: Session, emit: Emit, signal: AbortSignal): Promise<UnitDone['result']> {
    if (unit.kind === 'verdict') return this.verdict(VerdictUnit.parse(unit.payload), session, signal);
    if (unit.kind === 'rollout') return this.rollout(RolloutUnit.parse(unit.payload), session, emit, signal);
    const payload = CellsUnit.parse(unit.payload);
    await this.requireImage(payload.job.environment.image, payload, signal);
    await session.deps.cells(payload.job, signal);
    return null;
  }

  private async rollout(
    unit: z.infer<typeof RolloutUnit>,
    { request: { issue }, deps: { sampler, ledger } }: Session,
    emit: Emit,
    signal: AbortSignal,
  ): Promise<null> {
    if (sampler === null) throw new Error('A rollout came to a process without an agent model.');
    await this.requireImage(issue.environment.image, unit, signal);
    const task = {
      issue,
      candidateId: unit.candidate_id,
      sample: unit.sample,
      stopAt: null,
      onStep: (step: object) => emit('step', { ...step }),
      onKnown: (model: string, spent: TokenCounts) => {
        ledger.charge(model, spent);
      },
    };
    await sampler.sample(task, signal);
    return null;
  }

  private async verdict(
    { verifier, candidate_id, stored }: z.infer<typeof VerdictUnit>,
    { request, deps }: Session,
    signal: AbortSignal,
  ): Promise<UnitDone['result']> {
    const candidate =
      stored === null
        ? request.candidates?.find((each) => each.candidate_id === candidate_id)
        : Candidate.parse(await this.tools.results.get(stored));
    if (candidate === undefined) throw new Error(`There is no candidate "${candidate_id}".`);
    const task = { issue: request.issue, candidates: [candidate], tests: [] };
    return z.json().parse(await deps.verifiers[verifier].verify(task, signal));
  }

  /** The same tag may be another image here. @throws NotHereError, or ImageMissingError for a run of this process */
  private async requireImage(
    image: string,
    { image_id, offered_by }: { image_id: string; offered_by: string },
    signal: AbortSignal,
  ): Promise<void> {
    const mine = offered_by === this.tools.process;
    try {
      const { id } = await this.tools.sandbox.describeImage(image, signal);
      if (id === image_id) return;
    } catch (error) {
      if (mine || !(error instanceof ImageMissingError)) throw error;
    }
    throw mine ? new ImageMissingError(image) : new NotHereError(image);
  }

  private async session(runId: string): Promise<Session> {
    const known = this.sessions.get(runId);
    const opening = known ?? this.open(runId);
    // The one used last is the last to be forgotten.
    this.sessions.delete(runId);
    this.sessions.set(runId, opening);
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > MOST_SESSIONS && oldest !== undefined) this.sessions.delete(oldest);
    try {
      return await opening;
    } catch (error) {
      this.sessions.delete(runId);
      throw error;
    }
  }

  private async open(runId: string): Promise<Session> {
    const run = await this.tools.runs.get(runId);
    const request = RunRequest.parse(run?.request);
    const deps = this.tools.dependencies.create(NOTHING, null);
    return { request, deps, account: new UnitAccount(deps) };
  }
}

/** Where a candidate is that no request holds. */
export function candidateKey({ patch, trajectory }: Candidate): string {
  return contentKey({ kind: 'candidate', patch, trajectory });
}
