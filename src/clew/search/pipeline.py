"""A search, as a table of contents: understand ▸ retrieve ▸ rank ▸ answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from clew.errors import InputError
from clew.search.answer.blocks import RetrievalResult, answering_line, assemble
from clew.search.answer.hits import distinct_hits, without_unsaid
from clew.search.answer.standing import by_standing, named_in_part, stated_block, stated_by_hand
from clew.search.channels import Ranking
from clew.search.exact import exact_first, holding_all
from clew.search.periods import (
    asks_what_happened,
    dated_within,
    describe_time,
    keep_to_period,
    read_asked_time,
    with_earlier,
)
from clew.search.question import is_look_up
from clew.search.session import MAX_QUESTION, QuerySession, RecentlyUsed
from clew.search.spelling import read_as_spelt
from clew.search.strategies import AUTO, EVERYWHERE, find_strategy, without_effect
from clew.types import SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.ports import Embedder, VectorIndex
    from clew.search.options import Options
    from clew.search.session import SearchResources
    from clew.search.strategies import Strategy
    from clew.types import Hit, Ids, Scores, Vector, Vectors


logger = logging.getLogger("clew")

UNANSWERED = "nothing found that answers this; the nearest are given"
UNLIKELY = "nothing here is likely to answer this; the nearest are given"
SURE = (0.9, 0.6)
"""Share of passages with every word of what is looked up that answer: of those that come first, and
of the others. By the open half of `benchmarks/real` (24 of 27, 53 of 86); the half held out: 32 of
34, 69 of 96."""


def ask(resources: SearchResources, question: str, options: Options) -> SearchResult:
    """The passages that answer the question, best first, and their context.

    Understand ▸ retrieve ▸ rank ▸ answer.
    """
    session, there_is = _understand(resources, question, options)
    name, reason = _choose(session, there_is)
    strategy = find_strategy(name)
    found = RetrievalResult(ranking=Ranking.empty())
    if there_is:
        moment = options.as_of
        if moment and (first := resources.store.first_recorded()) and moment < first:
            session.note(
                f"the store knows nothing from before {first:%Y-%m-%d}; it says what it knows now"
                f" of {moment:%Y-%m-%d}"
            )
        found = _rank(session, name, strategy.find(session))
    hits = _judge(session, strategy, found, there_is)
    if not hits and not len(resources.store.chunk_ids()):
        session.note(
            "the store is empty; index something first: `clew index PATH` or ingest_document"
        )
    result = replace(
        _answer(session, found, hits, there_is),
        query=question,
        strategy=name,
        reason=reason,
        overview=there_is and (strategy.finds not in EVERYWHERE or asks_what_happened(session)),
    )
    result = replace(result, answering=answering_line(result))
    # What is sure of an earlier text is not known.
    if hits and not result.answered and not any(hit.chunk.version for hit in hits):
        remark = UNLIKELY if result.reached else UNANSWERED
        result = replace(result, notes=(remark, *result.notes))
    logger.info(
        "search strategy=%s hits=%d tokens=%d ms=%s",
        result.strategy,
        len(result.hits),
        result.context.tokens,
        {name: round(spent, 1) for name, spent in result.timings_ms.items()},
    )
    return result


# --- understand ------------------------------------------------------------------------------


def _understand(
    resources: SearchResources, question: str, options: Options
) -> tuple[QuerySession, bool]:
    """The question as it is meant, and whether there is a question and a store to ask.

    What is missing is in the notes.
    """
    session = QuerySession.start(resources, question[:MAX_QUESTION], options)
    session = read_as_spelt(session)
    read_asked_time(session)
    keep_to_period(session)
    if len(session.question) == MAX_QUESTION:
        session.note(f"only the first {MAX_QUESTION} characters of the question were read")
    missing = ""
    if not session.question.strip():
        missing = "the question is empty"
    elif session.allowed is not None and not len(session.allowed) and not session.earlier:
        missing = "no passage meets the filters"
    if missing:
        session.note(missing)
    elif resources.settings.llm.entities:
        from clew.search.rerank import read_named_entities

        read_named_entities(session)
    return session, not missing


def _choose(session: QuerySession, there_is: bool) -> tuple[str, str]:
    """The strategy and the reason for it; `there_is` anything to choose by."""
    asked = session.options.strategy
    if asked != AUTO:
        find_strategy(asked)
        for sentence in without_effect(session.options, asked):
            raise InputError(f"{sentence}. Leave it out, or name another strategy")
        return asked, "asked for"
    if not there_is:
        return "graph", "there is nothing to choose by"
    chosen = session.route
    session.note(*([chosen.note] if chosen.note else []))
    session.note(*without_effect(session.options, chosen.strategy))
    return chosen.strategy, chosen.reason


# --- rank ------------------------------------------------------------------------------------


def _rank(session: QuerySession, name: str, found: RetrievalResult) -> RetrievalResult:
    """What was found, after the steps that options and settings enable.

    Behind what the question names exactly; with the passages of earlier versions.
    """
    options, settings = session.options, session.resources.settings
    by_setting = options.rerank and settings.llm.filter
    wanted = (
        options.rerank and session.resources.reranker is not None,
        by_setting if options.model_filter is None else options.model_filter,
        bool(settings.usage.weight),
        bool(settings.boost.fields or settings.boost.importance),
    )
    if any(wanted):
        from clew.search.rerank import boosted, by_usage, filtered, reranked

        for step, is_wanted in zip((reranked, filtered, by_usage, boosted), wanted, strict=True):
            found = step(session, found) if is_wanted else found
    finds = find_strategy(name).finds
    if finds == "exact":
        found = exact_first(session, found)
    return with_earlier(session, found, name) if finds in EVERYWHERE else found


# --- answer ----------------------------------------------------------------------------------


def _judge(
    session: QuerySession, strategy: Strategy, found: RetrievalResult, there_is: bool
) -> tuple[Hit, ...]:
    """The hits, with how sure each is; where the strategy did not judge, only if that is asked."""
    options = session.options
    asked = options.strategy == AUTO or "min_confidence" in options.given
    if there_is and not session.confidences and asked and strategy.finds in ("passages", "exact"):
        session.judge()
    looked_up = is_look_up(session.question) or asks_what_happened(session)
    if session.confidences and looked_up:
        _be_sure(session, found)
    with session.timings.step("expand"):
        hits = distinct_hits(session, found)
        if any(hit.chunk.told_of for hit in hits):
            # What holds at the time that is asked about first, each with its standing.
            standing, standings = by_standing(session, found)
            hits = tuple(
                replace(hit, chunk=replace(hit.chunk, standing=standings.get(hit.chunk.id)))
                for hit in distinct_hits(session, standing)
            )
    if session.confidences and not looked_up and not session.readings:
        with session.timings.step("confidence"):
            hits = without_unsaid(session, hits)
    return hits


def _be_sure(session: QuerySession, found: RetrievalResult) -> None:
    """Raise the confidence in passages that hold all that is looked up, or are named exactly.

    So are those of the time of which is asked what happened. The ranker learned from questions in
    sentences, and a mere name or date tells it too little.
    """
    ids = found.ranking.ids[: session.options.limit]
    holding = {*holding_all(session).tolist(), *found.scores.get("exact", {})}
    if asks_what_happened(session):
        holding.update(ids[dated_within(session, ids)].tolist())
    for place, id_ in enumerate(ids.tolist()):
        if id_ in holding:
            least = SURE[min(place, 1)]
            session.confidences[id_] = max(session.confidences.get(id_, 0.0), least)


def _answer(
    session: QuerySession, found: RetrievalResult, hits: tuple[Hit, ...], there_is: bool
) -> SearchResult:
    """The hits with their context, the entities that were asked for, and the notes."""
    options, embedder = session.options, session.resources.embedder
    with session.timings.step("assemble"):
        in_part = named_in_part(session, hits)
        stated = stated_by_hand(session, in_part) if there_is else ()
        wanted = hits and options.context
        blocks = found.arrange(session, hits) if wanted else []
        if wanted and not any(block.kind in ("path", "subgraph") for block in blocks):
            blocks = [*stated_block(stated), *blocks]
        if not options.context_passages:
            blocks = [block for block in blocks if block.kind != "passage"]
        context = assemble(blocks, options.max_tokens, embedder.count_tokens, embedder.name)
    if context.left_out:
        session.note(f"{context.left_out} parts of the context did not fit into it")
    if context.is_cut:
        session.note("max_tokens has no room for the best part of the context, which is cut")
    names = session.records.names
    named = [names[s.entity_id] for s in session.known_seeds if s.entity_id in names]
    return SearchResult(
        query=session.question,
        strategy="",
        reason="",
        hits=hits,
        context=context,
        stated=stated,
        entities=(*named, *in_part.values()),
        temporal=describe_time(session, hits),
        timings_ms=session.timings.milliseconds,
        min_confidence=options.min_confidence,
        notes=tuple(session.notes),
    )


# Search before the embedding model is loaded: keywords and graph, no vectors.


NOTE = (
    "the embedding model is still being loaded: passages were found by words and ties, not by"
    " meaning; ask again in a few seconds"
)


def answer_by_keywords(resources: SearchResources, question: str, options: Options) -> SearchResult:
    """What can be found without the model; the notes say so."""
    if options.strategy == "vector":
        options = replace(options, strategy="keyword")
    without = cast("SearchResources", _WithoutModel(resources))
    result = ask(without, question, replace(options, min_confidence=0.0))
    # How sure an answer is follows from its meaning, too.
    hits = tuple(replace(hit, confidence=None) for hit in result.hits)
    return replace(result, hits=hits, notes=(NOTE, *result.notes))


class _WithoutModel:
    """`SearchResources` without the embedding model: no passage is near to any question."""

    reader = reranker = None
    """They may have to be loaded, too."""

    def __init__(self, resources: SearchResources) -> None:
        self._resources = resources
        self.embedder = _NotYet(resources.embedder)
        self.vectors = self.text_vectors = _NothingNear(resources.vectors)
        # What is embedded here must not be taken for the model's.
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(1)

    def __getattr__(self, name: str) -> object:
        return getattr(self._resources, name)


@dataclass(frozen=True, slots=True)
class _NothingNear:
    index: VectorIndex

    def search_vector(
        self, vector: Vector, limit: int, allowed: Ids | None = None
    ) -> tuple[Ids, Scores]:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def vectors(self, chunk_ids: Sequence[int] | Ids) -> Vectors:
        return self.index.vectors(chunk_ids)


class _NotYet:
    """An embedder whose vectors are all zero; its tokens are the model's."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimension = embedder.name, embedder.dimension
        self.count_tokens = embedder.count_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), self.dimension), np.float32)

    def embed_query(self, text: str) -> Vector:
        return np.zeros(self.dimension, np.float32)
