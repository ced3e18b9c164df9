"""Whether the documents stand for what a model states: its quotations, its numbers and names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.quotations import find_words
from clew.text import terms
from clew.types.answers import AnswerStatement, Quotation, statement_text
from clew.untrusted import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.search.ask.prompt import Quote
    from clew.types import Hit

_WORD = re.compile(r"\w+")


def find_quotations(quotes: Sequence[Quote], hits: Sequence[Hit]) -> tuple[Quotation, ...]:
    """The quotes that stand in the passage that they name; the others are left out."""
    found = []
    for quote in quotes:
        if not 1 <= quote.passage <= len(hits):
            continue
        chunk = hits[quote.passage - 1].chunk
        # The model saw the text with its marks escaped.
        place = find_words(quote.words, chunk.text)
        if place is None and find_words(quote.words, escaped(chunk.text)):
            place = (0, len(chunk.text))
        if place is not None:
            start, end = place
            words = chunk.text[start:end]
            at = chunk.start
            found.append(
                Quotation(source=quote.passage, text=words, start=at + start, end=at + end)
            )
    return tuple(found)


def check_statement(
    text: str, quotations: tuple[Quotation, ...], question: str, passages: Mapping[int, str]
) -> AnswerStatement:
    """The statement, supported where it quotes and no number or name of it is new.

    `passages` are the texts by number; those quoted and the question may have its numbers and
    names, which are the words with a digit, and those with a capital but for the first word.
    """
    known = set(terms(question))
    for quotation in quotations:
        known.update(terms(passages[quotation.source]))
    new = [term for word in _telling(text) for term in terms(word) if term not in known]
    return AnswerStatement(
        text=statement_text(text),
        quotations=quotations,
        supported=bool(quotations) and not new,
    )


def _telling(text: str) -> list[str]:
    """Words with a digit or, but for the first of the text, with a capital at their start."""
    found = _WORD.findall(text)
    return [
        word
        for place, word in enumerate(found)
        if any(map(str.isdigit, word)) or (place and word[0].isupper())
    ]
