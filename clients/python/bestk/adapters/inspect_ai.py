"""A scorer for Inspect, and scores for its `precomputed_scores`."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, cast

from .. import models
from ..aio import AsyncClient
from ..client import Client
from .text import patch_in


def bestk_scorer(client: Optional[AsyncClient] = None, **request: Any) -> Any:
    """A scorer: P(right) of the diff in the model's answer. The sample's `metadata["issue"]` is the issue.

    A failure of Docker or a model is raised: Inspect counts it as an error of the sample, not as a wrong answer.
    """
    from inspect_ai.scorer import Score, mean, scorer, stderr

    asked = client or AsyncClient()

    @scorer(metrics=[mean(), stderr()])  # type: ignore[misc]
    def bestk() -> Any:
        async def score(state: Any, target: Any) -> Any:
            patch = patch_in(state.output.completion)
            outcome = (await asked.reward(state.metadata["issue"], [patch], **request))[0]
            return Score(value=outcome["reward"], answer=patch, metadata=_basis(outcome))

        return score

    return bestk()


def precomputed(client: Client, run_id: str, epoch_of: Optional[Mapping[str, int]] = None) -> Iterator[Dict[str, Any]]:
    """Records of a run for `precomputed_scores(file)`, one for each candidate: `id` is the instance, `epoch` the candidate.

    Without `epoch_of`, candidates are epochs 1, 2, … in the order of their ids. Candidates that could not be judged are
    omitted and stay unscored.
    """
    selection = cast(models.Selection, client.wait(run_id)["selection"])
    ranking = selection["ranking"]
    epochs = epoch_of or {name: index for index, name in enumerate(sorted(of["candidate_id"] for of in ranking), 1)}
    for of in ranking:
        if of["p_right"] is not None:
            yield {
                "id": selection["instance_id"],
                "epoch": epochs[of["candidate_id"]],
                "value": of["p_right"],
                "explanation": f"rank {of['rank']} of {len(ranking)}",
                "metadata": {"candidate_id": of["candidate_id"], "log_odds": of["log_odds"], "flags": of["flags"]},
            }


def write_precomputed(file: str, records: Iterator[Dict[str, Any]]) -> None:
    """JSON lines; the name must end in `.jsonl`."""
    lines: List[str] = [json.dumps(record) + "\n" for record in records]
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(lines)


def _basis(outcome: models.Outcome) -> Dict[str, Any]:
    return {"basis": outcome["basis"], "log_odds": outcome["log_odds"], "run_id": outcome["run_id"]}
