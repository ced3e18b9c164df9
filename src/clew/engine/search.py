"""Asking: questions, and the part of the graph that matters to one."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

from clew.engine.state import AWAY, Resources
from clew.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.search.options import Moment, Options
    from clew.search.retrieval.entity_search import EntityHit
    from clew.search.strategies.subgraph import QuestionSubgraph
    from clew.types import (
        Fusion,
        SearchResult,
    )

_FROM_SETTINGS = (
    *("strategy", "limit", "max_tokens", "max_hops", "fusion", "alpha", "weights", "hierarchy"),
)
"""Options of a question whose defaults are settings of the same name."""


class SearchOptions(TypedDict, total=False):
    """What single strategies can be told; see `clew.search.options.Options` for each."""

    max_hops: int | None
    fusion: Fusion | None
    alpha: float | None
    weights: tuple[float, float, float] | None
    layer: str | None
    hierarchy: str | None
    level: int | None
    expand: bool
    sub_questions: bool
    rerank: bool
    explain: bool
    context: bool


class Asking(Resources):
    """Answering questions."""

    def search(
        self,
        question: str,
        *,
        strategy: str | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        where: Sequence[str] = (),
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        temporal: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResult:
        """The passages that answer the question, best first, each with why it was found.

        What is not given comes from the settings.

        Args:
            question: In words.
            strategy: How passages are found; `auto` lets the router choose and say why.
            limit: Passages, at most.
            max_tokens: Tokens of the assembled context, at most.
            where: Filters on metadata (`year>=2020`), inside the search.
            since: Only passages of this time or later: a date, or words such as "last week".
            until: Only passages of this time or earlier, the day or year named included.
            as_of: Ask the store as it stood, and of what held, at the end of that day.
            temporal: Keep to the period that the question names, ignore it, or prefer it (None).
            options: See `SearchOptions`.

        Raises `InputError` for an unknown strategy, for what names no time, for values that cannot
        be, and for a question longer than the setting `limits.question_characters`.
        """
        self._check_length("question", question)
        from clew.search.options import Options, parse_conditions, read_end, read_last, read_start

        defaults, now = self.settings.search, self._now()
        given = {"strategy": strategy, "limit": limit, "max_tokens": max_tokens, **options}
        return self._answer(
            question,
            Options(
                where=parse_conditions(where),
                since=read_start("since", since, now),
                until=read_end("until", until, now),
                as_of=read_last("as_of", as_of, now),
                temporal=temporal,
                now=now,
                **{
                    **{name: getattr(defaults, name) for name in _FROM_SETTINGS},
                    **{name: value for name, value in given.items() if value is not None},
                },
            ),
        )

    def _answer(self, question: str, options: Options) -> SearchResult:
        """The answer that is still known, or a new one."""
        with self.store.steady():
            return self._answer_steadily(question, options)

    def _answer_steadily(self, question: str, options: Options) -> SearchResult:
        from clew.search.retrieval.keyword_only import answer_by_keywords

        self._claim_embedder()
        started = time.perf_counter()
        # What is meant by "today" changes with the day alone.
        key = (self.store.generation(), question, replace(options, now=_midnight(options.now)))
        known = None if self.settings.usage.weight else self._answers.get(key)
        if known is not None:
            return replace(known, timings_ms={"cache": 1000 * (time.perf_counter() - started)})
        if self._answers_meanwhile and not self.ready:
            return answer_by_keywords(self, question, options)
        result = self._ask_settled(question, options)
        if self.settings.usage.weight:
            self.store.record_use([hit.chunk.id for hit in result.hits], options.now)
        if self.vectors_away is None:
            self._answers.put(key, result)
        return result

    def _ask_settled(self, question: str, options: Options) -> SearchResult:
        """The answer; asked once more where it came to nothing because all passages were replaced.

        Reindexing and restoring do that, and a question may be under way.
        """
        epoch = self.store.epoch()
        try:
            result = self._ask(question, options)
            if result.hits or self.store.epoch() == epoch:
                return result
        except StoreError:
            if self.store.epoch() == epoch:
                raise
        return self._ask(question, options)

    def _ask(self, question: str, options: Options) -> SearchResult:
        """The answer; where the vector index is away, by the store's own, and it says so."""
        from clew.search.pipeline import ask

        try:
            result = ask(self, question, options)
        except AWAY as error:  # it went away after it was brought up to date
            self._lose_vectors(error)
            result = ask(self, question, options)
        if self.vectors_away is None:
            return result
        note = f"{self.vectors_away}; the store's own vectors were searched in its place"
        return replace(result, notes=(note, *result.notes))

    def search_entities(
        self,
        question: str,
        *,
        depth: int = 2,
        limit: int = 10,
        vector_weight: float = 0.6,
        graph_weight: float = 0.4,
    ) -> tuple[list[EntityHit], tuple[str, ...]]:
        """Entities that answer a question, best first, and notes; see `query.entity_search`.

        Raises `InputError` for a depth outside 1 to 3.
        """
        self._check_length("question", question)
        from clew.search.retrieval.entity_search import search_entities
        from clew.search.retrieval.keyword_only import NOTE

        self._claim_embedder()
        waits = self.ready or not self._answers_meanwhile
        vector = self._query_vector(question) if waits else None
        hits = search_entities(
            self,
            question,
            vector,
            depth=depth,
            limit=limit,
            vector_weight=vector_weight,
            graph_weight=graph_weight,
        )
        return hits, () if waits else (NOTE,)

    def subgraph(
        self,
        question: str,
        *,
        hops: int | None = None,
        limit: int = 50,
        max_tokens: int | None = None,
    ) -> QuestionSubgraph:
        """The part of the graph that matters to a question, at most `limit` entities of it.

        It is the tree that ties the question's entities together at the least cost
        (prize-collecting Steiner tree); with `hops`, all that lies so near to them. As text it
        takes at most `max_tokens`. Raises `InputError` for a limit below 2 and for hops outside 1
        to 3.
        """
        self._check_length("question", question)
        from clew.search.options import Options
        from clew.search.strategies.subgraph import question_subgraph

        self._claim_embedder()
        options = Options(
            strategy="local",
            limit=limit,
            max_tokens=self.settings.search.max_tokens if max_tokens is None else max_tokens,
            now=self._now(),
        )
        return question_subgraph(self, question, options, self.entity_ranks, hops)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
