/** Where a fixture hides what tells the outcome; none of it may come out but sealed. */
export const CANARY = 'SEALED-CANARY';

export const PATCH = [
  'diff --git a/calc.py b/calc.py',
  '--- a/calc.py',
  '+++ b/calc.py',
  '@@ -1,2 +1,2 @@',
  ' def add(a, b):',
  '-    return a - b',
  '+    return a + b',
  '',
].join('\n');

const GOLD = { patch: `gold ${CANARY}`, test_patch: CANARY, FAIL_TO_PASS: `["${CANARY}"]`, hints_text: CANARY };
const REPORT = { resolved: true, tests_status: { FAIL_TO_PASS: { success: [CANARY] } } };

export interface Fixture {
  /** Path within a folder of saved runs. */
  readonly file: string;
  readonly content: unknown;
  readonly expected: {
    readonly instance_id: string;
    readonly candidate_id: string;
    readonly steps: number;
    readonly resolved?: boolean;
    readonly model?: string;
    readonly cost_usd?: number;
    readonly exit_reason?: string;
    readonly problem_statement?: string;
  };
}

/** One small run of each format, as its tool writes it. */
export const FIXTURES: Readonly<Record<string, Fixture>> = {
  'r2e-gym': {
    file: 'rollout_0.jsonl',
    content: {
      trajectory_steps: [{ step_idx: 0, thought: 'Look.', action: '<function=search>', observation: 'calc.py' }],
      problem_statement: 'add is wrong',
      docker_image: 'img:1',
      exp_name: 'rollout_0',
      env_args: { ds: { instance_id: 'o__r-1', ...GOLD } },
      agent_args: { llm_name: 'qwen', other_args: { openai_key: 'sk-never' } },
      ds: { instance_id: 'o__r-1', ...GOLD },
      exit_reason: 'agent',
      output_patch: PATCH,
      reward: 1,
      test_output: CANARY,
      custom_test_outputs: { log: CANARY },
      reproduction_test_scores: [],
    },
    expected: {
      instance_id: 'o__r-1',
      candidate_id: 'rollout_0',
      steps: 1,
      resolved: true,
      model: 'qwen',
      exit_reason: 'agent',
      problem_statement: 'add is wrong',
    },
  },
  'swe-agent 1.0': {
    file: 'run_a/o__r-1.traj',
    content: {
      environment: 'swe_main',
      trajectory: [{ action: 'ls', observation: 'calc.py', response: 'I look.\n```\nls\n```', thought: 'I look.' }],
      history: [{ role: 'system', content: 'You are', agent: 'primary' }],
      info: { exit_status: 'submitted', submission: PATCH, model_stats: { instance_cost: 0.8, api_calls: 1 } },
    },
    expected: { instance_id: 'o__r-1', candidate_id: 'run_a', steps: 1, cost_usd: 0.8, exit_reason: 'submitted' },
  },
  'swe-agent 1.1': {
    file: 'run_b/o__r-1/o__r-1.traj',
    content: {
      trajectory: [{ response: 'I look.', action: 'ls', observation: 'calc.py', query: [], state: {}, extra_info: {} }],
      history: [],
      info: { exit_status: 'submitted', submission: PATCH, swe_agent_version: '1.1.0', model_stats: {} },
      replay_config: '{}',
    },
    expected: { instance_id: 'o__r-1', candidate_id: 'run_b', steps: 1, exit_reason: 'submitted' },
  },
  'mini-swe-agent': {
    file: 'mini_run/o__r-1.traj.json',
    content: {
      info: {
        exit_status: 'Submitted',
        submission: PATCH,
        model_stats: { instance_cost: 0.4, api_calls: 1 },
        config: { model: { model_name: 'gemini' }, environment: { image: 'img:1' } },
      },
      messages: [
        { role: 'user', content: '<pr_description>\nadd is wrong\n</pr_description>' },
        { role: 'assistant', content: 'I look.', extra: { actions: [{ command: 'ls' }] } },
        { role: 'user', content: 'calc.py' },
      ],
      trajectory_format: 'mini-swe-agent-1.1',
      instance_id: 'o__r-1',
    },
    expected: {
      instance_id: 'o__r-1',
      candidate_id: 'mini_run',
      steps: 1,
      model: 'gemini',
      cost_usd: 0.4,
      exit_reason: 'Submitted',
      problem_statement: 'add is wrong',
    },
  },
  'openhands events': {
    file: 'oh_events.jsonl',
    content: {
      instance_id: 'o__r-1',
      test_result: { git_patch: PATCH, report: REPORT, eval_log: CANARY },
      instruction: 'Fix it.',
      metadata: { agent_class: 'CodeActAgent', llm_config: { model: 'llama', api_key: 'sk-never' } },
      history: [
        { id: 0, source: 'agent', action: 'system', message: 'You are', args: {} },
        { id: 1, source: 'agent', action: 'run', message: '', args: { command: 'ls', thought: 'I look.' } },
        { id: 2, source: 'agent', observation: 'run', content: 'calc.py', message: '' },
        { id: 3, source: 'agent', action: 'finish', message: 'Done.', args: {} },
      ],
      metrics: { accumulated_cost: 0.5, accumulated_token_usage: { prompt_tokens: 10, completion_tokens: 2 } },
      error: null,
      instance: { instance_id: 'o__r-1', problem_statement: 'add is wrong', ...GOLD },
    },
    expected: {
      instance_id: 'o__r-1',
      candidate_id: 'oh_events',
      steps: 2,
      resolved: true,
      model: 'llama',
      cost_usd: 0.5,
      exit_reason: 'finished',
      problem_statement: 'add is wrong',
    },
  },
  'openhands pairs': {
    file: 'oh_pairs.jsonl',
    content: {
      instance_id: 'o__r-1',
      test_result: { git_patch: PATCH },
      metadata: null,
      history: [
        [
          { id: 1, source: 'agent', action: 'run', message: '', args: { command: 'ls', thought: 'I look.' } },
          { id: 2, source: 'agent', observation: 'run', content: 'calc.py', message: '' },
        ],
      ],
      error: 'AgentStuckInLoopError',
      instance: { problem_statement: 'add is wrong', ...GOLD },
    },
    expected: { instance_id: 'o__r-1', candidate_id: 'oh_pairs', steps: 1, exit_reason: 'error' },
  },
  'atif trial': {
    file: 'task__abc_trajectory.json',
    content: {
      trial_id: 'id-1',
      trial_name: 'task__abc',
      task_name: 'task',
      reward: 0,
      trajectory: {
        schema_version: 'ATIF-v1.2',
        agent: { name: 'terminus', model_name: 'gpt' },
        steps: [
          { step_id: 1, source: 'user', message: 'add is wrong' },
          {
            step_id: 2,
            source: 'agent',
            message: 'I look.',
            tool_calls: [{ function_name: 'bash', arguments: { command: 'ls' } }],
            observation: { results: [{ content: 'calc.py' }] },
          },
        ],
        final_metrics: { total_cost_usd: 0.1 },
      },
    },
    expected: {
      instance_id: 'task',
      candidate_id: 'task__abc',
      steps: 1,
      resolved: false,
      model: 'gpt',
      cost_usd: 0.1,
      problem_statement: 'add is wrong',
    },
  },
  'swe-bench predictions': {
    file: 'preds.jsonl',
    content: { instance_id: 'o__r-1', model_name_or_path: 'gpt', model_patch: PATCH },
    expected: { instance_id: 'o__r-1', candidate_id: 'gpt', steps: 0, model: 'gpt' },
  },
  augment: {
    file: 'ensemble.jsonl',
    content: { id: 'o__r-1', instruction: 'add is wrong', diffs: [PATCH], eval_outcomes: [{ is_success: true }] },
    expected: { instance_id: 'o__r-1', candidate_id: '0', steps: 0, resolved: true, problem_statement: 'add is wrong' },
  },
  trae: {
    file: 'selector.jsonl',
    content: {
      instance_id: 'o__r-1',
      issue: 'add is wrong',
      patches: [PATCH],
      success_id: [0],
      regressions: [[CANARY]],
    },
    expected: {
      instance_id: 'o__r-1',
      candidate_id: '0',
      steps: 0,
      resolved: false,
      problem_statement: 'add is wrong',
    },
  },
};

/** A line of saved runs of o__r-1 by a model `z`, packed in Zstandard as one raw block. */
export const ZSTD =
  'KLUv/SBDGQIAeyJpbnN0YW5jZV9pZCI6Im9fX3ItMSIsIm1vZGVsX25hbWVfb3JfcGF0aCI6InoiLCJtb2RlbF9wYXRjaCI6IiJ9Cg==';
