"""A reward function for rLLM."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from ..client import Client
from .text import patch_in


def bestk_reward(client: Optional[Client] = None, threshold: float = 0.5, **request: Any) -> Any:
    """An `rllm.rewards.reward_fn.RewardFunction`, for tasks whose `issue` is the issue.

    `is_correct` is whether P(right) reaches `threshold`. A failure of Docker or a model is raised, and never reward 0.
    """
    from rllm.rewards.reward_types import RewardOutput

    asked = client or Client()

    def bestk(task_info: Mapping[str, Any], action: Any) -> Any:
        # Text, or rLLM's Action that holds it.
        patch = patch_in(getattr(action, "action", action))
        outcome = asked.reward(task_info["issue"], [patch], **request)[0]
        reward = outcome["reward"]
        return RewardOutput(reward=reward, metadata=dict(outcome), is_correct=reward >= threshold)

    return bestk
