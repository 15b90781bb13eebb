# Written by `npm run client` from /openapi.json; change the service instead.
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

Json = Any


class RunRequestAgentLimits(TypedDict, total=False):
    max_steps: int  # Steps that the agent is told of.
    max_steps_absolute: int  # Steps after which it is stopped.
    max_tokens: int  # Tokens of prompt and answer together after which it ends.
    max_answer_tokens: int  # Longest answer, in tokens.
    action_s: float  # Seconds of one command.
    trajectory_s: float  # Seconds of the whole rollout.
    condense_at: int  # Prompt length from which old observations are dropped, in tokens.


class RunRequestAgent(TypedDict, total=False):
    model: Optional[str]  # Model that samples; null = as the service is set.
    temperature: Optional[float]  # Its temperature; null = 1.
    top_p: Optional[float]  # Nucleus sampling; null = as the model’s server is set.
    format: Optional[Literal["xml", "tools", "bash"]]  # How the model writes its calls; null = as the service is set.
    prompt: Optional[Literal["bestk", "r2e"]]  # Words of its task: ours, or those of R2E-Gym’s scaffold; null = by its model.
    instructions: Optional[str]  # Said to it behind its task; null = nothing.
    command: Optional[str]  # A program in the image that is the agent, as a shell command; null = the agent of bestk.
    trajectory: Optional[str]  # Where that program writes its trajectory; null = its model calls stand for it.
    limits: Optional['RunRequestAgentLimits']  # Limits that it has instead of the service’s.


class RunRequestAgentsLimits(TypedDict, total=False):
    max_steps: int  # Steps that the agent is told of.
    max_steps_absolute: int  # Steps after which it is stopped.
    max_tokens: int  # Tokens of prompt and answer together after which it ends.
    max_answer_tokens: int  # Longest answer, in tokens.
    action_s: float  # Seconds of one command.
    trajectory_s: float  # Seconds of the whole rollout.
    condense_at: int  # Prompt length from which old observations are dropped, in tokens.


class _RunRequestAgents(TypedDict):
    name: str  # Begins the ids of its rollouts.


class RunRequestAgents(_RunRequestAgents, total=False):
    share: float  # Its part of the rollouts, relative to the others’ (1).
    model: Optional[str]  # Model that samples; null = as the service is set.
    temperature: Optional[float]  # Its temperature; null = 1.
    top_p: Optional[float]  # Nucleus sampling; null = as the model’s server is set.
    format: Optional[Literal["xml", "tools", "bash"]]  # How the model writes its calls; null = as the service is set.
    prompt: Optional[Literal["bestk", "r2e"]]  # Words of its task: ours, or those of R2E-Gym’s scaffold; null = by its model.
    instructions: Optional[str]  # Said to it behind its task; null = nothing.
    command: Optional[str]  # A program in the image that is the agent, as a shell command; null = the agent of bestk.
    trajectory: Optional[str]  # Where that program writes its trajectory; null = its model calls stand for it.
    limits: Optional['RunRequestAgentsLimits']  # Limits that it has instead of the service’s.


class RunRequestCandidatesTrajectorySteps(TypedDict, total=False):
    thought: str  # What the agent wrote before it acted.
    action: str  # The command or tool call.
    observation: str  # What came back.


class RunRequestCandidatesTrajectory(TypedDict, total=False):
    steps: List['RunRequestCandidatesTrajectorySteps']  # In order.
    exit_reason: Optional[str]  # How the trajectory ended, e.g. `submitted`; null = unknown.


class _RunRequestCandidates(TypedDict):
    candidate_id: str  # Unique within the run.
    patch: str  # Unified diff against the base commit; empty = the agent changed nothing.


class RunRequestCandidates(_RunRequestCandidates, total=False):
    instance_id: str  # The issue’s, or absent.
    trajectory: Optional['RunRequestCandidatesTrajectory']  # How the agent got there; judges may read it.


class _RunRequestTests(TypedDict):
    test_id: str  # Unique within the run.
    path: str  # Where the test is written, from the working directory.
    content: str  # The file’s text.


