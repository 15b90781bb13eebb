// Written by `npm run client` from /openapi.json; change the service instead. One file, no dependency: copy it.

export type RunRequest = {
  /** Selection rule: a shipped name or your own as {name, stages}; null = the default. */
  readonly preset?: string | Preset | null | undefined;
  /** Stages of your own rule, in order. */
  readonly stages?: readonly Stage[] | null | undefined;
  /** Output of `curves --save-combiner`; for rules that use `learned`. */
  readonly combiner?: Combiner | null | undefined;
  /** Output of `bestk calibrate`: the likelihoods behind P(right); null = the shipped ones. */
  readonly calibration?: Calibration | null | undefined;
  /** Return no patch if its confidence is below this, 0 to 1; null = always return one. */
  readonly min_confidence?: number | null | undefined;
  /** Shown in lists and searchable; no effect on results. */
  readonly name?: string | null | undefined;
  /** For finding runs; no effect on results. */
  readonly tags?: readonly string[] | null | undefined;
  /** Replaces settings of the sampling agent for this run. */
  readonly agent?:
    | {
        /** Model; null = the service’s setting. */
        readonly model?: string | null | undefined;
        /** Sampling temperature; null = 1. */
        readonly temperature?: number | null | undefined;
        /** Nucleus sampling; null = the model server’s default. */
        readonly top_p?: number | null | undefined;
        /** Format of the model’s tool calls; null = the service’s setting. */
        readonly format?: 'xml' | 'tools' | 'bash' | null | undefined;
        /** Task prompt: bestk’s, or that of R2E-Gym’s scaffold; null = chosen by model. */
        readonly prompt?: 'bestk' | 'r2e' | null | undefined;
        /** Appended to its task; null = nothing. */
        readonly instructions?: string | null | undefined;
        /** Shell command of a program in the image to use as the agent; null = bestk’s own agent. */
        readonly command?: string | null | undefined;
        /** File to which that program writes its trajectory; null = its model calls are recorded instead. */
        readonly trajectory?: string | null | undefined;
        /** Limits that replace the service’s. */
        readonly limits?:
          | {
              /** Step limit stated to the agent. */
              readonly max_steps?: number | undefined;
              /** Number of steps after which it is stopped. */
              readonly max_steps_absolute?: number | undefined;
              /** Maximum tokens of prompt and answer together. */
              readonly max_tokens?: number | undefined;
              /** Maximum tokens per answer. */
              readonly max_answer_tokens?: number | undefined;
              /** Time limit of one command, in seconds. */
              readonly action_s?: number | undefined;
              /** Time limit of the whole rollout, in seconds. */
              readonly trajectory_s?: number | undefined;
              /** Prompt length, in tokens, above which old observations are dropped. */
              readonly condense_at?: number | undefined;
            }
          | null
          | undefined;
      }
    | null
    | undefined;
  /** Several agents that share the trajectories; null = one agent. */
  readonly agents?:
    | readonly {
        /** Prefix of the ids of its rollouts. */
        readonly name: string;
        /** Its share of the rollouts, relative to the others’ (1). */
        readonly share?: number | undefined;
        /** Model; null = the service’s setting. */
        readonly model?: string | null | undefined;
        /** Sampling temperature; null = 1. */
        readonly temperature?: number | null | undefined;
        /** Nucleus sampling; null = the model server’s default. */
        readonly top_p?: number | null | undefined;
        /** Format of the model’s tool calls; null = the service’s setting. */
        readonly format?: 'xml' | 'tools' | 'bash' | null | undefined;
        /** Task prompt: bestk’s, or that of R2E-Gym’s scaffold; null = chosen by model. */
        readonly prompt?: 'bestk' | 'r2e' | null | undefined;
        /** Appended to its task; null = nothing. */
        readonly instructions?: string | null | undefined;
        /** Shell command of a program in the image to use as the agent; null = bestk’s own agent. */
        readonly command?: string | null | undefined;
        /** File to which that program writes its trajectory; null = its model calls are recorded instead. */
        readonly trajectory?: string | null | undefined;
        /** Limits that replace the service’s. */
        readonly limits?:
          | {
              /** Step limit stated to the agent. */
              readonly max_steps?: number | undefined;
              /** Number of steps after which it is stopped. */
              readonly max_steps_absolute?: number | undefined;
              /** Maximum tokens of prompt and answer together. */
              readonly max_tokens?: number | undefined;
              /** Maximum tokens per answer. */
              readonly max_answer_tokens?: number | undefined;
              /** Time limit of one command, in seconds. */
              readonly action_s?: number | undefined;
              /** Time limit of the whole rollout, in seconds. */
              readonly trajectory_s?: number | undefined;
              /** Prompt length, in tokens, above which old observations are dropped. */
              readonly condense_at?: number | undefined;
            }
          | null
          | undefined;
      }[]
    | null
    | undefined;
  /** The problem to solve, and the environment with its repository. */
  readonly issue: Issue;
  /** Trajectories to sample (8). With candidates it must equal their number. */
  readonly k?: number | null | undefined;
  /** Patches to choose from; absent = sample k trajectories. */
  readonly candidates?:
    | readonly {
        /** Must equal the issue’s, if given. */
        readonly instance_id?: string | undefined;
        /** Unique within the run. */
        readonly candidate_id: string;
        /** Unified diff against the base commit; empty = the agent changed nothing. */
        readonly patch: string;
        /** The steps of the agent; judges may read them. */
        readonly trajectory?:
          | {
              /** In order. */
              readonly steps?:
                | readonly {
                    /** What the agent wrote before it acted. */
                    readonly thought?: string | undefined;
                    /** The command or tool call. */
                    readonly action?: string | undefined;
                    /** The output of the action. */
                    readonly observation?: string | undefined;
                  }[]
                | undefined;
              /** How the trajectory ended, e.g. `submitted`; null = unknown. */
              readonly exit_reason?: string | null | undefined;
            }
          | null
          | undefined;
      }[]
    | null
    | undefined;
  /** Sample this many first, then more until enough agree or k is reached; null = all k at once. */
  readonly k0?: number | null | undefined;
  /** Number of further trajectories (0), sampled after the first are verified, by agents that see the best attempts; not with candidates. */
  readonly refine?: number | undefined;
  /** Number of further trajectories (0) after that, each continuing from a step of the most promising one; not with candidates. */
  readonly branch?: number | undefined;
  /** Minimum P(right) of the best first trajectory for `refine` and `branch` (0.3). */
  readonly refine_from?: number | undefined;
  /** A different seed samples different trajectories. */
  readonly seed?: number | undefined;
  /** Saved generated tests to use; null = a model writes new ones. */
  readonly tests?:
    | readonly {
        /** Must equal the issue’s, if given. */
        readonly instance_id?: string | undefined;
        /** Unique within the run. */
        readonly test_id: string;
        /** Path of the test, relative to the working directory. */
        readonly path: string;
        /** The file’s text. */
        readonly content: string;
        /** Further files that it needs, by path in the repository. */
        readonly files?: Readonly<Record<string, string>> | undefined;
        /** Shell command that runs it, from the repository’s root; absent = the default for its language. */
        readonly command?: string | undefined;
        /** Format of the command’s report; absent = the default for its language. */
        readonly report?: 'junit' | 'tap' | 'go-test-json' | 'cargo' | 'rspec-json' | 'exit-code' | undefined;
        /** Expected value of each call of `observe`, in order; absent = the exit code decides. */
        readonly expect?: readonly unknown[] | undefined;
        /** True if the test only calls `observe` and judges nothing; candidates with equal observations form one class. */
        readonly observes?: boolean | undefined;
        /** Author; several tests by one author count less than tests by different authors. */
        readonly author?: string | null | undefined;
        /** `pass-to-pass` = passes on base and must still pass; absent = reports "not solved" on base. */
        readonly kind?: 'fail-to-pass' | 'pass-to-pass' | undefined;
        /** The focus its author was given; stored unchanged. */
        readonly angle?: string | undefined;
      }[]
    | null
    | undefined;
  /** Verifiers to run, by name; null = the service’s default. */
  readonly verifiers?: readonly VerifierName[] | null | undefined;
  /** Limits of the run; null = none. */
  readonly budget?: Budget | null | undefined;
};

