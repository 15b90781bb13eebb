"""A rubric for `verifiers` (prime-rl): the reward of a rollout is P(its patch is right)."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..aio import AsyncClient
from .text import patch_in

Of = Callable[[Mapping[str, Any]], Any]


def bestk_rubric(
    client: Optional[AsyncClient] = None,
    issue_of: Optional[Of] = None,
    patch_of: Optional[Of] = None,
    **request: Any,
) -> Any:
    """A `verifiers.Rubric`. By default the issue is `info["issue"]` and the patch the last diff of the completion.

    The rollouts of a group are one pool. A failure of Docker or a model is raised: reward functions that a Rubric calls
    itself would turn it into 0.
    """
    import verifiers as vf

    asked = client or AsyncClient()
    issue, patch = issue_of or _issue_of, patch_of or _patch_of

    async def bestk(states: Sequence[Dict[str, Any]]) -> List[float]:
        outcomes = await asked.reward(issue(states[0]), [patch(state) for state in states], **request)
        return [outcome["reward"] for outcome in outcomes]

    class BestkRubric(vf.Rubric):  # type: ignore[misc]
        async def score_rollout(self, state: Dict[str, Any]) -> None:
            await self._score([state])

        async def score_group(self, states: List[Dict[str, Any]]) -> None:
            await self._score(states)
            mean = sum(state["reward"] for state in states) / max(1, len(states))
            for state in states:
                state["advantage"] = state["reward"] - mean
                for step in state.get("trajectory", []):
                    if step["reward"] is None:
                        step["reward"] = state["reward"]
                    if step["advantage"] is None:
                        step["advantage"] = state["advantage"]

        async def _score(self, states: Sequence[Dict[str, Any]]) -> None:
            if not states:
                return
            for state, reward in zip(states, await bestk(states)):
                state["reward"] = reward
                state["metrics"] = {"bestk": reward}

    # Trainers score a group as one only if a function of the rubric takes `states`.
    return BestkRubric(funcs=[bestk])


def _issue_of(state: Mapping[str, Any]) -> Any:
    return state["info"]["issue"]


def _patch_of(state: Mapping[str, Any]) -> str:
    completion = state["completion"] or ""
    if isinstance(completion, str):
        return patch_in(completion)
    said = (message["content"] for message in completion if message["role"] == "assistant")
    return patch_in("\n".join(map(_text_of, said)))


def _text_of(content: Any) -> str:
    """Of a message: text, parts of which some have text, or None if it only calls tools."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part["type"] == "text")