class RunRequestTests(_RunRequestTests, total=False):
    instance_id: str  # The issue’s, or absent.
    files: Dict[str, str]  # Further files that it needs, by their place in the repository.
    command: str  # Shell command that runs it, from the repository’s root; absent = that of its language.
    report: Literal["junit", "tap", "go-test-json", "cargo", "rspec-json", "exit-code"]  # What the command reports; absent = as that of its language does.
    expect: List[Any]  # What each call of `observe` has to tell, in order; absent = the exit code says it.
    observes: bool  # Whether it only shows what the code does, so that candidates that show the same are one class.
    author: Optional[str]  # Who wrote it; tests of one author count less together than apart.
    kind: Literal["fail-to-pass", "pass-to-pass"]  # `pass-to-pass` = holds on base, and must go on holding; absent = says "not solved" there.
    angle: str  # What its author was asked to look at above all; kept as it is.


class _RunRequest(TypedDict):
    issue: 'Issue'  # The problem to solve and where its repository is.


class RunRequest(_RunRequest, total=False):
    preset: Optional[Union[str, 'Preset']]  # Selection rule: a shipped name or your own as {name, stages}; null = the default.
    stages: Optional[List['Stage']]  # Stages of your own rule, in order.
    combiner: Optional['Combiner']  # As `curves --save-combiner` writes it; for rules that go by `learned`.
    calibration: Optional['Calibration']  # As `bestk calibrate` writes it: likelihoods behind P(right); null = the shipped ones.
    min_confidence: Optional[float]  # Return no patch whose confidence is below this, 0 to 1; null = always return one.
    name: Optional[str]  # Shown in lists and searched; nothing depends on it.
    tags: Optional[List[str]]  # To find runs by; nothing depends on them.
    agent: Optional['RunRequestAgent']  # Replaces settings of the sampling agent for this run.
    agents: Optional[List['RunRequestAgents']]  # Several agents that share the trajectories, in place of one; null = one.
    k: Optional[int]  # Trajectories to sample (8). With candidates it must equal their number.
    candidates: Optional[List['RunRequestCandidates']]  # Patches to choose from; absent = sample k trajectories.
    k0: Optional[int]  # Sample this many first, then more until enough agree or k is reached; null = all k at once.
    refine: int  # So many trajectories more (0) once the first are verified, by agents that are told of the best; not with candidates.
    branch: int  # So many trajectories more (0) then that go on from a step of the most promising of the first; not with candidates.
    refine_from: float  # P(right) that the best of the first must reach for either (0.3).
    seed: int  # Another seed samples other trajectories.
    tests: Optional[List['RunRequestTests']]  # Saved generated tests to use; null = have new ones written.
    verifiers: Optional[List['VerifierName']]  # Verifiers to run, by name; null = the service’s default.
    budget: Optional['Budget']  # Limits of what the run may take; null = none.


class Issue(TypedDict):
    instance_id: str  # Identifies the issue, e.g. `owner__repo-123`.
    problem_statement: str  # The issue’s text, as models see it.
    environment: 'Environment'  # Image and commands in which patches are verified.


class _Environment(TypedDict):
    image: str  # Docker image that holds the repository.


class Environment(_Environment, total=False):
    workdir: str  # The repository’s folder in the image (/testbed).
    base_commit: Optional[str]  # Commit to check out first; null = the image’s HEAD.
    regression_command: Optional[str]  # Shell command of the existing tests; `{files}` and `{modules}` are replaced. Null = tests near the patches.
    regression_report: Optional[str]  # JUnit XML that the command writes, from the working directory.
    regression_files: List[str]  # Test files that the command is given.
    test_timeout_s: float  # Seconds for one test, and for one run of the regression command (300).
    setup_patch: Optional[str]  # Git patch that turns what the image holds into the base.
    hidden_paths: List[str]  # Hidden tests and answers in the image; removed before anything runs.


class Budget(TypedDict, total=False):
    tokens: Optional[int]  # Input and output tokens together; null = no limit.
    usd: Optional[float]  # US dollars; null = no limit.
    seconds: Optional[float]  # Wall seconds of one execution; null = no limit.