export type Issue = {
  /** Identifies the issue, e.g. `owner__repo-123`. */
  readonly instance_id: string;
  /** The text of the issue, as shown to models. */
  readonly problem_statement: string;
  /** Image and commands used to verify patches. */
  readonly environment: Environment;
};

export type Environment = {
  /** Docker image with the repository. */
  readonly image: string;
  /** The repository’s folder in the image (/testbed). */
  readonly workdir?: string | undefined;
  /** Commit to check out first; null = the image’s HEAD. */
  readonly base_commit?: string | null | undefined;
  /** Shell command of the existing tests; `{files}` and `{modules}` are replaced. Null = tests near the patches. */
  readonly regression_command?: string | null | undefined;
  /** JUnit XML file written by the command, relative to the working directory. */
  readonly regression_report?: string | null | undefined;
  /** Test files passed to the command. */
  readonly regression_files?: readonly string[] | undefined;
  /** CPU seconds of each process of a test or of the regression command (300); the wall-clock limit is four times that. */
  readonly test_timeout_s?: number | undefined;
  /** Git patch that turns the image’s repository into the base. */
  readonly setup_patch?: string | null | undefined;
  /** Hidden tests and answers in the image; removed before anything runs. */
  readonly hidden_paths?: readonly string[] | undefined;
};

export type Budget = {
  /** Input and output tokens together; null = no limit. */
  readonly tokens?: number | null | undefined;
  /** US dollars; null = no limit. */
  readonly usd?: number | null | undefined;
  /** Wall seconds of one execution; null = no limit. */
  readonly seconds?: number | null | undefined;
};

export type VerifierName = string;

export type RescoreRun = {
  /** Selection rule: a shipped name or your own as {name, stages}; null = the default. */
  readonly preset?: string | Preset | null | undefined;
  /** Stages of your own rule, in order. */
  readonly stages?: readonly Stage[] | null | undefined;
  /** Output of `curves --save-combiner`; for rules that use `learned`. */
  readonly combiner?: Combiner | null | undefined;
  /** Output of `bestk calibrate`: the likelihoods behind P(right); null = the shipped ones. */
  readonly calibration?: Calibration | null | undefined;
  /** Return no patch if its confidence is below this, 0 to 1; null = always return one. */
  readonly min_confidence?: number | null | undefined;
  /** Verifiers to run instead; absent = the same as before. */
  readonly verifiers?: readonly VerifierName[] | undefined;
};

export type Preset = {
  /** Name of the rule in results. */
  readonly name: string;
  /** Stages of your own rule, in order. */
  readonly stages: readonly Stage[];
};

export type Stage =
  | {
      /** Kind of stage. */
      readonly stage: 'keep';
      /** Condition for keeping a candidate. */
      readonly where: 'has-source-change' | 'applies' | 'finished';
    }
  | {
      /** Kind of stage. */
      readonly stage: 'above';
      /** Measure to use. */
      readonly by: StageMeasure;
      /** Keep candidates above this value. */
      readonly than: number;
      /** If none is above: keep all, or return no patch. */
      readonly otherwise?: 'keep-all' | 'none' | undefined;
    }
  | {
      /** Kind of stage. */
      readonly stage: 'top';
      /** Measure to use. */
      readonly by: StageMeasure;
      /** Number of patches to keep. */
      readonly n: 'deepswe' | 'half' | number;
    }
  | {
      /** Kind of stage. */
      readonly stage: 'max';
      /** Measure to use. */
      readonly by: StageMeasure;
      /** Values this close to the best are tied with it (0). */
      readonly within?: number | undefined;
    }
  | {
      /** Kind of stage. */
      readonly stage: 'min';
      /** Measure to use. */
      readonly by: StageMeasure;
      /** Values this close to the best are tied with it (0). */
      readonly within?: number | undefined;
    }
  | {
      /** Kind of stage. */
      readonly stage: 'weighted';
      /** Weighted terms to add up. */
      readonly of: readonly {
        /** Measure of the term, divided by its maximum. */
        readonly by: string;
        /** Weight of the term. */
        readonly weight: number;
      }[];
      /** Values this close to the best are tied with it (0). */
      readonly within?: number | undefined;
    }
  | {
      /** Kind of stage. */
      readonly stage: 'random';
      /** Seed of the random pick. */
      readonly seed?: number | undefined;
    }
  | {
      /** Kind of stage. */
      readonly stage: 'lowest-id';
    };

export type StageMeasure =
  | 'patch_size'
  | 'steps'
  | 'cluster_size'
  | 'syntax_cluster_size'
  | 'behaviour_cluster_size'
  | 'dual_agreement'
  | 'copeland'
  | 'posterior'
  | 'p_right'
  | 'learned'
  | 'confidence'
  | (string & {});

export type Combiner = {
  /** Kind of document. */
  readonly kind: 'bestk-combiner';
  /** Version of its format. */
  readonly version: 1;
  /** Names of the features, in order. */
  readonly features: readonly string[];
  /** Mean of each feature; used for unknown values. */
  readonly means: readonly number[];
  /** Scale of each feature. */
  readonly scales: readonly number[];
  /** Weight of each feature. */
  readonly weights: readonly number[];
  /** Added to the weighted features. */
  readonly intercept: number;
  /** Maps the score to P(right) of any candidate. */
  readonly any: {
    /** Scores, in increasing order. */
    readonly from: readonly number[];
    /** Probabilities for these scores; linear between them. */
    readonly to: readonly number[];
  };
  /** Maps the score to P(right) of the returned candidate. */
  readonly returned: {
    /** Scores, in increasing order. */
    readonly from: readonly number[];
    /** Probabilities for these scores; linear between them. */
    readonly to: readonly number[];
  };
  /** No patch is returned unless its confidence is above this; null = always return one. */
  readonly abstain_below: number | null;
  /** Training data, and results on held-out repositories. */
  readonly data_card: DataCard;
};

