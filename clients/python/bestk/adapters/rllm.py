"""A reward function for rLLM."""

from __future__ import annotations

from typing import Any, Optional

from ..client import Client
from .text import patch_in


def bestk_reward(client: Optional[Client] = None, threshold: float = 0.5, **request: Any) -> Any:
    """An `rllm.rewards` RewardFn: takes a RewardInput whose `metadata["issue"]` is the issue.

    `is_correct` is whether P(right) reaches `threshold`. A failure of Docker or a model is raised, and never reward 0.
    """
    from rllm.rewards.reward_types import RewardConfig, RewardFn, RewardOutput

    asked = client or Client()

    class BestkReward(RewardFn):  # type: ignore[misc]
        def __call__(self, input: Any) -> Any:
            patch = patch_in(input.model_response)
            outcome = asked.reward(input.metadata["issue"], [patch], **request)[0]
            return RewardOutput(reward=outcome["reward"], is_correct=outcome["reward"] >= threshold)

    return BestkReward(RewardConfig())