class RescoreRun(TypedDict, total=False):
    preset: Optional[Union[str, 'Preset']]  # Selection rule: a shipped name or your own as {name, stages}; null = the default.
    stages: Optional[List['Stage']]  # Stages of your own rule, in order.
    combiner: Optional['Combiner']  # As `curves --save-combiner` writes it; for rules that go by `learned`.
    calibration: Optional['Calibration']  # As `bestk calibrate` writes it: likelihoods behind P(right); null = the shipped ones.
    min_confidence: Optional[float]  # Return no patch whose confidence is below this, 0 to 1; null = always return one.
    verifiers: List['VerifierName']  # Verifiers to run instead; absent = as before.


class Preset(TypedDict):
    name: str  # What the rule is called in results.
    stages: List['Stage']  # Stages of your own rule, in order.


class Stage1(TypedDict):
    stage: Literal["keep"]  # What the stage does.
    where: Literal["has-source-change", "applies", "finished"]  # Condition that a candidate meets to be kept.


class _Stage2(TypedDict):
    stage: Literal["above"]  # What the stage does.
    by: 'StageMeasure'  # Measure to go by.
    than: float  # Keep candidates above this value.


class Stage2(_Stage2, total=False):
    otherwise: Literal["keep-all", "none"]  # If none is above: keep all, or return no patch.


class Stage3(TypedDict):
    stage: Literal["top"]  # What the stage does.
    by: 'StageMeasure'  # Measure to go by.
    n: Union[Literal["deepswe", "half"], int]  # How many patches are kept.


class _Stage4(TypedDict):
    stage: Literal["max"]  # What the stage does.
    by: 'StageMeasure'  # Measure to go by.


class Stage4(_Stage4, total=False):
    within: float  # Values this close to the best are tied with it (0).


class _Stage5(TypedDict):
    stage: Literal["min"]  # What the stage does.
    by: 'StageMeasure'  # Measure to go by.


class Stage5(_Stage5, total=False):
    within: float  # Values this close to the best are tied with it (0).


class Stage6Of(TypedDict):
    by: str  # Measure of the term, divided by what it counts up to.
    weight: float  # Weight of the term.


class _Stage6(TypedDict):
    stage: Literal["weighted"]  # What the stage does.
    of: List['Stage6Of']  # Weighted terms to add up.


class Stage6(_Stage6, total=False):
    within: float  # Values this close to the best are tied with it (0).


class _Stage7(TypedDict):
    stage: Literal["random"]  # What the stage does.


class Stage7(_Stage7, total=False):
    seed: int  # Seed of the random pick.


class Stage8(TypedDict):
    stage: Literal["lowest-id"]  # What the stage does.


class Combiner(TypedDict):
    kind: Literal["bestk-combiner"]  # Tells this document from others.
    version: Literal[1]  # Version of its format.
    features: List[str]  # Names of the features, in order.
    means: List[float]  # Mean of each feature; an unknown one counts as it.
    scales: List[float]  # Scale of each feature.
    weights: List[float]  # Weight of each feature.
    intercept: float  # Added to the weighted features.
    any: Dict[str, Any]  # From the score to P(right) of any candidate.
    returned: Dict[str, Any]  # From the score to P(right) of the returned candidate.
    abstain_below: Optional[float]  # No patch is returned unless its confidence is above this; null = always return one.
    data_card: 'DataCard'  # What it was fitted on, and how it did on repositories it had not seen.


class CalibrationJudges(TypedDict):
    intercept: float  # Of the log likelihood ratio.
    slope: float  # By logit p.


class CalibrationExistingTests(TypedDict):
    """Keeping existing tests that passed on the base."""
    right: List[Any]  # Beta distribution of the rate for right patches.
    wrong: List[Any]  # Beta distribution of the rate for wrong patches.


class CalibrationGeneratedTests(TypedDict):
    right: List[Any]  # Beta distribution of the rate for right patches.
    wrong: List[Any]  # Beta distribution of the rate for wrong patches.