export type Calibration = {
  /** Kind of document. */
  readonly kind: 'bestk-calibration';
  /** Version of its format. */
  readonly version: 1;
  /** Beta distribution of the share of right patches in an issue. */
  readonly share: readonly unknown[];
  /** Likelihoods by measure of a judge. */
  readonly judges: Readonly<
    Record<
      string,
      {
        /** Intercept of the log likelihood ratio. */
        readonly intercept: number;
        /** Slope of the log likelihood ratio over logit p. */
        readonly slope: number;
      }
    >
  >;
  /** Rates at which patches pass the existing tests that pass on base. */
  readonly existing_tests: {
    /** Beta distribution of the rate for right patches. */
    readonly right: readonly unknown[];
    /** Beta distribution of the rate for wrong patches. */
    readonly wrong: readonly unknown[];
  };
  /** Rates at which patches pass a telling test, by the test’s author; `*` = all others. */
  readonly generated_tests: Readonly<
    Record<
      string,
      {
        /** Beta distribution of the rate for right patches. */
        readonly right: readonly unknown[];
        /** Beta distribution of the rate for wrong patches. */
        readonly wrong: readonly unknown[];
      }
    >
  >;
  /** Correlation of tests by one author on one patch, 0 to 1. */
  readonly test_correlation: number;
  /** Rates at which the agent submitted the patch itself. */
  readonly submitted: {
    /** Beta distribution of the rate for right patches. */
    readonly right: readonly unknown[];
    /** Beta distribution of the rate for wrong patches. */
    readonly wrong: readonly unknown[];
  };
  /** Maps P(right) of the returned patch to the observed share of right ones. */
  readonly returned: {
    /** Scores, in increasing order. */
    readonly from: readonly number[];
    /** Probabilities for these scores; linear between them. */
    readonly to: readonly number[];
  };
  /** Number of labelled patches behind each likelihood, right and wrong. */
  readonly labels: Readonly<Record<string, readonly unknown[]>>;
  /** Models that judged or wrote tests in the data. */
  readonly models: readonly string[];
  /** Training data, and results on held-out repositories. */
  readonly data_card: DataCard;
};

export type DataCard = {
  /** Number of issues in the training data. */
  readonly issues: number;
  /** Number of candidates in the training data. */
  readonly candidates: number;
  /** Number of these that are right. */
  readonly resolved: number;
  /** Names of the repositories. */
  readonly repos: readonly string[];
  /** Number of cross-validation folds. */
  readonly folds: number;
  /** AUC on held-out repositories. */
  readonly auc: number | null;
  /** Brier score on held-out repositories. */
  readonly brier: number | null;
  /** Calibration error on held-out repositories. */
  readonly ece: number | null;
  /** Share of issues whose held-out pick is right. */
  readonly picked_right: number;
  /** Mean confidence of these picks. */
  readonly mean_confidence: number;
};

export type RewardRequest =
  | {
      /** The model’s response; its last diff is the patch. */
      readonly response: string;
      /** An issue, or a run request without candidates, as an object or as JSON text. */
      readonly label: string | Readonly<Record<string, Json>>;
    }
  | {
      /** Each is a prompt followed by its response. */
      readonly query: readonly string[];
      /** The prompt that each query must begin with; a patch in it is ignored. */
      readonly prompts?: readonly string[] | null | undefined;
      /** The task of each query, in the order of `query`. */
      readonly labels: readonly (string | Readonly<Record<string, Json>>)[];
    }
  | RunRequest;

export type SeedSessionRequest = Readonly<Record<string, unknown>>;

export type VerifyRequest = {
  /** As sent by NeMo Gym; returned unchanged. */
  readonly responses_create_params: Readonly<Record<string, unknown>>;
  /** The model’s response. */
  readonly response: {
    /** Items of the response; the last diff in the text of its messages is the patch. */
    readonly output: readonly {
      /** Type of the item; only a `message` is read, which is also the default. */
      readonly type?: string | null | undefined;
      /** Role of the message; only those of the `assistant` are read, which is also the default. */
      readonly role?: string | null | undefined;
      /** Text of the item, or a list of parts with text. */
      readonly content?: Json;
    }[];
  };
  /** The task, from the row of the data set. */
  readonly verifier_metadata: string | Readonly<Record<string, Json>>;
};

export type CompareRequest = {
  /** As sent by NeMo Gym; ignored. */
  readonly conversation_history: readonly Readonly<Record<string, unknown>>[];
  /** The responses to compare. */
  readonly response_objs: readonly {
    /** Items of the response; the last diff in the text of its messages is the patch. */
    readonly output: readonly {
      /** Type of the item; only a `message` is read, which is also the default. */
      readonly type?: string | null | undefined;
      /** Role of the message; only those of the `assistant` are read, which is also the default. */
      readonly role?: string | null | undefined;
      /** Text of the item, or a list of parts with text. */
      readonly content?: Json;
    }[];
  }[];
  /** The task; the only free field that NeMo Gym sends. */
  readonly principle: string | Readonly<Record<string, Json>>;
};

export type RunAccepted = { readonly id: string; readonly status: RunStatus };

export type Estimate = {
  readonly at_least: Cost;
  readonly likely: Cost;
  readonly at_most: Cost;
  /** Estimates by part; a budget only limits their sum. */
  readonly parts: readonly {
    readonly at_least: Cost;
    readonly likely: Cost;
    readonly at_most: Cost;
    readonly part: 'rollouts' | 'progress' | 'summaries' | 'judges' | 'tests';
  }[];
};

export type Cost = { readonly model_calls: number; readonly tokens: number; readonly usd: number | null };

export type RunPage = {
  readonly runs: readonly RunSummary[];
  /** `cursor` of the next page; null on the last page. */
  readonly next_cursor: string | null;
};

export type RunSummary = {
  readonly id: string;
  readonly status: RunStatus;
  readonly created_at: string;
  readonly updated_at: string;
  readonly failure: { readonly code: string; readonly message: string; readonly next: string } | null;
  readonly name: string | null;
  readonly tags: readonly string[];
  readonly instance_id: string | null;
  readonly k: number | null;
  readonly preset: string | null;
  readonly candidate_id: string | null;
  readonly basis: string | null;
  readonly deciding_stage: string | null;
  readonly confidence: number | null;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
  /** Wall time of its stages, without queueing. */
  readonly seconds: number | null;
  readonly benchmark: string | null;
  readonly arm: string | null;
};

export type Run = {
  readonly id: string;
  readonly status: RunStatus;
  readonly created_at: string;
  readonly updated_at: string;
  readonly failure: { readonly code: string; readonly message: string; readonly next: string } | null;
  readonly progress: {
    readonly events: number;
    readonly by_type: Readonly<Record<string, number>>;
    /** The work of each worker; empty if one process did everything. */
    readonly workers: readonly {
      /** Host and process id, as in the run’s events. */
      readonly worker: string;
      readonly rollout: number;
      /** Answers from judges. */
      readonly verdict: number;
      /** Answers from other models. */
      readonly call: number;
      readonly cells: number;
      /** Sum over its parts, which overlap. */
      readonly seconds: number;
    }[];
    readonly last: RunEvent | null;
  };
  readonly selection: Selection | null;
  readonly statistics: RunStatistics | null;
  readonly usage: Usage | null;
};

export type RunStatus = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export type RunEvent = { readonly seq: number; readonly at: string; readonly type: string; readonly data: Json };

export type Selection = {
  readonly instance_id: string;
  readonly candidate_id: string | null;
  readonly basis: 'hybrid' | 'fallback' | 'none';
  readonly deciding_stage: string | null;
  readonly confidence: number | null;
  readonly why_none: string | null;
  readonly notes: readonly string[];
  readonly ranking: readonly {
    readonly candidate_id: string;
    readonly rank: number;
    readonly scores: Readonly<Record<string, number | null>>;
    readonly p_right: number | null;
    readonly log_odds: Readonly<Record<string, number>>;
    readonly flags: readonly string[];
  }[];
  readonly stages: readonly {
    readonly name: string;
    readonly kept: readonly string[];
    readonly dropped: readonly string[];
    readonly skipped: string | null;
  }[];
};

