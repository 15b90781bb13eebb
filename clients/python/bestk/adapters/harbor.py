"""Harbor's `reward.json`, for the `tests/test.sh` of a task.

    python3 -m bestk.adapters.harbor issue.json patch.diff
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Mapping

from ..client import Client

REWARD_FILE = "/logs/verifier/reward.json"


def write_reward(client: Client, issue: Any, patch: str, file: str = REWARD_FILE, **request: Any) -> Mapping[str, Any]:
    """Writes P(right) of a patch. If it could not be judged, nothing is written and the error is raised: no reward instead of 0."""
    outcome = client.reward(issue, [patch], **request)[0]
    os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
    partial = f"{file}.{os.getpid()}"
    with open(partial, "w", encoding="utf-8") as out:
        json.dump({"reward": outcome["reward"]}, out)
    os.replace(partial, file)
    return outcome


def main() -> None:
    """If `BESTK_REWARD_FILE` is set, it is written instead of Harbor's file."""
    issue_file, patch_file = sys.argv[1:3]
    with open(issue_file, encoding="utf-8") as text:
        issue = json.load(text)
    with open(patch_file, encoding="utf-8") as text:
        patch = text.read()
    write_reward(Client(), issue, patch, os.environ.get("BESTK_REWARD_FILE", REWARD_FILE))


if __name__ == "__main__":
    main()