class CalibrationSubmitted(TypedDict):
    """The agent submitted by itself."""
    right: List[Any]  # Beta distribution of the rate for right patches.
    wrong: List[Any]  # Beta distribution of the rate for wrong patches.


class Calibration(TypedDict):
    kind: Literal["bestk-calibration"]  # Tells this document from others.
    version: Literal[1]  # Version of its format.
    share: List[Any]  # Beta distribution of the share of right patches in an issue.
    judges: Dict[str, 'CalibrationJudges']  # Likelihoods by measure of a judge.
    existing_tests: 'CalibrationExistingTests'  # Keeping existing tests that passed on the base.
    generated_tests: Dict[str, 'CalibrationGeneratedTests']  # Passing a telling test, by the test’s author; `*` = all others.
    test_correlation: float  # Of tests of one author on one patch, 0 to 1.
    submitted: 'CalibrationSubmitted'  # The agent submitted by itself.
    returned: Dict[str, Any]  # From P(right) of the returned patch to how often such a patch was right.
    labels: Dict[str, List[Any]]  # Labelled patches behind each likelihood, right and wrong.
    models: List[str]  # Models that judged and wrote tests in the data.
    data_card: 'DataCard'  # What it was fitted on, and how it did on repositories it had not seen.


class DataCard(TypedDict):
    issues: int  # Issues it was fitted on.
    candidates: int  # Candidates it was fitted on.
    resolved: int  # Of these, right ones.
    repos: List[str]  # Repositories of the issues.
    folds: int  # Parts of the cross-validation.
    auc: Optional[float]  # AUC on held-out repositories.
    brier: Optional[float]  # Brier score on held-out repositories.
    ece: Optional[float]  # Calibration error on held-out repositories.
    picked_right: float  # Share of issues whose held-out pick is right.
    mean_confidence: float  # Mean confidence given to these picks.


class RewardRequest1(TypedDict):
    response: str  # What the model said; its last diff is the patch.
    label: Union[str, Dict[str, Any]]  # An issue, or a run request without candidates, as an object or as its JSON text.


class _RewardRequest2(TypedDict):
    query: List[str]  # Each a prompt and its response.
    labels: List[Union[str, Dict[str, Any]]]  # What each query is judged by, in the order of `query`.


class RewardRequest2(_RewardRequest2, total=False):
    prompts: Optional[List[str]]  # What each query begins with; a patch in it is not the answer.


class VerifyRequestResponsesCreateParams(TypedDict, total=False):
    """As NeMo Gym sends them; given back unchanged."""
    pass


class VerifyRequestResponseOutput(TypedDict, total=False):
    type: Optional[str]  # Kind of the item.
    content: Any  # Text of the item, or parts with text.


class VerifyRequestResponse(TypedDict):
    """The model’s response."""
    output: List['VerifyRequestResponseOutput']  # Items of the response; the last diff in their text is the patch.


class VerifyRequest(TypedDict):
    responses_create_params: 'VerifyRequestResponsesCreateParams'  # As NeMo Gym sends them; given back unchanged.
    response: 'VerifyRequestResponse'  # The model’s response.
    verifier_metadata: Union[str, Dict[str, Any]]  # What the row of the data set says to verify by.


class CompareRequestConversationHistory(TypedDict, total=False):
    pass


class CompareRequestResponseObjsOutput(TypedDict, total=False):
    type: Optional[str]  # Kind of the item.
    content: Any  # Text of the item, or parts with text.


class CompareRequestResponseObjs(TypedDict):
    output: List['CompareRequestResponseObjsOutput']  # Items of the response; the last diff in their text is the patch.


class CompareRequest(TypedDict):
    conversation_history: List['CompareRequestConversationHistory']  # As NeMo Gym sends it; not read.
    response_objs: List['CompareRequestResponseObjs']  # The responses to compare.
    principle: Union[str, Dict[str, Any]]  # The one free field that NeMo Gym sends along.


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
    parts: List['EstimateParts']  # By what is asked for; a budget bounds their sum alone.


class Cost(TypedDict):
    model_calls: int
    tokens: int
    usd: Optional[float]