export type RunStatistics = {
  readonly k: number;
  readonly distinct_patches: number;
  readonly verified: number;
  readonly tests_given: number;
  readonly tests_admitted: number;
  readonly expected_pass_at_1: number | null;
  readonly expected_pass_at_k: number | null;
  readonly agents: readonly {
    readonly agent: string;
    readonly k: number;
    readonly distinct_patches: number;
    readonly expected_pass_at_1: number | null;
    readonly expected_pass_at_k: number | null;
  }[];
};

export type Usage = {
  readonly models: readonly {
    readonly purpose: string;
    readonly model: string;
    readonly calls: number;
    readonly stored_answers: number;
    readonly input_tokens: number;
    readonly cached_input_tokens: number;
    readonly output_tokens: number;
    readonly seconds: number;
  }[];
  readonly tokens: number | null;
  readonly cost_usd: number | null;
  readonly stages: Readonly<Record<string, number>>;
};

export type Candidate = {
  readonly candidate_id: string;
  readonly patch: string;
  readonly trajectory: {
    readonly steps: readonly { readonly thought: string; readonly action: string; readonly observation: string }[];
    readonly exit_reason: string | null;
  } | null;
  /** Empty until the run is done. */
  readonly verdicts: readonly Verdict[];
  /** The candidate’s row of the matrix; empty until the run is done. */
  readonly cells: readonly Cell[];
};

export type Verdict =
  | {
      readonly kind: 'scored';
      readonly candidate_id: string;
      readonly measure: string;
      readonly score: number;
      readonly out_of: number;
      readonly evidence: Readonly<Record<string, Json>>;
    }
  | {
      readonly kind: 'abstained';
      readonly candidate_id: string;
      readonly measure: string;
      readonly reason:
        | 'no-source-change'
        | 'refused-patch'
        | 'does-not-apply'
        | 'no-tests'
        | 'unreadable-answer'
        | 'low-mass'
        | 'model-unavailable'
        | 'budget-spent'
        | 'prompt-too-long'
        | 'infrastructure'
        | 'forged'
        | 'control-solved';
      readonly detail: string;
      readonly evidence: Readonly<Record<string, Json>>;
    };

export type Measure = {
  readonly name: string;
  readonly kind: 'judge' | 'existing-tests' | 'generated-tests' | 'fact';
  readonly unit: 'probability' | 'count' | 'score';
  readonly better: 'higher' | 'lower';
  readonly title: string;
  readonly meaning: string;
};

export type Cell = {
  readonly instance_id: string;
  /** null = base, the repository without any patch */
  readonly candidate_id: string | null;
  readonly same_as: string | null;
  readonly suite: 'reproduction' | 'regression';
  readonly test_id: string;
  readonly outcome:
    'solved' | 'not-solved' | 'observed' | 'crashed' | 'timed-out' | 'out-of-memory' | 'out-of-disk' | 'forged';
  readonly kind?:
    | 'resolved'
    | 'wrong-answer'
    | 'set-up-error'
    | 'missing-name'
    | 'time-out'
    | 'flaky'
    | 'passes-on-base'
    | 'out-of-memory'
    | 'out-of-disk'
    | 'forged'
    | undefined;
  readonly trust?: 'proof' | 'command' | undefined;
  readonly exit_code: number | null;
  readonly duration_ms: number;
  readonly passed: number | null;
  readonly total: number | null;
  readonly lost: readonly string[];
  readonly log_tail: string;
  readonly observed?:
    { readonly sha256: string; readonly preview: string; readonly group?: number | undefined } | undefined;
};

export type Evidence = {
  readonly run: {
    readonly id: string;
    readonly status: RunStatus;
    readonly created_at: string;
    readonly updated_at: string;
    readonly failure: { readonly code: string; readonly message: string; readonly next: string } | null;
  };
  readonly request: {
    readonly issue: {
      readonly instance_id: string;
      readonly problem_statement: string;
      readonly environment: {
        readonly image: string;
        readonly workdir: string;
        readonly base_commit: string | null;
        readonly regression_command: string | null;
        readonly regression_report: string | null;
        readonly regression_files: readonly string[];
        readonly test_timeout_s: number;
        readonly setup_patch: string | null;
        readonly hidden_paths: readonly string[];
      };
    };
    readonly k: number;
    readonly preset: string;
    readonly verifiers: readonly string[] | null;
    readonly seed: number;
    readonly given: boolean;
  };
  readonly selection: {
    readonly instance_id: string;
    readonly candidate_id: string | null;
    readonly basis: 'hybrid' | 'fallback' | 'none';
    readonly deciding_stage: string | null;
    readonly confidence: number | null;
    readonly why_none: string | null;
    readonly notes: readonly string[];
    readonly stages: readonly {
      readonly name: string;
      readonly kept: readonly string[];
      readonly dropped: readonly string[];
      readonly skipped: string | null;
    }[];
  } | null;
  readonly statistics: RunStatistics | null;
  readonly usage: Usage | null;
  readonly provenance: {
    readonly bestk_version: string;
    readonly image_id: string | null;
    readonly verifier_model: string | null;
    readonly test_model: string | null;
    readonly agent: {
      readonly name: string | null;
      readonly model: string;
      readonly endpoint: string;
      readonly format: string;
      readonly temperature: number;
      readonly top_p: number | null;
      readonly limits: Readonly<Record<string, number | null>>;
      readonly command: string | null;
      readonly prompt: string | null;
    } | null;
    readonly agents: readonly {
      readonly name: string | null;
      readonly model: string;
      readonly endpoint: string;
      readonly format: string;
      readonly temperature: number;
      readonly top_p: number | null;
      readonly limits: Readonly<Record<string, number | null>>;
      readonly command: string | null;
      readonly prompt: string | null;
    }[];
    readonly prompt_hashes: Readonly<Record<string, string>>;
    readonly preset: string;
    readonly rule_hashes: Readonly<Record<string, string>>;
    readonly verifiers: readonly string[];
    readonly sandbox_limits: Readonly<Record<string, number>>;
  } | null;
  readonly sampling: {
    readonly asked: number;
    readonly sampled: number;
    readonly stopped: 'all' | 'agreement' | 'budget';
    readonly detail: string;
    readonly failed: readonly { readonly candidate_id: string; readonly code: string; readonly message: string }[];
    readonly refined: {
      readonly asked: number;
      readonly sampled: number;
      readonly told_of: readonly string[];
      readonly detail: string;
    } | null;
    readonly branched: {
      readonly asked: number;
      readonly sampled: number;
      readonly detail: string;
      readonly from: { readonly candidate_id: string; readonly steps: number } | null;
    } | null;
  } | null;
  readonly measures: readonly Measure[];
  readonly candidates: readonly {
    readonly candidate_id: string;
    readonly rank: number | null;
    readonly scores: Readonly<Record<string, number | null>>;
    readonly p_right: number | null;
    readonly log_odds: Readonly<Record<string, number>>;
    readonly flags: readonly string[];
    readonly model: string | null;
    readonly exit_reason: string | null;
    readonly steps: number;
    readonly tokens: number | null;
    readonly seconds: number | null;
    readonly patch: {
      readonly characters: number;
      readonly sha256: string | null;
      readonly problem: string | null;
      readonly files: readonly {
        readonly path: string;
        readonly role: string;
        readonly added: number | null;
        readonly removed: number | null;
      }[];
    };
    readonly verdicts: readonly Verdict[];
  }[];
  readonly tests: readonly {
    readonly test_id: string;
    readonly path: string;
    readonly files?: Readonly<Record<string, string>> | undefined;
    readonly command?: string | undefined;
    readonly report?: 'junit' | 'tap' | 'go-test-json' | 'cargo' | 'rspec-json' | 'exit-code' | undefined;
    readonly observes?: boolean | undefined;
    readonly author: string | null;
    readonly kind?: 'fail-to-pass' | 'pass-to-pass' | undefined;
    readonly angle?: string | undefined;
  }[];
  readonly admissions: readonly {
    readonly test_id: string;
    readonly admitted: boolean;
    readonly reason: string | null;
    readonly kind?:
      | 'resolved'
      | 'wrong-answer'
      | 'set-up-error'
      | 'missing-name'
      | 'time-out'
      | 'flaky'
      | 'passes-on-base'
      | 'out-of-memory'
      | 'out-of-disk'
      | 'forged'
      | undefined;
  }[];
  readonly test_quality: readonly {
    readonly test_id: string;
    readonly solved_by: number;
    readonly of: number;
    readonly information: number;
    readonly agreement: number | null;
    readonly toxicity: number;
  }[];
  readonly cells: readonly {
    /** null = base, the repository without any patch */
    readonly candidate_id: string | null;
    readonly same_as: string | null;
    readonly suite: 'reproduction' | 'regression';
    readonly test_id: string;
    readonly outcome:
      'solved' | 'not-solved' | 'observed' | 'crashed' | 'timed-out' | 'out-of-memory' | 'out-of-disk' | 'forged';
    readonly kind?:
      | 'resolved'
      | 'wrong-answer'
      | 'set-up-error'
      | 'missing-name'
      | 'time-out'
      | 'flaky'
      | 'passes-on-base'
      | 'out-of-memory'
      | 'out-of-disk'
      | 'forged'
      | undefined;
    readonly trust?: 'proof' | 'command' | undefined;
    readonly exit_code: number | null;
    readonly duration_ms: number;
    readonly passed: number | null;
    readonly total: number | null;
    readonly observed?:
      { readonly sha256: string; readonly preview: string; readonly group?: number | undefined } | undefined;
  }[];
  readonly behaviours: readonly {
    readonly solved: readonly string[];
    readonly candidate_ids: readonly string[];
    readonly told: readonly { readonly test_id: string; readonly value: string; readonly as_base: boolean }[];
  }[];
};

