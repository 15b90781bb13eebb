# Written by `npm run client` from /openapi.json; change the service instead.
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

Json = Any


class RunRequestAgentLimits(TypedDict, total=False):
    max_steps: int  # Step limit stated to the agent.
    max_steps_absolute: int  # Number of steps after which it is stopped.
    max_tokens: int  # Maximum tokens of prompt and answer together.
    max_answer_tokens: int  # Maximum tokens per answer.
    action_s: float  # Time limit of one command, in seconds.
    trajectory_s: float  # Time limit of the whole rollout, in seconds.
    condense_at: int  # Prompt length, in tokens, above which old observations are dropped.


class RunRequestAgent(TypedDict, total=False):
    model: Optional[str]  # Model; null = the service’s setting.
    temperature: Optional[float]  # Sampling temperature; null = 1.
    top_p: Optional[float]  # Nucleus sampling; null = the model server’s default.
    format: Optional[Literal["xml", "tools", "bash"]]  # Format of the model’s tool calls; null = the service’s setting.
    prompt: Optional[Literal["bestk", "r2e"]]  # Task prompt: bestk’s, or that of R2E-Gym’s scaffold; null = chosen by model.
    instructions: Optional[str]  # Appended to its task; null = nothing.
    command: Optional[str]  # Shell command of a program in the image to use as the agent; null = bestk’s own agent.
    trajectory: Optional[str]  # File to which that program writes its trajectory; null = its model calls are recorded instead.
    limits: Optional['RunRequestAgentLimits']  # Limits that replace the service’s.


class _RunRequestAgents(TypedDict):
    name: str  # Prefix of the ids of its rollouts.


class RunRequestAgents(_RunRequestAgents, total=False):
    share: float  # Its share of the rollouts, relative to the others’ (1).
    model: Optional[str]  # Model; null = the service’s setting.
    temperature: Optional[float]  # Sampling temperature; null = 1.
    top_p: Optional[float]  # Nucleus sampling; null = the model server’s default.
    format: Optional[Literal["xml", "tools", "bash"]]  # Format of the model’s tool calls; null = the service’s setting.
    prompt: Optional[Literal["bestk", "r2e"]]  # Task prompt: bestk’s, or that of R2E-Gym’s scaffold; null = chosen by model.
    instructions: Optional[str]  # Appended to its task; null = nothing.
    command: Optional[str]  # Shell command of a program in the image to use as the agent; null = bestk’s own agent.
    trajectory: Optional[str]  # File to which that program writes its trajectory; null = its model calls are recorded instead.
    limits: Optional['RunRequestAgentLimits']  # Limits that replace the service’s.


class RunRequestCandidatesTrajectorySteps(TypedDict, total=False):
    thought: str  # What the agent wrote before it acted.
    action: str  # The command or tool call.
    observation: str  # The output of the action.


class RunRequestCandidatesTrajectory(TypedDict, total=False):
    steps: List['RunRequestCandidatesTrajectorySteps']  # In order.
    exit_reason: Optional[str]  # How the trajectory ended, e.g. `submitted`; null = unknown.


class _RunRequestCandidates(TypedDict):
    candidate_id: str  # Unique within the run.
    patch: str  # Unified diff against the base commit; empty = the agent changed nothing.


class RunRequestCandidates(_RunRequestCandidates, total=False):
    instance_id: str  # Must equal the issue’s, if given.
    trajectory: Optional['RunRequestCandidatesTrajectory']  # The steps of the agent; judges may read them.


class _RunRequestTests(TypedDict):
    test_id: str  # Unique within the run.
    path: str  # Path of the test, relative to the working directory.
    content: str  # The file’s text.


class RunRequestTests(_RunRequestTests, total=False):
    instance_id: str  # Must equal the issue’s, if given.
    files: Dict[str, str]  # Further files that it needs, by path in the repository.
    command: str  # Shell command that runs it, from the repository’s root; absent = the default for its language.
    report: Literal["junit", "tap", "go-test-json", "cargo", "rspec-json", "exit-code"]  # Format of the command’s report; absent = the default for its language.
    expect: List[Any]  # Expected value of each call of `observe`, in order; absent = the exit code decides.
    observes: bool  # True if the test only calls `observe` and judges nothing; candidates with equal observations form one class.
    author: Optional[str]  # Author; several tests by one author count less than tests by different authors.
    kind: Literal["fail-to-pass", "pass-to-pass"]  # `pass-to-pass` = passes on base and must still pass; absent = reports "not solved" on base.
    angle: str  # The focus its author was given; stored unchanged.


class _RunRequest(TypedDict):
    issue: 'Issue'  # The problem to solve, and the environment with its repository.