class RunPage(TypedDict):
    runs: List['RunSummary']
    next_cursor: Optional[str]  # `cursor` of the next page; null at the end.


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
    seconds: Optional[float]  # Wall time of its stages, without waiting for its turn.
    benchmark: Optional[str]
    arm: Optional[str]


class RunFailure(TypedDict):
    code: str
    message: str
    next: str


class RunProgressWorkers(TypedDict):
    worker: str  # Host and process, as in the run’s events.
    rollout: int
    verdict: int  # Answers of a judge.
    call: int  # Answers of other models.
    cells: int
    seconds: float  # Of its parts, which overlap.


class RunProgress(TypedDict):
    events: int
    by_type: Dict[str, int]
    workers: List['RunProgressWorkers']  # Who did what; empty when one process did everything.
    last: Optional['RunEvent']


class Run(TypedDict):
    id: str
    status: 'RunStatus'
    created_at: str
    updated_at: str
    failure: Optional['RunFailure']
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
    cells: List['Cell']  # Its row of the matrix; empty until the run is done.


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


class EvidenceRunFailure(TypedDict):
    code: str
    message: str
    next: str


class EvidenceRun(TypedDict):
    id: str
    status: 'RunStatus'
    created_at: str
    updated_at: str
    failure: Optional['EvidenceRunFailure']


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


class EvidenceSelectionStages(TypedDict):
    name: str
    kept: List[str]
    dropped: List[str]
    skipped: Optional[str]


class EvidenceSelection(TypedDict):
    instance_id: str
    candidate_id: Optional[str]
    basis: Literal["hybrid", "fallback", "none"]
    deciding_stage: Optional[str]
    confidence: Optional[float]
    why_none: Optional[str]
    notes: List[str]
    stages: List['EvidenceSelectionStages']


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


class EvidenceProvenanceAgents(TypedDict):
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
    agents: List['EvidenceProvenanceAgents']
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


class _EvidenceCellsObserved(TypedDict):
    sha256: str
    preview: str


class EvidenceCellsObserved(_EvidenceCellsObserved, total=False):
    group: int


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
    observed: 'EvidenceCellsObserved'


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
    """Records that could not be read, the first of them with line and reason."""
    count: int
    first: List['RescoreAcceptedRejectedFirst']


class RescoreAccepted(TypedDict):
    candidates: int
    runs: List['RescoreAcceptedRuns']
    skipped: List['RescoreAcceptedSkipped']
    rejected: 'RescoreAcceptedRejected'  # Records that could not be read, the first of them with line and reason.


class Outcome(TypedDict):
    candidate_id: str
    log_odds: Dict[str, float]
    flags: List[str]
    run_id: str
    instance_id: str
    reward: float  # P(the patch is right).
    basis: Literal["hybrid", "fallback", "none"]  # hybrid: verdicts on this patch took part; fallback: only what is known of any patch; none: it cannot be used, so 0 is a fact.


class Rewards(TypedDict):
    rewards: List[float]
    scores: List[float]  # The rewards again, under the name that OpenRLHF asks for.
    outcomes: List['Outcome']


class VerifyAnswerResponsesCreateParams(TypedDict, total=False):
    pass


class VerifyAnswerResponseOutput(TypedDict, total=False):
    type: Optional[str]
    content: Any


class VerifyAnswerResponse(TypedDict):
    output: List['VerifyAnswerResponseOutput']


class VerifyAnswer(TypedDict):
    responses_create_params: 'VerifyAnswerResponsesCreateParams'
    response: 'VerifyAnswerResponse'
    verifier_metadata: Union[str, Dict[str, Any]]  # What the row of the data set says to verify by.
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
    comparison_results: List['CompareAnswerComparisonResults']  # Each response beside the next one, by index.
    metrics: Dict[str, float]
    outcomes: List['Outcome']


class BenchmarkAcceptedRejected(TypedDict):
    """Rows that could not be used, the first of them with line and reason."""
    count: int
    first: List[str]