export type Cells = { readonly cells: readonly Cell[] };

export type GeneratedTest = {
  readonly instance_id: string;
  readonly test_id: string;
  readonly path: string;
  readonly content: string;
  readonly files?: Readonly<Record<string, string>> | undefined;
  readonly command?: string | undefined;
  readonly report?: 'junit' | 'tap' | 'go-test-json' | 'cargo' | 'rspec-json' | 'exit-code' | undefined;
  readonly expect?: readonly unknown[] | undefined;
  readonly observes?: boolean | undefined;
  readonly author: string | null;
  readonly kind?: 'fail-to-pass' | 'pass-to-pass' | undefined;
  readonly angle?: string | undefined;
};

export type Steps = {
  readonly total: number;
  readonly from: number;
  readonly steps: readonly {
    readonly number: number;
    readonly thought: { readonly text: string; readonly cut: number };
    readonly action: { readonly text: string; readonly cut: number };
    readonly observation: { readonly text: string; readonly cut: number };
    readonly exit_code: number | null;
    readonly input_tokens: number | null;
    readonly cached_input_tokens: number | null;
    readonly output_tokens: number | null;
    readonly llm_s: number | null;
    readonly env_s: number | null;
  }[];
};

export type JudgePrompt = {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly question: number;
  readonly questions: number;
  readonly compared_with: string | null;
  readonly same_template: boolean | null;
  readonly left_out: readonly string[];
};

export type Choices = { readonly presets: readonly string[]; readonly verifiers: readonly string[] };

export type ReportMade = {
  readonly id: string;
  readonly title: string;
  readonly runs: number;
  readonly labelled: number;
  /** Candidates of these issues without a known label, excluded from every rate. */
  readonly unknown_labels: number;
  /** What to know about the labels sent. */
  readonly notes: readonly string[];
};