class RunRequest(_RunRequest, total=False):
    preset: Optional[Union[str, 'Preset']]  # Selection rule: a shipped name or your own as {name, stages}; null = the default.
    stages: Optional[List['Stage']]  # Stages of your own rule, in order.
    combiner: Optional['Combiner']  # Output of `curves --save-combiner`; for rules that use `learned`.
    calibration: Optional['Calibration']  # Output of `bestk calibrate`: the likelihoods behind P(right); null = the shipped ones.
    min_confidence: Optional[float]  # Return no patch if its confidence is below this, 0 to 1; null = always return one.
    name: Optional[str]  # Shown in lists and searchable; no effect on results.
    tags: Optional[List[str]]  # For finding runs; no effect on results.
    agent: Optional['RunRequestAgent']  # Replaces settings of the sampling agent for this run.
    agents: Optional[List['RunRequestAgents']]  # Several agents that share the trajectories; null = one agent.
    k: Optional[int]  # Trajectories to sample (8). With candidates it must equal their number.
    candidates: Optional[List['RunRequestCandidates']]  # Patches to choose from; absent = sample k trajectories.
    k0: Optional[int]  # Sample this many first, then more until enough agree or k is reached; null = all k at once.
    refine: int  # Number of further trajectories (0), sampled after the first are verified, by agents that see the best attempts; not with candidates.
    branch: int  # Number of further trajectories (0) after that, each continuing from a step of the most promising one; not with candidates.
    refine_from: float  # Minimum P(right) of the best first trajectory for `refine` and `branch` (0.3).
    seed: int  # A different seed samples different trajectories.
    tests: Optional[List['RunRequestTests']]  # Saved generated tests to use; null = a model writes new ones.
    verifiers: Optional[List['VerifierName']]  # Verifiers to run, by name; null = the service’s default.
    budget: Optional['Budget']  # Limits of the run; null = none.


class Issue(TypedDict):
    instance_id: str  # Identifies the issue, e.g. `owner__repo-123`.
    problem_statement: str  # The text of the issue, as shown to models.
    environment: 'Environment'  # Image and commands used to verify patches.


class _Environment(TypedDict):
    image: str  # Docker image with the repository.


class Environment(_Environment, total=False):
    workdir: str  # The repository’s folder in the image (/testbed).
    base_commit: Optional[str]  # Commit to check out first; null = the image’s HEAD.
    regression_command: Optional[str]  # Shell command of the existing tests; `{files}` and `{modules}` are replaced. Null = tests near the patches.
    regression_report: Optional[str]  # JUnit XML file written by the command, relative to the working directory.
    regression_files: List[str]  # Test files passed to the command.
    test_timeout_s: float  # CPU seconds of each process of a test or of the regression command (300); the wall-clock limit is four times that.
    setup_patch: Optional[str]  # Git patch that turns the image’s repository into the base.
    hidden_paths: List[str]  # Hidden tests and answers in the image; removed before anything runs.


class Budget(TypedDict, total=False):
    tokens: Optional[int]  # Input and output tokens together; null = no limit.
    usd: Optional[float]  # US dollars; null = no limit.
    seconds: Optional[float]  # Wall seconds of one execution; null = no limit.


class RescoreRun(TypedDict, total=False):
    preset: Optional[Union[str, 'Preset']]  # Selection rule: a shipped name or your own as {name, stages}; null = the default.
    stages: Optional[List['Stage']]  # Stages of your own rule, in order.
    combiner: Optional['Combiner']  # Output of `curves --save-combiner`; for rules that use `learned`.
    calibration: Optional['Calibration']  # Output of `bestk calibrate`: the likelihoods behind P(right); null = the shipped ones.
    min_confidence: Optional[float]  # Return no patch if its confidence is below this, 0 to 1; null = always return one.
    verifiers: List['VerifierName']  # Verifiers to run instead; absent = the same as before.


class Preset(TypedDict):
    name: str  # Name of the rule in results.
    stages: List['Stage']  # Stages of your own rule, in order.


class Stage1(TypedDict):
    stage: Literal["keep"]  # Kind of stage.
    where: Literal["has-source-change", "applies", "finished"]  # Condition for keeping a candidate.


class _Stage2(TypedDict):
    stage: Literal["above"]  # Kind of stage.
    by: 'StageMeasure'  # Measure to use.
    than: float  # Keep candidates above this value.


class Stage2(_Stage2, total=False):
    otherwise: Literal["keep-all", "none"]  # If none is above: keep all, or return no patch.


class Stage3(TypedDict):
    stage: Literal["top"]  # Kind of stage.
    by: 'StageMeasure'  # Measure to use.
    n: Union[Literal["deepswe", "half"], int]  # Number of patches to keep.


class _Stage4(TypedDict):
    stage: Literal["max"]  # Kind of stage.
    by: 'StageMeasure'  # Measure to use.


class Stage4(_Stage4, total=False):
    within: float  # Values this close to the best are tied with it (0).


