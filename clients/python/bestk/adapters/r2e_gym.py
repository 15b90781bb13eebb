"""Trajectories of R2E-Gym as candidates."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Union

from .. import models
from ..client import Client


class Selector:
    """Takes trajectories as `runagent` returns them, and selects once all attempts at an issue are there.

    Call `selector(trajectory)` for each trajectory, then `selector.select()`. Fields that reveal the outcome (`reward`,
    test outputs) are never sent.
    """

    def __init__(self, client: Client, issue: models.Issue, **request: Any) -> None:
        self._client = client
        self._issue = issue
        self._request = request
        self._candidates: List[Dict[str, Any]] = []

    def __call__(self, trajectory: Union[str, Mapping[str, Any], Any]) -> None:
        """A Trajectory, its `model_dump()`, or a line of the JSONL file."""
        self._candidates.append({"candidate_id": f"t{len(self._candidates) + 1}", **candidate_of(trajectory)})

    def select(self) -> models.Run:
        return self._client.select(self._issue, self._candidates, **self._request)


def candidate_of(trajectory: Union[str, Mapping[str, Any], Any]) -> Dict[str, Any]:
    """Patch and steps, with R2E-Gym's own exit reason."""
    if isinstance(trajectory, str):
        trajectory = json.loads(trajectory)
    given: Mapping[str, Any] = trajectory if isinstance(trajectory, Mapping) else trajectory.model_dump()
    steps = [
        {part: step.get(part) or "" for part in ("thought", "action", "observation")}
        for step in given["trajectory_steps"]
    ]
    return {"patch": given["output_patch"], "trajectory": {"steps": steps, "exit_reason": given.get("exit_reason")}}