class BenchmarkAccepted(TypedDict):
    id: str
    status: Literal["accepting", "running", "paused", "done", "failed", "cancelled"]
    issues: int
    runs: int
    skipped: int  # Arms’ instances that nothing could be asked of.
    rejected: 'BenchmarkAcceptedRejected'  # Rows that could not be used, the first of them with line and reason.


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
    waiting: int  # Nobody works on them yet.
    queued: int
    running: int
    selected: int
    none: int  # Done, and no patch was worth returning.
    failed: int
    cancelled: int
    skipped: int  # Nothing could be asked of these instances.
    graded: int
    right: int
    wrong: int
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
    eta_s: Optional['BenchmarkEtaS']  # Seconds until the last run has ended, from the pace of the last ones; null = not known.


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
    seconds: Optional[float]  # Wall time of its stages, without waiting for its turn.
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
    """Of k random candidates, some one is right."""
    value: float
    low: float
    high: float


class BenchmarkCurvesArmsPointsBestAtK(TypedDict):
    value: float
    low: float
    high: float


class BenchmarkCurvesArmsPoints(TypedDict):
    k: int
    pass_at_k: 'BenchmarkCurvesArmsPointsPassAtK'  # Of k random candidates, some one is right.
    best_at_k: Optional['BenchmarkCurvesArmsPointsBestAtK']  # Of k random candidates, the arm’s rule returns a right one, ties averaged; null = not worked out.


class BenchmarkCurvesArms(TypedDict):
    arm: str
    issues: int  # With a graded candidate.
    selected: Optional['BenchmarkCurvesArmsSelected']  # How often what was selected is right, over the issues of which it is known; null = of none.
    points: List['BenchmarkCurvesArmsPoints']


class BenchmarkCurves(TypedDict):
    arms: List['BenchmarkCurvesArms']


class BenchmarkPlotsPlots(TypedDict):
    name: str
    title: str
    note: str  # How to read it.
    svg: str  # The drawing: shapes and text, no script, no style sheet, nothing to load.
    columns: List[str]  # Of the numbers behind it.
    rows: List[List[Optional[Union[str, float]]]]  # As many cells each as columns.


class BenchmarkPlots(TypedDict):
    plots: List['BenchmarkPlotsPlots']


class RunLabelsLabels(TypedDict):
    candidate_id: str
    right: Optional[bool]  # Null = it could not be graded.
    reason: str
    failed_tests: List[str]  # Required tests that did not pass, the first of them.


class RunLabels(TypedDict):
    graded: bool  # False = nothing is known (yet), and there is no label.
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
    type: Literal["about:blank"]  # What the problem is, `code` says.
    title: str
    status: int
    detail: str
    code: str


class Problem(_Problem, total=False):
    next: str  # What the client can do.
    errors: List['ProblemErrors']  # Where in the request the problems lie, `candidates.0.patch`, and what they are.


class Health(TypedDict):
    status: str


class ReadinessPartsEngine1(TypedDict):
    ok: Literal[True]


class ReadinessPartsEngine2(TypedDict):
    ok: Literal[False]
    code: str
    next: str


class ReadinessPartsModels1(TypedDict):
    ok: Literal[True]


class ReadinessPartsModels2(TypedDict):
    ok: Literal[False]
    code: str
    next: str


class ReadinessPartsMachine1(TypedDict):
    ok: Literal[True]


class ReadinessPartsMachine2(TypedDict):
    ok: Literal[False]
    code: str
    next: str


class ReadinessParts(TypedDict):
    engine: Union['ReadinessPartsEngine1', 'ReadinessPartsEngine2']
    models: Union['ReadinessPartsModels1', 'ReadinessPartsModels2']
    machine: Union['ReadinessPartsMachine1', 'ReadinessPartsMachine2']  # not ok: disk or memory is low, new work waits until there is room


class ReadinessWork(TypedDict):
    state: Literal["idle", "working", "saturated", "stalled"]  # saturated: all are busy and runs wait; stalled: runs wait, and for a minute nobody has taken them up
    queued: int
    running: int
    oldest_queued_s: int


class Readiness(TypedDict):
    status: Literal["ready", "degraded"]  # degraded: runs that need the missing part fail or wait, everything else is answered
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