class _Stage5(TypedDict):
    stage: Literal["min"]  # Kind of stage.
    by: 'StageMeasure'  # Measure to use.


class Stage5(_Stage5, total=False):
    within: float  # Values this close to the best are tied with it (0).


class Stage6Of(TypedDict):
    by: str  # Measure of the term, divided by its maximum.
    weight: float  # Weight of the term.


class _Stage6(TypedDict):
    stage: Literal["weighted"]  # Kind of stage.
    of: List['Stage6Of']  # Weighted terms to add up.


class Stage6(_Stage6, total=False):
    within: float  # Values this close to the best are tied with it (0).


class _Stage7(TypedDict):
    stage: Literal["random"]  # Kind of stage.


class Stage7(_Stage7, total=False):
    seed: int  # Seed of the random pick.


class Stage8(TypedDict):
    stage: Literal["lowest-id"]  # Kind of stage.


class Combiner(TypedDict):
    kind: Literal["bestk-combiner"]  # Kind of document.
    version: Literal[1]  # Version of its format.
    features: List[str]  # Names of the features, in order.
    means: List[float]  # Mean of each feature; used for unknown values.
    scales: List[float]  # Scale of each feature.
    weights: List[float]  # Weight of each feature.
    intercept: float  # Added to the weighted features.
    any: Dict[str, Any]  # Maps the score to P(right) of any candidate.
    returned: Dict[str, Any]  # Maps the score to P(right) of the returned candidate.
    abstain_below: Optional[float]  # No patch is returned unless its confidence is above this; null = always return one.
    data_card: 'DataCard'  # Training data, and results on held-out repositories.


class CalibrationJudges(TypedDict):
    intercept: float  # Intercept of the log likelihood ratio.
    slope: float  # Slope of the log likelihood ratio over logit p.


class CalibrationExistingTests(TypedDict):
    """Rates at which patches pass the existing tests that pass on base."""
    right: List[Any]  # Beta distribution of the rate for right patches.
    wrong: List[Any]  # Beta distribution of the rate for wrong patches.


class CalibrationGeneratedTests(TypedDict):
    right: List[Any]  # Beta distribution of the rate for right patches.
    wrong: List[Any]  # Beta distribution of the rate for wrong patches.


class CalibrationSubmitted(TypedDict):
    """Rates at which the agent submitted the patch itself."""
    right: List[Any]  # Beta distribution of the rate for right patches.
    wrong: List[Any]  # Beta distribution of the rate for wrong patches.


class Calibration(TypedDict):
    kind: Literal["bestk-calibration"]  # Kind of document.
    version: Literal[1]  # Version of its format.
    share: List[Any]  # Beta distribution of the share of right patches in an issue.
    judges: Dict[str, 'CalibrationJudges']  # Likelihoods by measure of a judge.
    existing_tests: 'CalibrationExistingTests'  # Rates at which patches pass the existing tests that pass on base.
    generated_tests: Dict[str, 'CalibrationGeneratedTests']  # Rates at which patches pass a telling test, by the test’s author; `*` = all others.
    test_correlation: float  # Correlation of tests by one author on one patch, 0 to 1.
    submitted: 'CalibrationSubmitted'  # Rates at which the agent submitted the patch itself.
    returned: Dict[str, Any]  # Maps P(right) of the returned patch to the observed share of right ones.
    labels: Dict[str, List[Any]]  # Number of labelled patches behind each likelihood, right and wrong.
    models: List[str]  # Models that judged or wrote tests in the data.
    data_card: 'DataCard'  # Training data, and results on held-out repositories.


class DataCard(TypedDict):
    issues: int  # Number of issues in the training data.
    candidates: int  # Number of candidates in the training data.
    resolved: int  # Number of these that are right.
    repos: List[str]  # Names of the repositories.
    folds: int  # Number of cross-validation folds.
    auc: Optional[float]  # AUC on held-out repositories.
    brier: Optional[float]  # Brier score on held-out repositories.
    ece: Optional[float]  # Calibration error on held-out repositories.
    picked_right: float  # Share of issues whose held-out pick is right.
    mean_confidence: float  # Mean confidence of these picks.


class RewardRequest1(TypedDict):
    response: str  # The model’s response; its last diff is the patch.
    label: Union[str, Dict[str, Any]]  # An issue, or a run request without candidates, as an object or as JSON text.


class _RewardRequest2(TypedDict):
    query: List[str]  # Each is a prompt followed by its response.
    labels: List[Union[str, Dict[str, Any]]]  # The task of each query, in the order of `query`.


class RewardRequest2(_RewardRequest2, total=False):
    prompts: Optional[List[str]]  # The prompt that each query must begin with; a patch in it is ignored.


class SeedSessionRequest(TypedDict, total=False):
    pass


class VerifyRequestResponsesCreateParams(TypedDict, total=False):
    """As sent by NeMo Gym; returned unchanged."""
    pass


