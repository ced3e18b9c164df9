"""Asking, as a table of contents: analyse, retrieve, bridge, rank, expand, assemble."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from clew.query.asking import Asking, Library
from clew.query.assemble import assemble
from clew.query.expand import expand
from clew.query.strategies import find_strategy
from clew.types import Context, SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.types import Condition, Hit

logger = logging.getLogger("clew")

MAX_QUESTION = 20_000
"""Characters of a question that are read."""


def ask(
    library: Library,
    question: str,
    *,
    strategy: str,
    limit: int,
    max_tokens: int,
    where: Sequence[Condition] = (),
) -> SearchResult:
    """The passages that answer the question, best first, at most `limit`, and their context."""
    rank = find_strategy(strategy)
    asking = Asking(library, question[:MAX_QUESTION], where)
    hits: tuple[Hit, ...] = ()
    if _can_be_asked(asking):
        ranking = rank(asking).top(limit)
        with asking.timings.step("expand"):
            hits = expand(asking, ranking)
    if not hits and library.store.generation() == 0:
        asking.notes.append("the store is empty; index something first: clew index PATH")
    with asking.timings.step("assemble"):
        context = _assemble(library, hits, max_tokens)
    if context.left_out:
        asking.notes.append(f"{context.left_out} passages did not fit into the context")
    result = SearchResult(
        query=question,
        strategy=strategy,
        reason="asked for",
        hits=hits,
        context=context,
        entities=_entity_names(asking),
        timings_ms=asking.timings.milliseconds,
        notes=tuple(asking.notes),
    )
    _log(result)
    return result


def _can_be_asked(asking: Asking) -> bool:
    """Whether there is a question and a store to ask; says in the notes what is missing."""
    if len(asking.question) == MAX_QUESTION:
        asking.notes.append(f"only the first {MAX_QUESTION} characters of the question were read")
    if not asking.question.strip():
        asking.notes.append("the question is empty")
        return False
    if asking.allowed is not None and not len(asking.allowed):
        asking.notes.append("no passage meets the filters")
        return False
    return True


def _assemble(library: Library, hits: Sequence[Hit], max_tokens: int) -> Context:
    chunks = [hit.chunk for hit in hits]
    wanted = list(dict.fromkeys(chunk.section_id for chunk in chunks))
    sections = {section.id: section for section in library.store.sections(wanted)}
    return assemble(chunks, sections, max_tokens, library.embedder.count_tokens)


def _entity_names(asking: Asking) -> tuple[str, ...]:
    if asking.evidence is None:
        return ()
    ids = [seed.entity_id for seed in asking.evidence.analysis.seeds]
    return tuple(asking.library.store.entity_names(ids).values())


def _log(result: SearchResult) -> None:
    logger.info(
        "search strategy=%s hits=%d tokens=%d ms=%s",
        result.strategy,
        len(result.hits),
        result.context.tokens,
        {name: round(spent, 1) for name, spent in result.timings_ms.items()},
    )