export type Reports = {
  readonly reports: readonly { readonly id: string; readonly title: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
};

export type Report = { readonly kind: 'bestk-report'; readonly schema: 1; readonly title: string };

export type RescoreAccepted = {
  readonly candidates: number;
  readonly runs: readonly { readonly instance_id: string; readonly id: string }[];
  readonly skipped: readonly { readonly instance_id: string; readonly reason: string }[];
  /** Unreadable records; the first ones with line and reason. */
  readonly rejected: {
    readonly count: number;
    readonly first: readonly { readonly line: number | null; readonly reason: string }[];
  };
};

export type Outcome = {
  readonly candidate_id: string;
  readonly log_odds: Readonly<Record<string, number>>;
  readonly flags: readonly string[];
  readonly run_id: string;
  readonly instance_id: string;
  /** P(the patch is right). */
  readonly reward: number;
  /** hybrid: verdicts on this patch were used; fallback: only the prior and votes; none: the patch cannot be used, so 0 is certain. */
  readonly basis: 'hybrid' | 'fallback' | 'none';
};

export type Rewards = {
  readonly rewards: readonly number[];
  /** The rewards again, under the name that OpenRLHF expects. */
  readonly scores: readonly number[];
  readonly outcomes: readonly Outcome[];
};

export type RewardAnswer = number | Rewards;

export type VerifyAnswer = {
  readonly responses_create_params: Readonly<Record<string, unknown>>;
  readonly response: {
    readonly output: readonly {
      readonly type?: string | null | undefined;
      readonly role?: string | null | undefined;
      readonly content?: Json;
    }[];
  };
  /** The task, from the row of the data set. */
  readonly verifier_metadata: string | Readonly<Record<string, Json>>;
  /** P(the patch is right). */
  readonly reward: number;
  readonly mask_sample: false;
  readonly outcome: Outcome;
};

export type CompareAnswer = {
  readonly rewards: readonly number[];
  /** Each response compared with the next one, by index. */
  readonly comparison_results: readonly {
    readonly response_i: number;
    readonly response_j: number;
    /** P(the patch is right). */
    readonly score_1: number;
    /** P(the patch is right). */
    readonly score_2: number;
  }[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly outcomes: readonly Outcome[];
};

export type BenchmarkAccepted = {
  readonly id: string;
  readonly status: 'accepting' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
  readonly issues: number;
  readonly runs: number;
  /** Instances that could not be started, by arm. */
  readonly skipped: number;
  /** Rejected rows; the first ones with line and reason. */
  readonly rejected: { readonly count: number; readonly first: readonly string[] };
};

export type BenchmarkMoved = {
  readonly id: string;
  readonly status: 'accepting' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
};

export type Benchmarks = { readonly benchmarks: readonly BenchmarkSummary[]; readonly next_cursor: string | null };

export type BenchmarkSummary = {
  readonly id: string;
  readonly title: string;
  readonly status: 'accepting' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
  readonly note: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type Benchmark = {
  readonly id: string;
  readonly title: string;
  readonly status: 'accepting' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
  readonly note: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly issues: number;
  readonly arms: readonly {
    readonly arm: string;
    /** Not started yet. */
    readonly waiting: number;
    readonly queued: number;
    readonly running: number;
    readonly selected: number;
    /** Done, without a returned patch. */
    readonly none: number;
    readonly failed: number;
    readonly cancelled: number;
    /** Instances that could not be started. */
    readonly skipped: number;
    readonly graded: number;
    readonly right: number;
    readonly wrong: number;
    /** Graded runs of which it is unknown whether the selected patch is right. */
    readonly unknown: number;
    readonly tokens: number;
    readonly cost_usd: number | null;
  }[];
  /** Estimated seconds until the last run ends, from the pace of recent ones; null = unknown. */
  readonly eta_s: { readonly low: number; readonly likely: number; readonly high: number } | null;
};

export type BenchmarkRuns = {
  readonly runs: readonly {
    readonly id: string;
    readonly arm: string;
    readonly instance_id: string;
    readonly status: RunStatus;
    readonly handed: boolean;
    readonly failure: { readonly code: string; readonly message: string } | null;
    readonly candidate_id: string | null;
    readonly deciding_stage: string | null;
    readonly confidence: number | null;
    readonly k: number | null;
    readonly tokens: number | null;
    readonly cost_usd: number | null;
    /** Wall time of its stages, without queueing. */
    readonly seconds: number | null;
    readonly right: boolean | null;
    readonly graded: number | null;
    readonly right_candidates: number | null;
    readonly ungraded: number | null;
  }[];
  readonly next_cursor: string | null;
};

export type BenchmarkCurves = {
  readonly arms: readonly {
    readonly arm: string;
    /** Number of issues with a graded candidate. */
    readonly issues: number;
    /** Share of right selections over the issues with a known outcome; null = none is known. */
    readonly selected: {
      readonly value: number;
      readonly low: number;
      readonly high: number;
      readonly issues: number;
    } | null;
    /** Number of graded issues with an unknown outcome, which are excluded. */
    readonly unknown: number;
    readonly points: readonly {
      readonly k: number;
      /** P(at least one of k random candidates is right). */
      readonly pass_at_k: { readonly value: number; readonly low: number; readonly high: number };
      /** P(the arm’s rule returns a right one of k random candidates), ties averaged; null = not computed. */
      readonly best_at_k: { readonly value: number; readonly low: number; readonly high: number } | null;
    }[];
  }[];
};

export type BenchmarkPlots = {
  readonly plots: readonly {
    readonly name: string;
    readonly title: string;
    /** How to read the plot. */
    readonly note: string;
    /** The drawing: shapes and text, no script, no style sheet, nothing to load. */
    readonly svg: string;
    /** Columns of the underlying numbers. */
    readonly columns: readonly string[];
    /** One cell per column. */
    readonly rows: readonly (readonly (string | number | null)[])[];
  }[];
};

export type RunLabels = {
  /** False = not graded (yet); there are no labels. */
  readonly graded: boolean;
  readonly labels: readonly {
    readonly candidate_id: string;
    /** Null = unknown, for the reason stated. */
    readonly right: boolean | null;
    readonly reason: string;
    /** Required tests that did not pass (the first ones). */
    readonly failed_tests: readonly string[];
  }[];
};

export type BenchmarkReport = { readonly kind: 'bestk-bench-report'; readonly schema: 1; readonly title: string };

export type Audit = {
  readonly entries: readonly {
    readonly action: string;
    readonly actor: string | null;
    readonly address: string;
    readonly run_id: string | null;
    readonly outcome: string;
    readonly times: number;
    readonly id: string;
    readonly at: string;
  }[];
  readonly next_cursor: string | null;
};

export type Problem = {
  /** Constant; `code` identifies the problem. */
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  /** What the client can do about it. */
  readonly next?: string | undefined;
  /** The problems and their paths in the request, such as `candidates.0.patch`. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[] | undefined;
};

export type Health = { readonly status: string };

export type Readiness = {
  /** degraded: runs that need the missing part fail or wait; everything else works */
  readonly status: 'ready' | 'degraded';
  readonly parts: {
    readonly engine: { readonly ok: true } | { readonly ok: false; readonly code: string; readonly next: string };
    readonly models: { readonly ok: true } | { readonly ok: false; readonly code: string; readonly next: string };
    /** not ok: disk or memory is low and new work waits */
    readonly machine: { readonly ok: true } | { readonly ok: false; readonly code: string; readonly next: string };
  };
  readonly work: {
    /** saturated: all slots are busy and runs wait; stalled: runs wait and no process has taken one for a minute */
    readonly state: 'idle' | 'working' | 'saturated' | 'stalled';
    readonly queued: number;
    readonly running: number;
    readonly oldest_queued_s: number;
  };
};

export type Json = unknown;

/** An error response of the service: an RFC 9457 problem. */
export class BestkProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(`${status}: ${problem.detail}`);
    this.name = 'BestkProblem';
  }
}

/** Body types accepted by `fetch`: text, bytes or a stream. */
export type Upload = NonNullable<RequestInit['body']>;

interface Options {
  readonly signal?: AbortSignal;
  /** Content type of an upload. */
  readonly type?: string;
}

interface BenchOptions {
  readonly signal?: AbortSignal;
  readonly onStanding?: (standing: Benchmark) => void;
  /** Makes retries safe. */
  readonly 'Idempotency-Key'?: string;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly body?: Upload;
  readonly type?: string;
}

/** The HTTP service of bestk. Every method throws BestkProblem if the service rejects the request. */
export class BestkClient {
  /** @param url such as `http://localhost:8080` */
  constructor(
    private readonly url: string,
    private readonly settings: { readonly apiKey?: string; readonly fetch?: typeof fetch } = {},
  ) {}

  /** Start a run: sample trajectories or use given candidates, verify and select. */
  submitRun(
    body: RunRequest,
    options: Options & { readonly 'Idempotency-Key'?: string | undefined } = {},
  ): Promise<RunAccepted> {
    return this.json<RunAccepted>({
      method: 'POST',
      path: `/v1/runs`,
      query: pick(options, []),
      headers: pick(options, ['Idempotency-Key']),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** List runs, newest first unless sorted, paged. */
  listRuns(
    options: Options & {
      readonly status?: string | undefined;
      readonly instance?: string | undefined;
      readonly tag?: string | undefined;
      readonly q?: string | undefined;
      readonly sort?: 'created' | '-created' | 'instance' | '-instance' | 'k' | '-k' | 'cost' | '-cost' | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    } = {},
  ): Promise<RunPage> {
    return this.json<RunPage>({
      method: 'GET',
      path: `/v1/runs`,
      query: pick(options, ['status', 'instance', 'tag', 'q', 'sort', 'limit', 'cursor']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Estimate the model calls, tokens and dollars of a run, without starting it or calling a model. */
  estimateRun(body: RunRequest, options: Options = {}): Promise<Estimate> {
    return this.json<Estimate>({
      method: 'POST',
      path: `/v1/runs/estimate`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** Status, progress, selection, statistics and usage of a run. */
  getRun(id: string, options: Options = {}): Promise<Run> {
    return this.json<Run>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Delete a run that has ended, with its journal. */
  deleteRun(id: string, options: Options = {}): Promise<void> {
    return this.nothing({
      method: 'DELETE',
      path: `/v1/runs/${encodeURIComponent(id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** The journal of a run as server-sent events: past events, then new ones, until the run ends. */
  followRun(
    id: string,
    options: Options & { readonly 'Last-Event-ID'?: string | undefined } = {},
  ): AsyncGenerator<RunEvent, void> {
    return this.events<RunEvent>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/events`,
      query: pick(options, []),
      headers: pick(options, ['Last-Event-ID']),
      signal: options.signal,
    });
  }

  /** The selected patch, as a unified git diff. */
  getPatch(id: string, options: Options = {}): Promise<string> {
    return this.text({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/patch`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** One candidate: patch, trajectory, verdicts and its row of the matrix. */
  getCandidate(id: string, candidate_id: string, options: Options = {}): Promise<Candidate> {
    return this.json<Candidate>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/candidates/${encodeURIComponent(candidate_id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Stop a run; its containers are removed within 5 s. Idempotent. */
  cancelRun(id: string, options: Options = {}): Promise<RunAccepted> {
    return this.json<RunAccepted>({
      method: 'POST',
      path: `/v1/runs/${encodeURIComponent(id)}/cancel`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Everything the decision was based on, without patches, trajectories and logs. */
  getEvidence(id: string, options: Options = {}): Promise<Evidence> {
    return this.json<Evidence>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/evidence`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Labels of the candidates of a benchmark’s run, available once all runs of its issue have ended. */
  getLabels(id: string, options: Options = {}): Promise<RunLabels> {
    return this.json<RunLabels>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/labels`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Cells of the tests × candidates matrix with their logs. */
  getCells(
    id: string,
    options: Options & {
      readonly candidate_id?: string | undefined;
      readonly base?: 'true' | undefined;
      readonly test_id?: string | undefined;
      readonly suite?: 'reproduction' | 'regression' | undefined;
    } = {},
  ): Promise<Cells> {
    return this.json<Cells>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/cells`,
      query: pick(options, ['candidate_id', 'base', 'test_id', 'suite']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** One generated test with its source. */
  getTest(id: string, test_id: string, options: Options = {}): Promise<GeneratedTest> {
    return this.json<GeneratedTest>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/tests/${encodeURIComponent(test_id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Steps of a trajectory, paged by number. */
  getSteps(
    id: string,
    candidate_id: string,
    options: Options & {
      readonly from?: number | undefined;
      readonly limit?: number | undefined;
      readonly characters?: number | undefined;
    } = {},
  ): Promise<Steps> {
    return this.json<Steps>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/candidates/${encodeURIComponent(candidate_id)}/steps`,
      query: pick(options, ['from', 'limit', 'characters']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** The patch of one candidate, as a unified git diff. */
  getCandidatePatch(id: string, candidate_id: string, options: Options = {}): Promise<string> {
    return this.text({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/candidates/${encodeURIComponent(candidate_id)}/patch`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** A judge’s prompt about a candidate, rendered again with the current settings. */
  getJudgePrompt(
    id: string,
    candidate_id: string,
    options: Options & { readonly measure?: string | undefined; readonly question?: number | undefined } = {},
  ): Promise<JudgePrompt> {
    return this.json<JudgePrompt>({
      method: 'GET',
      path: `/v1/runs/${encodeURIComponent(id)}/candidates/${encodeURIComponent(candidate_id)}/judge-prompt`,
      query: pick(options, ['measure', 'question']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Presets and verifiers that a request may name. */
  getChoices(options: Options = {}): Promise<Choices> {
    return this.json<Choices>({
      method: 'GET',
      path: `/v1/choices`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Start a new run with the candidates and tests of this one and a different preset or verifiers. */
  rescoreRun(
    id: string,
    body: RescoreRun,
    options: Options & { readonly 'Idempotency-Key'?: string | undefined } = {},
  ): Promise<RunAccepted> {
    return this.json<RunAccepted>({
      method: 'POST',
      path: `/v1/runs/${encodeURIComponent(id)}/rescore`,
      query: pick(options, []),
      headers: pick(options, ['Idempotency-Key']),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** Make a benchmark report of finished runs, from JSON lines with run ids and labels. */
  makeReport(
    body: Upload,
    options: Options & { readonly title?: string | undefined; readonly presets?: string | undefined } = {},
  ): Promise<ReportMade> {
    return this.json<ReportMade>({
      method: 'POST',
      path: `/v1/reports`,
      query: pick(options, ['title', 'presets']),
      headers: pick(options, []),
      signal: options.signal,
      body,
      type: options.type ?? 'application/x-ndjson',
    });
  }

  /** List reports, newest first, paged. */
  listReports(
    options: Options & { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
  ): Promise<Reports> {
    return this.json<Reports>({
      method: 'GET',
      path: `/v1/reports`,
      query: pick(options, ['limit', 'cursor']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** A report as JSON, or with `Accept: text/html` as a self-contained page. */
  getReport(id: string, options: Options = {}): Promise<Report> {
    return this.json<Report>({
      method: 'GET',
      path: `/v1/reports/${encodeURIComponent(id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Start a benchmark from JSON lines: the bench file, rows of any known data set, and the arms’ own candidates and tests. */
  submitBenchmark(
    body: Upload,
    options: Options & { readonly 'Idempotency-Key'?: string | undefined } = {},
  ): Promise<BenchmarkAccepted> {
    return this.json<BenchmarkAccepted>({
      method: 'POST',
      path: `/v1/benchmarks`,
      query: pick(options, []),
      headers: pick(options, ['Idempotency-Key']),
      signal: options.signal,
      body,
      type: options.type ?? 'application/x-ndjson',
    });
  }

  /** List benchmarks, newest first, paged. */
  listBenchmarks(
    options: Options & { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
  ): Promise<Benchmarks> {
    return this.json<Benchmarks>({
      method: 'GET',
      path: `/v1/benchmarks`,
      query: pick(options, ['limit', 'cursor']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** State of a benchmark: counts by state and arm, tokens, cost and time left. */
  getBenchmark(id: string, options: Options = {}): Promise<Benchmark> {
    return this.json<Benchmark>({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Delete a benchmark that has ended, with its runs. */
  deleteBenchmark(id: string, options: Options = {}): Promise<void> {
    return this.nothing({
      method: 'DELETE',
      path: `/v1/benchmarks/${encodeURIComponent(id)}`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Its runs in order of creation, paged. */
  listBenchmarkRuns(
    id: string,
    options: Options & {
      readonly arm?: string | undefined;
      readonly status?: string | undefined;
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
    } = {},
  ): Promise<BenchmarkRuns> {
    return this.json<BenchmarkRuns>({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/runs`,
      query: pick(options, ['arm', 'status', 'limit', 'cursor']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Pass@k and Best@k of each arm over the candidates graded so far, with intervals. */
  getBenchmarkCurves(id: string, options: Options = {}): Promise<BenchmarkCurves> {
    return this.json<BenchmarkCurves>({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/curves`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** The plots of its report so far: drawings, and the numbers behind them. */
  getBenchmarkPlots(id: string, options: Options = {}): Promise<BenchmarkPlots> {
    return this.json<BenchmarkPlots>({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/plots`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Its state as server-sent events, now and after every change, until it ends. */
  followBenchmark(
    id: string,
    options: Options & { readonly 'Last-Event-ID'?: string | undefined } = {},
  ): AsyncGenerator<RunEvent, void> {
    return this.events<RunEvent>({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/events`,
      query: pick(options, []),
      headers: pick(options, ['Last-Event-ID']),
      signal: options.signal,
    });
  }

  /** Its report so far: JSON, or with `Accept: text/html` a page, with `text/csv` a line for each issue and arm, with `text/plain` a summary. */
  getBenchmarkReport(id: string, options: Options = {}): Promise<BenchmarkReport> {
    return this.json<BenchmarkReport>({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/report`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** The selected patches of an arm, the first without `arm`, as predictions for SWE-bench’s harness. */
  getBenchmarkPredictions(id: string, options: Options & { readonly arm?: string | undefined } = {}): Promise<string> {
    return this.text({
      method: 'GET',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/predictions`,
      query: pick(options, ['arm']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Start no more runs; runs in progress finish. Idempotent. */
  pauseBenchmark(id: string, options: Options = {}): Promise<BenchmarkMoved> {
    return this.json<BenchmarkMoved>({
      method: 'POST',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/pause`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Continue, and retry runs that failed or were cancelled. */
  resumeBenchmark(id: string, options: Options = {}): Promise<BenchmarkMoved> {
    return this.json<BenchmarkMoved>({
      method: 'POST',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/resume`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Stop the benchmark and all its runs. Idempotent. */
  cancelBenchmark(id: string, options: Options = {}): Promise<BenchmarkMoved> {
    return this.json<BenchmarkMoved>({
      method: 'POST',
      path: `/v1/benchmarks/${encodeURIComponent(id)}/cancel`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Upload saved runs in any known format as JSON lines; each instance becomes a run. */
  rescore(
    body: Upload,
    options: Options & {
      readonly verifiers?: string | undefined;
      readonly preset?: string | undefined;
      readonly min_confidence?: number | undefined;
      readonly image?: string | undefined;
    } = {},
  ): Promise<RescoreAccepted> {
    return this.json<RescoreAccepted>({
      method: 'POST',
      path: `/v1/rescores`,
      query: pick(options, ['verifiers', 'preset', 'min_confidence', 'image']),
      headers: pick(options, []),
      signal: options.signal,
      body,
      type: options.type ?? 'application/x-ndjson',
    });
  }

  /** P(right) of patches: a number for one response, or a list with its basis for several. */
  reward(
    body: RewardRequest,
    options: Options & { readonly timeout_s?: number | undefined } = {},
  ): Promise<RewardAnswer> {
    return this.json<RewardAnswer>({
      method: 'POST',
      path: `/v1/reward`,
      query: pick(options, ['timeout_s']),
      headers: pick(options, []),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** Compatible with `/seed_session` of a NeMo Gym resources server; does nothing. */
  seedSession(body: SeedSessionRequest, options: Options = {}): Promise<unknown> {
    return this.json<unknown>({
      method: 'POST',
      path: `/seed_session`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** Compatible with `/verify` of a NeMo Gym resources server. */
  verify(
    body: VerifyRequest,
    options: Options & { readonly timeout_s?: number | undefined } = {},
  ): Promise<VerifyAnswer> {
    return this.json<VerifyAnswer>({
      method: 'POST',
      path: `/verify`,
      query: pick(options, ['timeout_s']),
      headers: pick(options, []),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** Compatible with `/compare` of NeMo Gym: the responses to one prompt form one pool. */
  compare(
    body: CompareRequest,
    options: Options & { readonly timeout_s?: number | undefined } = {},
  ): Promise<CompareAnswer> {
    return this.json<CompareAnswer>({
      method: 'POST',
      path: `/compare`,
      query: pick(options, ['timeout_s']),
      headers: pick(options, []),
      signal: options.signal,
      body: JSON.stringify(body),
      type: 'application/json',
    });
  }

  /** Audit log: who started, cancelled and deleted what, and refused requests; newest first, paged. */
  listAudit(
    options: Options & {
      readonly limit?: number | undefined;
      readonly cursor?: string | undefined;
      readonly run_id?: string | undefined;
    } = {},
  ): Promise<Audit> {
    return this.json<Audit>({
      method: 'GET',
      path: `/v1/audit`,
      query: pick(options, ['limit', 'cursor', 'run_id']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Liveness: the process responds. */
  live(options: Options = {}): Promise<Health> {
    return this.json<Health>({
      method: 'GET',
      path: `/healthz`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Readiness: the store responds and runs are accepted; also lists missing parts and waiting work. */
  ready(options: Options & { readonly require?: string | undefined } = {}): Promise<Readiness> {
    return this.json<Readiness>({
      method: 'GET',
      path: `/readyz`,
      query: pick(options, ['require']),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** Metrics of the process, for Prometheus. */
  metrics(options: Options = {}): Promise<string> {
    return this.text({
      method: 'GET',
      path: `/metrics`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** This document. */
  openApi(options: Options = {}): Promise<unknown> {
    return this.json<unknown>({
      method: 'GET',
      path: `/openapi.json`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /** This document as a page. */
  docs(options: Options = {}): Promise<string> {
    return this.text({
      method: 'GET',
      path: `/docs`,
      query: pick(options, []),
      headers: pick(options, []),
      signal: options.signal,
    });
  }

  /**
   * Runs a benchmark and returns its report; `onStanding` is called with its state after every change. `rows` are the rows of
   * any known data set and the arms' own candidates and tests. Aborting stops the wait but not the benchmark.
   */
  async bench(bench: object, rows: Iterable<object>, options: BenchOptions = {}): Promise<BenchmarkReport> {
    const { signal, onStanding } = options;
    const body = [bench, ...rows].map((line) => `${JSON.stringify(line)}\n`).join('');
    const key = options['Idempotency-Key'] ?? crypto.randomUUID();
    const wait = signal === undefined ? {} : { signal };
    const { id } = await this.submitBenchmark(body, { ...wait, type: 'application/x-ndjson', 'Idempotency-Key': key });
    let standing = await this.getBenchmark(id, wait);
    while (!['done', 'failed', 'cancelled'].includes(standing.status)) {
      standing = await patiently(async () => {
        for await (const { data } of this.followBenchmark(id, wait)) onStanding?.(data as Benchmark);
        return this.getBenchmark(id, wait);
      });
    }
    if (standing.status !== 'done') throw new Error(`Benchmark ${id}: ${standing.note ?? standing.status}`);
    return this.getBenchmarkReport(id, wait);
  }

  private async send({ method, path, query, headers, signal, body, type }: Call): Promise<Response> {
    const asked = new URLSearchParams(query).toString();
    const { apiKey, fetch: ask = fetch } = this.settings;
    const response = await ask(`${this.url}${path}${asked === '' ? '' : `?${asked}`}`, {
      method,
      headers: {
        ...headers,
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body, duplex: 'half' }),
    });
    if (!response.ok) throw new BestkProblem(response.status, (await response.json()) as Problem);
    return response;
  }

  private async json<T>(call: Call): Promise<T> {
    return (await (await this.send(call)).json()) as T;
  }

  private async text(call: Call): Promise<string> {
    return (await this.send(call)).text();
  }

  private async nothing(call: Call): Promise<void> {
    await this.send(call);
  }

  /** Ends with the stream; to continue, call it again with the last event. */
  private async *events<T>(call: Call): AsyncGenerator<T, void> {
    const { body } = await this.send(call);
    if (body === null) return;
    let text = '';
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block.split('\n').filter((line) => line.startsWith('data: '));
        if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(6)).join('\n')) as T;
      }
    }
  }
}

/** Repeats what only reads for about a minute while the connection is lost, as when the service restarts. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (let lost = 1; ; lost += 1) {
    try {
      return await read();
    } catch (error) {
      // What fetch throws for a lost connection.
      if (!(error instanceof TypeError) || lost === 60) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

function pick(options: object, names: readonly string[]): Record<string, string> {
  const given = Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