class VerifyRequestResponseOutput(TypedDict, total=False):
    type: Optional[str]  # Type of the item; only a `message` is read, which is also the default.
    role: Optional[str]  # Role of the message; only those of the `assistant` are read, which is also the default.
    content: Any  # Text of the item, or a list of parts with text.


class VerifyRequestResponse(TypedDict):
    """The model’s response."""
    output: List['VerifyRequestResponseOutput']  # Items of the response; the last diff in the text of its messages is the patch.


class VerifyRequest(TypedDict):
    responses_create_params: 'VerifyRequestResponsesCreateParams'  # As sent by NeMo Gym; returned unchanged.
    response: 'VerifyRequestResponse'  # The model’s response.
    verifier_metadata: Union[str, Dict[str, Any]]  # The task, from the row of the data set.


class CompareRequestConversationHistory(TypedDict, total=False):
    pass


class CompareRequestResponseObjs(TypedDict):
    output: List['VerifyRequestResponseOutput']  # Items of the response; the last diff in the text of its messages is the patch.


class CompareRequest(TypedDict):
    conversation_history: List['CompareRequestConversationHistory']  # As sent by NeMo Gym; ignored.
    response_objs: List['CompareRequestResponseObjs']  # The responses to compare.
    principle: Union[str, Dict[str, Any]]  # The task; the only free field that NeMo Gym sends.


class RunAccepted(TypedDict):
    id: str
    status: 'RunStatus'


class EstimateParts(TypedDict):
    at_least: 'Cost'
    likely: 'Cost'
    at_most: 'Cost'
    part: Literal["rollouts", "progress", "summaries", "judges", "tests"]


class Estimate(TypedDict):
    at_least: 'Cost'
    likely: 'Cost'
    at_most: 'Cost'
    parts: List['EstimateParts']  # Estimates by part; a budget only limits their sum.


class Cost(TypedDict):
    model_calls: int
    tokens: int
    usd: Optional[float]


class RunPage(TypedDict):
    runs: List['RunSummary']
    next_cursor: Optional[str]  # `cursor` of the next page; null on the last page.


class RunSummaryFailure(TypedDict):
    code: str
    message: str
    next: str


class RunSummary(TypedDict):
    id: str
    status: 'RunStatus'
    created_at: str
    updated_at: str
    failure: Optional['RunSummaryFailure']
    name: Optional[str]
    tags: List[str]
    instance_id: Optional[str]
    k: Optional[int]
    preset: Optional[str]
    candidate_id: Optional[str]
    basis: Optional[str]
    deciding_stage: Optional[str]
    confidence: Optional[float]
    tokens: Optional[float]
    cost_usd: Optional[float]
    seconds: Optional[float]  # Wall time of its stages, without queueing.
    benchmark: Optional[str]
    arm: Optional[str]


class RunProgressWorkers(TypedDict):
    worker: str  # Host and process id, as in the run’s events.
    rollout: int
    verdict: int  # Answers from judges.
    call: int  # Answers from other models.
    cells: int
    seconds: float  # Sum over its parts, which overlap.


class RunProgress(TypedDict):
    events: int
    by_type: Dict[str, int]
    workers: List['RunProgressWorkers']  # The work of each worker; empty if one process did everything.
    last: Optional['RunEvent']


class Run(TypedDict):
    id: str
    status: 'RunStatus'
    created_at: str
    updated_at: str
    failure: Optional['RunSummaryFailure']
    progress: 'RunProgress'
    selection: Optional['Selection']
    statistics: Optional['RunStatistics']
    usage: Optional['Usage']


class RunEvent(TypedDict):
    seq: int
    at: str
    type: str
    data: Any


class SelectionRanking(TypedDict):
    candidate_id: str
    rank: int
    scores: Dict[str, Optional[float]]
    p_right: Optional[float]
    log_odds: Dict[str, float]
    flags: List[str]


class SelectionStages(TypedDict):
    name: str
    kept: List[str]
    dropped: List[str]
    skipped: Optional[str]


class Selection(TypedDict):
    instance_id: str
    candidate_id: Optional[str]
    basis: Literal["hybrid", "fallback", "none"]
    deciding_stage: Optional[str]
    confidence: Optional[float]
    why_none: Optional[str]
    notes: List[str]
    ranking: List['SelectionRanking']
    stages: List['SelectionStages']


class RunStatisticsAgents(TypedDict):
    agent: str
    k: int
    distinct_patches: int
    expected_pass_at_1: Optional[float]
    expected_pass_at_k: Optional[float]


class RunStatistics(TypedDict):
    k: int
    distinct_patches: int
    verified: int
    tests_given: int
    tests_admitted: int
    expected_pass_at_1: Optional[float]
    expected_pass_at_k: Optional[float]
    agents: List['RunStatisticsAgents']


