"""Asking, as a table of contents: route, find, refine, expand, assemble."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.search.answer.assemble import assemble
from clew.search.answer.hits import expand
from clew.search.answer.postprocess import refine
from clew.search.answer.result import Found
from clew.search.retrieval.channels import Ranking
from clew.search.session import Asking, Library
from clew.search.strategies import AUTO, find_strategy
from clew.search.strategies.temporal import describe_time, keep_to_period
from clew.types import Context, SearchResult

if TYPE_CHECKING:
    from clew.search.options import Options
    from clew.types import Hit

logger = logging.getLogger("clew")

MAX_QUESTION = 20_000
"""Characters of a question that are read."""


def ask(library: Library, question: str, options: Options) -> SearchResult:
    """The passages that answer the question, best first, and their context."""
    asking = Asking(library, question[:MAX_QUESTION], options)
    keep_to_period(asking)
    there_is = _can_be_asked(asking)
    strategy, reason = _choose(asking, there_is)
    found = _find(asking, strategy) if there_is else Found(ranking=Ranking.empty())
    with asking.timings.step("expand"):
        hits = expand(asking, found)
    if not hits and not len(library.store.chunk_ids()):
        asking.note("the store is empty; index something first: clew index PATH")
    with asking.timings.step("assemble"):
        context = _assemble(asking, found, hits)
    if context.left_out:
        asking.note(f"{context.left_out} parts of the context did not fit into it")
    result = SearchResult(
        query=question,
        strategy=strategy,
        reason=reason,
        hits=hits,
        context=context,
        entities=_entity_names(asking),
        temporal=describe_time(asking, hits),
        timings_ms=asking.timings.milliseconds,
        notes=tuple(asking.notes),
    )
    _log(result)
    return result


def _choose(asking: Asking, there_is: bool) -> tuple[str, str]:
    """The strategy and the reason for it; `there_is` anything to choose by."""
    if asking.options.strategy != AUTO:
        find_strategy(asking.options.strategy)
        return asking.options.strategy, "asked for"
    if not there_is:
        return "graph", "there is nothing to choose by"
    chosen = asking.route
    asking.note(*([chosen.note] if chosen.note else []))
    return chosen.strategy, chosen.reason


def _find(asking: Asking, strategy: str) -> Found:
    """What the strategy finds, refined, as many passages as were asked for."""
    _note_youth(asking)
    found = refine(asking, find_strategy(strategy))
    return replace(found, ranking=found.ranking.top(asking.options.limit))


def _note_youth(asking: Asking) -> None:
    """Say where a store is asked of a time before it knew anything."""
    moment = asking.options.as_of
    first = asking.library.store.first_recorded() if moment is not None else None
    if moment is not None and first is not None and moment < first:
        asking.note(
            f"the store knows nothing from before {first:%Y-%m-%d}; it says what it knows now of"
            f" {moment:%Y-%m-%d}"
        )


def _can_be_asked(asking: Asking) -> bool:
    """Whether there is a question and a store to ask; says in the notes what is missing."""
    if len(asking.question) == MAX_QUESTION:
        asking.note(f"only the first {MAX_QUESTION} characters of the question were read")
    if not asking.question.strip():
        asking.note("the question is empty")
        return False
    if asking.allowed is not None and not len(asking.allowed):
        asking.note("no passage meets the filters")
        return False
    return True


def _assemble(asking: Asking, found: Found, hits: tuple[Hit, ...]) -> Context:
    embedder = asking.library.embedder
    wanted = hits and asking.options.context
    blocks = found.arrange(asking, hits) if wanted else []
    return assemble(blocks, asking.options.max_tokens, embedder.count_tokens, embedder.name)


def _entity_names(asking: Asking) -> tuple[str, ...]:
    """The entities that the question names, where the strategy or the router looked for them."""
    ids = [seed.entity_id for seed in asking.known_seeds]
    names = asking.records.names
    return tuple(names[entity_id] for entity_id in ids if entity_id in names)


def _log(result: SearchResult) -> None:
    logger.info(
        "search strategy=%s hits=%d tokens=%d ms=%s",
        result.strategy,
        len(result.hits),
        result.context.tokens,
        {name: round(spent, 1) for name, spent in result.timings_ms.items()},
    )
