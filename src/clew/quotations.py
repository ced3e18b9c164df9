"""Words that somebody says are in a text, looked up there."""

from __future__ import annotations

import re

from clew.text import fold, terms

_WORD = re.compile(r"\w+")


def find_words(quoted: str, text: str) -> tuple[int, int] | None:
    """Where the words stand in the text, one after the other; None where they do not.

    Case, accents, punctuation and spaces may differ; no word may.
    """
    wanted, there = _WORD.findall(quoted), list(_WORD.finditer(text))
    if len(wanted) > len(there):
        return None
    wanted = [fold(word) for word in wanted]
    # Words that say something: a letter that is in no word of this Python's is not among them.
    if not terms(" ".join(wanted)):
        return None
    folded = [fold(match.group()) for match in there]
    for first in range(len(folded) - len(wanted) + 1):
        if folded[first : first + len(wanted)] == wanted:
            return there[first].start(), there[first + len(wanted) - 1].end()
    return None