class UsageModels(TypedDict):
    purpose: str
    model: str
    calls: int
    stored_answers: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    seconds: float


class Usage(TypedDict):
    models: List['UsageModels']
    tokens: Optional[int]
    cost_usd: Optional[float]
    stages: Dict[str, float]


class CandidateTrajectorySteps(TypedDict):
    thought: str
    action: str
    observation: str


class CandidateTrajectory(TypedDict):
    steps: List['CandidateTrajectorySteps']
    exit_reason: Optional[str]


class Candidate(TypedDict):
    candidate_id: str
    patch: str
    trajectory: Optional['CandidateTrajectory']
    verdicts: List['Verdict']  # Empty until the run is done.
    cells: List['Cell']  # The candidate’s row of the matrix; empty until the run is done.


class Verdict1(TypedDict):
    kind: Literal["scored"]
    candidate_id: str
    measure: str
    score: float
    out_of: float
    evidence: Dict[str, Any]


class Verdict2(TypedDict):
    kind: Literal["abstained"]
    candidate_id: str
    measure: str
    reason: Literal["no-source-change", "refused-patch", "does-not-apply", "no-tests", "unreadable-answer", "low-mass", "model-unavailable", "budget-spent", "prompt-too-long", "infrastructure", "forged", "control-solved"]
    detail: str
    evidence: Dict[str, Any]


class Measure(TypedDict):
    name: str
    kind: Literal["judge", "existing-tests", "generated-tests", "fact"]
    unit: Literal["probability", "count", "score"]
    better: Literal["higher", "lower"]
    title: str
    meaning: str


class _CellObserved(TypedDict):
    sha256: str
    preview: str


class CellObserved(_CellObserved, total=False):
    group: int


class _Cell(TypedDict):
    instance_id: str
    candidate_id: Optional[str]  # null = base, the repository without any patch
    same_as: Optional[str]
    suite: Literal["reproduction", "regression"]
    test_id: str
    outcome: Literal["solved", "not-solved", "observed", "crashed", "timed-out", "out-of-memory", "out-of-disk", "forged"]
    exit_code: Optional[int]
    duration_ms: float
    passed: Optional[int]
    total: Optional[int]
    lost: List[str]
    log_tail: str


class Cell(_Cell, total=False):
    kind: Literal["resolved", "wrong-answer", "set-up-error", "missing-name", "time-out", "flaky", "passes-on-base", "out-of-memory", "out-of-disk", "forged"]
    trust: Literal["proof", "command"]
    observed: 'CellObserved'


class EvidenceRun(TypedDict):
    id: str
    status: 'RunStatus'
    created_at: str
    updated_at: str
    failure: Optional['RunSummaryFailure']


class EvidenceRequestIssueEnvironment(TypedDict):
    image: str
    workdir: str
    base_commit: Optional[str]
    regression_command: Optional[str]
    regression_report: Optional[str]
    regression_files: List[str]
    test_timeout_s: float
    setup_patch: Optional[str]
    hidden_paths: List[str]


class EvidenceRequestIssue(TypedDict):
    instance_id: str
    problem_statement: str
    environment: 'EvidenceRequestIssueEnvironment'


class EvidenceRequest(TypedDict):
    issue: 'EvidenceRequestIssue'
    k: int
    preset: str
    verifiers: Optional[List[str]]
    seed: int
    given: bool


class EvidenceSelection(TypedDict):
    instance_id: str
    candidate_id: Optional[str]
    basis: Literal["hybrid", "fallback", "none"]
    deciding_stage: Optional[str]
    confidence: Optional[float]
    why_none: Optional[str]
    notes: List[str]
    stages: List['SelectionStages']


class EvidenceProvenanceAgent(TypedDict):
    name: Optional[str]
    model: str
    endpoint: str
    format: str
    temperature: float
    top_p: Optional[float]
    limits: Dict[str, Optional[float]]
    command: Optional[str]
    prompt: Optional[str]


class EvidenceProvenance(TypedDict):
    bestk_version: str
    image_id: Optional[str]
    verifier_model: Optional[str]
    test_model: Optional[str]
    agent: Optional['EvidenceProvenanceAgent']
    agents: List['EvidenceProvenanceAgent']
    prompt_hashes: Dict[str, str]
    preset: str
    rule_hashes: Dict[str, str]
    verifiers: List[str]
    sandbox_limits: Dict[str, float]


class EvidenceSamplingFailed(TypedDict):
    candidate_id: str
    code: str
    message: str


class EvidenceSamplingRefined(TypedDict):
    asked: int
    sampled: int
    told_of: List[str]
    detail: str


class EvidenceSampling(TypedDict):
    asked: int
    sampled: int
    stopped: Literal["all", "agreement", "budget"]
    detail: str
    failed: List['EvidenceSamplingFailed']
    refined: Optional['EvidenceSamplingRefined']
    branched: Optional[Dict[str, Any]]


