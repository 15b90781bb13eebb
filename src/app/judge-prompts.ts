import { ACTION_FORMATS } from '../agent/call-formats/formats.js';
import { systemPrompt } from '../agent/call-formats/action-format.js';
import { instancePrompt } from '../agent/loop/conversation.js';
import { EXECUTION_FREE } from '../core/run/verdict.js';
import type { Inspect } from '../core/run/rollout.js';
import { judgeNamed, type VerificationTask } from '../core/run/verifier.js';
import type { LlmClient } from '../ports/llm-client.js';
import { type AskedPrompts, type JudgedBefore, JudgePrompts } from '../runs/run-dependencies.js';
import {
  askedAgain,
  createJudge,
  JUDGE_DEFAULTS,
  type JudgeAgent,
  type JudgeOptions,
  promptOfModel,
} from '../../verifiers/index.js';
import type { Config } from './config.js';
import { type RunPorts, stepsOfLook } from './create-run-dependencies.js';

/** Reconstructs what a judge was asked, under the current settings. */
export class ConfiguredJudgePrompts extends JudgePrompts {
  constructor(
    private readonly config: Config,
    private readonly ports: Pick<RunPorts, 'prompts' | 'tokenizer'>,
  ) {
    super();
  }

  override async of({ issue, candidates, verifier, evidence }: JudgedBefore): Promise<AskedPrompts> {
    const asked = judgeNamed(verifier);
    const [candidate] = candidates;
    if (asked === null || candidate === undefined) return { prompts: [], hash: null };
    const [own = null] = evidence;
    const summaries = new Map(
      candidates.flatMap(({ patch }, index) => {
        const summary = evidence[index]?.summary;
        return summary === undefined ? [] : [[patch, summary] as const];
      }),
    );
    const options = this.optionsOf(asked.model, own);
    const make = (llm: LlmClient, inspect: Inspect) =>
      createJudge(asked.method, { ...options, llm }, { ...this.agent(), inspect });
    const task: VerificationTask = { issue, candidates, tests: [] };
    const { prompts } = this.ports;
    const { format, limits } = this.config.agent;
    return askedAgain(
      make,
      (inspection) => {
        const told = { ...limits, max_steps: inspection.max_steps };
        return instancePrompt(prompts, ACTION_FORMATS[format], { issue, inspection }, { limits: told });
      },
      { task, candidateId: candidate.candidate_id, then: { evidence: own, summaries } },
    );
  }

  /** Leaves out source, which needs containers, and test results, which may have changed since. */
  private optionsOf(named: string | null, evidence: JudgedBefore['evidence'][number]): Omit<JudgeOptions, 'llm'> {
    const { judge, llm } = this.config;
    const { model: told, shown: had = judge.show } = evidence ?? {};
    const model = typeof told === 'string' ? told : (named ?? llm.verifierModel ?? '');
    const flags = Array.isArray(had) && had.includes('flags');
    return {
      ...JUDGE_DEFAULTS,
      ...judge,
      ...this.ports,
      ...{ model, measure: EXECUTION_FREE, prompt: judge.prompt ?? promptOfModel(model), samples: 1 },
      show: flags ? ['flags'] : [],
      ...(evidence === null ? {} : { summaries: evidence.summary !== undefined }),
    };
  }

  private agent(): Omit<JudgeAgent, 'inspect'> {
    const { format, limits } = this.config.agent;
    const system = systemPrompt(ACTION_FORMATS[format], 'judge');
    return { system, steps: stepsOfLook(limits), actionS: limits.action_s, harvested: false };
  }
}
