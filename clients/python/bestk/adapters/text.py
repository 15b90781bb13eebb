"""Finds the patch in a model's response."""

from __future__ import annotations

from typing import List, Optional


def patch_in(text: str) -> str:
    """The last fenced block with a diff, or everything from the first diff line on; "" if there is none."""
    fenced: Optional[str] = None
    block: Optional[List[str]] = None
    for line in text.split("\n"):
        if not line.startswith("```"):
            if block is not None:
                block.append(line)
        elif block is None:
            block = []
        else:
            if any(map(_begins_diff, block)):
                fenced = "\n".join(block)
            block = None
    if fenced is not None:
        return fenced + "\n"
    lines = text.split("\n") if block is None else block
    for index, line in enumerate(lines):
        if _begins_diff(line):
            # Spaces stay: the last line of a diff may be blank context, a space alone.
            return "\n".join(lines[index:]).rstrip("\n") + "\n"
    return ""


def _begins_diff(line: str) -> bool:
    return line.startswith(("diff --git ", "--- a/", "--- /dev/null"))