class EvidenceCandidatesPatchFiles(TypedDict):
    path: str
    role: str
    added: Optional[int]
    removed: Optional[int]


class EvidenceCandidatesPatch(TypedDict):
    characters: int
    sha256: Optional[str]
    problem: Optional[str]
    files: List['EvidenceCandidatesPatchFiles']


class EvidenceCandidates(TypedDict):
    candidate_id: str
    rank: Optional[int]
    scores: Dict[str, Optional[float]]
    p_right: Optional[float]
    log_odds: Dict[str, float]
    flags: List[str]
    model: Optional[str]
    exit_reason: Optional[str]
    steps: int
    tokens: Optional[int]
    seconds: Optional[float]
    patch: 'EvidenceCandidatesPatch'
    verdicts: List['Verdict']


class _EvidenceTests(TypedDict):
    test_id: str
    path: str
    author: Optional[str]


class EvidenceTests(_EvidenceTests, total=False):
    files: Dict[str, str]
    command: str
    report: Literal["junit", "tap", "go-test-json", "cargo", "rspec-json", "exit-code"]
    observes: bool
    kind: Literal["fail-to-pass", "pass-to-pass"]
    angle: str


class _EvidenceAdmissions(TypedDict):
    test_id: str
    admitted: bool
    reason: Optional[str]


class EvidenceAdmissions(_EvidenceAdmissions, total=False):
    kind: Literal["resolved", "wrong-answer", "set-up-error", "missing-name", "time-out", "flaky", "passes-on-base", "out-of-memory", "out-of-disk", "forged"]


class EvidenceTestQuality(TypedDict):
    test_id: str
    solved_by: int
    of: int
    information: float
    agreement: Optional[float]
    toxicity: float


class _EvidenceCells(TypedDict):
    candidate_id: Optional[str]  # null = base, the repository without any patch
    same_as: Optional[str]
    suite: Literal["reproduction", "regression"]
    test_id: str
    outcome: Literal["solved", "not-solved", "observed", "crashed", "timed-out", "out-of-memory", "out-of-disk", "forged"]
    exit_code: Optional[int]
    duration_ms: float
    passed: Optional[int]
    total: Optional[int]


class EvidenceCells(_EvidenceCells, total=False):
    kind: Literal["resolved", "wrong-answer", "set-up-error", "missing-name", "time-out", "flaky", "passes-on-base", "out-of-memory", "out-of-disk", "forged"]
    trust: Literal["proof", "command"]
    observed: 'CellObserved'


class EvidenceBehavioursTold(TypedDict):
    test_id: str
    value: str
    as_base: bool


class EvidenceBehaviours(TypedDict):
    solved: List[str]
    candidate_ids: List[str]
    told: List['EvidenceBehavioursTold']


class Evidence(TypedDict):
    run: 'EvidenceRun'
    request: 'EvidenceRequest'
    selection: Optional['EvidenceSelection']
    statistics: Optional['RunStatistics']
    usage: Optional['Usage']
    provenance: Optional['EvidenceProvenance']
    sampling: Optional['EvidenceSampling']
    measures: List['Measure']
    candidates: List['EvidenceCandidates']
    tests: List['EvidenceTests']
    admissions: List['EvidenceAdmissions']
    test_quality: List['EvidenceTestQuality']
    cells: List['EvidenceCells']
    behaviours: List['EvidenceBehaviours']


class Cells(TypedDict):
    cells: List['Cell']


class _GeneratedTest(TypedDict):
    instance_id: str
    test_id: str
    path: str
    content: str
    author: Optional[str]


class GeneratedTest(_GeneratedTest, total=False):
    files: Dict[str, str]
    command: str
    report: Literal["junit", "tap", "go-test-json", "cargo", "rspec-json", "exit-code"]
    expect: List[Any]
    observes: bool
    kind: Literal["fail-to-pass", "pass-to-pass"]
    angle: str


class JudgePromptMessages(TypedDict):
    role: str
    content: str


class JudgePrompt(TypedDict):
    messages: List['JudgePromptMessages']
    question: int
    questions: int
    compared_with: Optional[str]
    same_template: Optional[bool]
    left_out: List[str]


class Choices(TypedDict):
    presets: List[str]
    verifiers: List[str]


class ReportMade(TypedDict):
    id: str
    title: str
    runs: int
    labelled: int
    unknown_labels: int  # Candidates of these issues without a known label, excluded from every rate.
    notes: List[str]  # What to know about the labels sent.


class ReportsReports(TypedDict):
    id: str
    title: str
    created_at: str


class Reports(TypedDict):
    reports: List['ReportsReports']
    next_cursor: Optional[str]


