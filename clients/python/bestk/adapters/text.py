"""Finds the patch in a model's response."""

from __future__ import annotations

import re
from typing import List, Optional

#: Frameworks that train on tokens pass on those that ended the model's turn, too, and the white space of the chat template
#: behind them. `</s>` is HTML as well: with a line break behind it, it belongs to the patch.
_END_OF_TURN = re.compile(
    r"<(?:/s|eos|pad)>|(?:<(?:[|｜][^\s|｜<>]+[|｜]|end_of_turn|seed:eos)>|\[e~\[)[ \t\r\n]*"
)
_LONGEST_TOKEN = 64


def patch_in(text: str) -> str:
    """The last fenced block with a diff, or everything from the first diff line on; "" if there is none.

    Tokens that ended the turn, as `<|im_end|>`, are left out.
    """
    end = len(text)
    while True:
        start = max(0, end - _LONGEST_TOKEN)
        at = max(text.rfind("<", start, end), text.rfind("[e~[", start, end))
        if at == -1 or not _END_OF_TURN.fullmatch(text, at, end):
            break
        end = at
    text = text[:end]
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
