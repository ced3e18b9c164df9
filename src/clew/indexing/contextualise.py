"""Context without a language model: what a passage belongs to, in a few words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from clew.indexing.splitting.units import CHARACTERS_A_TOKEN
from clew.types import Document

SEPARATOR = " › "


def context_of(document: Document, headings: Sequence[str]) -> str:
    """The document's title and the trail of headings, joined by " › ".

    A heading that repeats the title or the heading before it is left out, whatever its case and
    spacing. Empty where there is neither title nor heading.
    """
    return SEPARATOR.join(_parts(document, headings))


def fitted_context(
    document: Document, headings: Sequence[str], weigh: Callable[[str], int], room: int
) -> tuple[str, int]:
    """`context_of` within `room` tokens, its line break counted, and the tokens to set aside.

    Too long a context loses its middle headings first, the outer ones before the inner, then its
    last words. Any shorter trail of the same document needs no more tokens than are set aside.
    """
    parts = _parts(document, headings)

    def tokens(context: str) -> int:
        return weigh(f"{context}\n") + 1 if context else 0

    needed = tokens(SEPARATOR.join(parts))
    if needed <= room:
        return SEPARATOR.join(parts), needed
    while len(parts) > 2 and tokens(SEPARATOR.join(parts)) > room:
        del parts[1]
    return _first_words(SEPARATOR.join(parts), tokens, room), room


def _parts(document: Document, headings: Sequence[str]) -> list[str]:
    parts: list[str] = []
    title = " ".join(document.title.split())
    for part in (title, *headings):
        label = " ".join(part.split())
        repeated = bool(parts) and label.casefold() in {title.casefold(), parts[-1].casefold()}
        if label and not repeated:
            parts.append(label)
    return parts


def _first_words(context: str, tokens: Callable[[str], int], room: int) -> str:
    """As many words of a context as there is room for; of a single one, as much of it."""
    context = context[: room * CHARACTERS_A_TOKEN]
    lengths = range(1, len(context) + 1)
    cut = bisect_right(lengths, room, key=lambda length: tokens(context[:length]))
    kept = context[:cut]
    if cut < len(context) and " " in kept and not context[cut].isspace():
        kept = kept.rsplit(" ", 1)[0]
    return kept.rstrip(" ›")