class Report(TypedDict):
    kind: Literal["bestk-report"]
    schema: Literal[1]
    title: str


class RescoreAcceptedRuns(TypedDict):
    instance_id: str
    id: str


class RescoreAcceptedSkipped(TypedDict):
    instance_id: str
    reason: str


class RescoreAcceptedRejectedFirst(TypedDict):
    line: Optional[int]
    reason: str


class RescoreAcceptedRejected(TypedDict):
    """Unreadable records; the first ones with line and reason."""
    count: int
    first: List['RescoreAcceptedRejectedFirst']


class RescoreAccepted(TypedDict):
    candidates: int
    runs: List['RescoreAcceptedRuns']
    skipped: List['RescoreAcceptedSkipped']
    rejected: 'RescoreAcceptedRejected'  # Unreadable records; the first ones with line and reason.


class Outcome(TypedDict):
    candidate_id: str
    log_odds: Dict[str, float]
    flags: List[str]
    run_id: str
    instance_id: str
    reward: float  # P(the patch is right).
    basis: Literal["hybrid", "fallback", "none"]  # hybrid: verdicts on this patch were used; fallback: only the prior and votes; none: the patch cannot be used, so 0 is certain.


class Rewards(TypedDict):
    rewards: List[float]
    scores: List[float]  # The rewards again, under the name that OpenRLHF expects.
    outcomes: List['Outcome']


class VerifyAnswerResponseOutput(TypedDict, total=False):
    type: Optional[str]
    role: Optional[str]
    content: Any


class VerifyAnswerResponse(TypedDict):
    output: List['VerifyAnswerResponseOutput']


class VerifyAnswer(TypedDict):
    responses_create_params: 'CompareRequestConversationHistory'
    response: 'VerifyAnswerResponse'
    verifier_metadata: Union[str, Dict[str, Any]]  # The task, from the row of the data set.
    reward: float  # P(the patch is right).
    mask_sample: Literal[False]
    outcome: 'Outcome'


class CompareAnswerComparisonResults(TypedDict):
    response_i: int
    response_j: int
    score_1: float  # P(the patch is right).
    score_2: float  # P(the patch is right).


class CompareAnswer(TypedDict):
    rewards: List[float]
    comparison_results: List['CompareAnswerComparisonResults']  # Each response compared with the next one, by index.
    metrics: Dict[str, float]
    outcomes: List['Outcome']


class BenchmarkAcceptedRejected(TypedDict):
    """Rejected rows; the first ones with line and reason."""
    count: int
    first: List[str]


class BenchmarkAccepted(TypedDict):
    id: str
    status: Literal["accepting", "running", "paused", "done", "failed", "cancelled"]
    issues: int
    runs: int
    skipped: int  # Instances that could not be started, by arm.
    rejected: 'BenchmarkAcceptedRejected'  # Rejected rows; the first ones with line and reason.


class BenchmarkMoved(TypedDict):
    id: str
    status: Literal["accepting", "running", "paused", "done", "failed", "cancelled"]


class Benchmarks(TypedDict):
    benchmarks: List['BenchmarkSummary']
    next_cursor: Optional[str]


class BenchmarkSummary(TypedDict):
    id: str
    title: str
    status: Literal["accepting", "running", "paused", "done", "failed", "cancelled"]
    note: Optional[str]
    created_at: str
    updated_at: str


class BenchmarkArms(TypedDict):
    arm: str
    waiting: int  # Not started yet.
    queued: int
    running: int
    selected: int
    none: int  # Done, without a returned patch.
    failed: int
    cancelled: int
    skipped: int  # Instances that could not be started.
    graded: int
    right: int
    wrong: int
    unknown: int  # Graded runs of which it is unknown whether the selected patch is right.
    tokens: float
    cost_usd: Optional[float]


class BenchmarkEtaS(TypedDict):
    low: float
    likely: float
    high: float


class Benchmark(TypedDict):
    id: str
    title: str
    status: Literal["accepting", "running", "paused", "done", "failed", "cancelled"]
    note: Optional[str]
    created_at: str
    updated_at: str
    issues: int
    arms: List['BenchmarkArms']
    eta_s: Optional['BenchmarkEtaS']  # Estimated seconds until the last run ends, from the pace of recent ones; null = unknown.


class BenchmarkRunsRunsFailure(TypedDict):
    code: str
    message: str


class BenchmarkRunsRuns(TypedDict):
    id: str
    arm: str
    instance_id: str
    status: 'RunStatus'
    handed: bool
    failure: Optional['BenchmarkRunsRunsFailure']
    candidate_id: Optional[str]
    deciding_stage: Optional[str]
    confidence: Optional[float]
    k: Optional[int]
    tokens: Optional[float]
    cost_usd: Optional[float]
    seconds: Optional[float]  # Wall time of its stages, without queueing.
    right: Optional[bool]
    graded: Optional[int]
    right_candidates: Optional[int]
    ungraded: Optional[int]


class BenchmarkRuns(TypedDict):
    runs: List['BenchmarkRunsRuns']
    next_cursor: Optional[str]


class BenchmarkCurvesArmsSelected(TypedDict):
    value: float
    low: float
    high: float
    issues: int


class BenchmarkCurvesArmsPointsPassAtK(TypedDict):
    """P(at least one of k random candidates is right)."""
    value: float
    low: float
    high: float


class BenchmarkCurvesArmsPointsBestAtK(TypedDict):
    value: float
    low: float
    high: float


class BenchmarkCurvesArmsPoints(TypedDict):
    k: int
    pass_at_k: 'BenchmarkCurvesArmsPointsPassAtK'  # P(at least one of k random candidates is right).
    best_at_k: Optional['BenchmarkCurvesArmsPointsBestAtK']  # P(the arm’s rule returns a right one of k random candidates), ties averaged; null = not computed.


class BenchmarkCurvesArms(TypedDict):
    arm: str
    issues: int  # Number of issues with a graded candidate.
    selected: Optional['BenchmarkCurvesArmsSelected']  # Share of right selections over the issues with a known outcome; null = none is known.
    unknown: int  # Number of graded issues with an unknown outcome, which are excluded.
    points: List['BenchmarkCurvesArmsPoints']


class BenchmarkCurves(TypedDict):
    arms: List['BenchmarkCurvesArms']


class BenchmarkPlotsPlots(TypedDict):
    name: str
    title: str
    note: str  # How to read the plot.
    svg: str  # The drawing: shapes and text, no script, no style sheet, nothing to load.
    columns: List[str]  # Columns of the underlying numbers.
    rows: List[List[Optional[Union[str, float]]]]  # One cell per column.


class BenchmarkPlots(TypedDict):
    plots: List['BenchmarkPlotsPlots']


class RunLabelsLabels(TypedDict):
    candidate_id: str
    right: Optional[bool]  # Null = unknown, for the reason stated.
    reason: str
    failed_tests: List[str]  # Required tests that did not pass (the first ones).


class RunLabels(TypedDict):
    graded: bool  # False = not graded (yet); there are no labels.
    labels: List['RunLabelsLabels']


class BenchmarkReport(TypedDict):
    kind: Literal["bestk-bench-report"]
    schema: Literal[1]
    title: str


class AuditEntries(TypedDict):
    action: str
    actor: Optional[str]
    address: str
    run_id: Optional[str]
    outcome: str
    times: int
    id: str
    at: str


class Audit(TypedDict):
    entries: List['AuditEntries']
    next_cursor: Optional[str]


class ProblemErrors(TypedDict):
    path: str
    message: str


class _Problem(TypedDict):
    type: Literal["about:blank"]  # Constant; `code` identifies the problem.
    title: str
    status: int
    detail: str
    code: str


class Problem(_Problem, total=False):
    next: str  # What the client can do about it.
    errors: List['ProblemErrors']  # The problems and their paths in the request, such as `candidates.0.patch`.


class Health(TypedDict):
    status: str


class ReadinessPartsEngine1(TypedDict):
    ok: Literal[True]


class ReadinessPartsEngine2(TypedDict):
    ok: Literal[False]
    code: str
    next: str


class ReadinessParts(TypedDict):
    engine: Union['ReadinessPartsEngine1', 'ReadinessPartsEngine2']
    models: Union['ReadinessPartsEngine1', 'ReadinessPartsEngine2']
    machine: Union['ReadinessPartsEngine1', 'ReadinessPartsEngine2']  # not ok: disk or memory is low and new work waits


class ReadinessWork(TypedDict):
    state: Literal["idle", "working", "saturated", "stalled"]  # saturated: all slots are busy and runs wait; stalled: runs wait and no process has taken one for a minute
    queued: int
    running: int
    oldest_queued_s: int


class Readiness(TypedDict):
    status: Literal["ready", "degraded"]  # degraded: runs that need the missing part fail or wait; everything else works
    parts: 'ReadinessParts'
    work: 'ReadinessWork'


VerifierName = str


Stage = Union['Stage1', 'Stage2', 'Stage3', 'Stage4', 'Stage5', 'Stage6', 'Stage7', 'Stage8']


StageMeasure = Union[Literal["patch_size", "steps", "cluster_size", "syntax_cluster_size", "behaviour_cluster_size", "dual_agreement", "copeland", "posterior", "p_right", "learned", "confidence"], str]


RewardRequest = Union['RewardRequest1', 'RewardRequest2', 'RunRequest']


RunStatus = Literal["queued", "running", "done", "failed", "cancelled"]


Verdict = Union['Verdict1', 'Verdict2']


Steps = Dict[str, Any]


RewardAnswer = Union[float, 'Rewards']
