"""Answering questions.

The steps of search are imported when the first question is asked.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

from clew.engine.vector_index import AWAY
from clew.errors import NotFoundError, StoreError, check_several
from clew.search.cache import RecentlyUsed
from clew.settings.place import NAMESPACE
from clew.wiring import store_exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from clew.engine.state import EngineState
    from clew.filters import Where
    from clew.ports.language_model import LanguageModel
    from clew.search.options import Moment, Options
    from clew.types import Fusion, SearchResult

_FROM_SETTINGS = (
    *("strategy", "limit", "max_tokens", "max_hops", "fusion", "alpha", "weights", "hierarchy"),
    "min_confidence",
)
"""Options of a question whose defaults are settings of the same name."""


COMMUNITIES_MADE = "communities and topics were made first, for this question"


class SearchOptions(TypedDict, total=False):
    """What single strategies can be told; see `clew.search.options.Options` for each."""

    max_hops: int | None
    fusion: Fusion | None
    alpha: float | None
    weights: tuple[float, float, float] | None
    layer: str | None
    hierarchy: str | None
    level: int | None
    min_confidence: float | None
    expand: bool
    sub_questions: bool
    rerank: bool
    model_filter: bool | None
    model: LanguageModel | None
    explain: bool
    context: bool
    context_passages: bool


ASKED_AGAIN = 5
"""How often a question is asked at another state of the store before an error is told."""


class Search:
    """Answers questions; the answers are kept until the store changes."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self.collection: Callable[[str], AbstractContextManager[Search]] = self._opened
        """Another namespace of the same place, to be asked with this one; a server has its own."""
        size = state.settings.search.cache
        self._answers: RecentlyUsed[object, SearchResult] = RecentlyUsed(size)
        self._turns = threading.BoundedSemaphore(os.cpu_count() or 1)

    def search(
        self,
        question: str,
        *,
        strategy: str | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        where: Where = (),
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        temporal: bool | None = None,
        namespaces: Sequence[str] = (),
        rag_type: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResult:
        """The passages that answer the question, best first, each with why it was found.

        What is not given comes from the settings.

        Args:
            question: In words.
            strategy: How passages are found; `auto` lets the router choose and say why.
            limit: Passages, at most.
            max_tokens: Tokens of the assembled context, at most.
            where: Filters on metadata, inside the search: `year >= 2020 and not draft = true`, the
                same as data, or a list of which all must be met; see docs/filters.md.
            since: Only passages of this time or later: a date, or words such as "last week".
            until: Only passages of this time or earlier, the day or year named included.
            as_of: Ask the store as it stood, and of what held, at the end of that day.
            temporal: Keep to the period that the question names, ignore it, or prefer it (None).
            namespaces: Collections to ask in place of this one, their answers fused by rank.
            rag_type: `traditional`, `contextual` or `graph`, in place of a strategy.
            options: See `SearchOptions`.

        Raises `NotFoundError` for a namespace that there is not, `InputError` for an unknown
        strategy, for what names no time, for values that cannot be, and for a question longer than
        the setting `limits.question_characters`.
        """
        self._state.check_length("question", question)
        from clew.filters import read_where
        from clew.search.options import (
            Options,
            rag_defaults,
            read_end,
            read_last,
            read_start,
        )

        defaults, now = self._state.settings.search, self._state.now()
        kind = rag_type if rag_type and strategy is None else ""
        given = {"strategy": strategy, "limit": limit, "max_tokens": max_tokens, **options}
        checked = Options(
            where=read_where(where),
            since=read_start("since", since, now),
            until=read_end("until", until, now),
            as_of=read_last("as_of", as_of, now),
            temporal=temporal,
            now=now,
            rag_type=kind,
            given=frozenset(name for name, value in options.items() if value is not None),
            **{
                **{name: getattr(defaults, name) for name in _FROM_SETTINGS},
                **(rag_defaults(rag_type) if rag_type else {}),
                **{name: value for name, value in given.items() if value is not None},
            },
        )
        return self._answers_of(namespaces, question, checked)

    def _answers_of(
        self, namespaces: Sequence[str], question: str, options: Options
    ) -> SearchResult:
        """The answer of this collection, or one of all those named."""
        check_several(namespaces=namespaces)
        if not namespaces:
            return self._answer(question, options)
        from clew.search.answer.collections import fuse_collections

        found = {}
        for name in dict.fromkeys(namespaces):
            with self.collection(name) as searched:
                found[name] = searched._answer(question, options)
        return fuse_collections(
            found,
            limit=options.limit,
            max_tokens=options.max_tokens,
            count_tokens=self._state.embedder.count_tokens,
        )

    @contextmanager
    def _opened(self, namespace: str) -> Iterator[Search]:
        """The search of a namespace, opened for one question; raises `NotFoundError`."""
        state = self._state
        if namespace == state.settings.namespace:
            yield self
            return
        from clew.engine.state import EngineState

        settings = state.settings.model_copy(update={"namespace": namespace})
        if not re.fullmatch(NAMESPACE, namespace) or not store_exists(settings):
            raise NotFoundError(f"there is no namespace {namespace!r}; name one that has documents")
        other = EngineState(
            settings,
            embedder=state.embedder,
            reranker=state.reranker,
            language_model=state.language_model,
        )
        other.query_vectors = state.query_vectors
        try:
            yield Search(other)
        finally:
            other.close()

    def _answer(self, question: str, options: Options) -> SearchResult:
        """The answer that is still known, or a new one."""
        from clew.search.retrieval.keyword_only import answer_by_keywords

        state, usage = self._state, self._state.settings.usage
        with state.store.pinned_generation():
            state.bind_embedder()
            started = time.perf_counter()
            # What is meant by "today" changes with the day alone.
            day = replace(options, now=_midnight(options.now))
            # Python takes True for 1, filters do not.
            key = (state.store.generation(), state.packs.names, question, day, repr(day.where))
            known = None if usage.weight else self._answers.get(key)
            if known is not None:
                return replace(known, timings_ms={"cache": 1000 * (time.perf_counter() - started)})
            if state.keyword_only:
                return answer_by_keywords(state, question, options)
            made = state.communities_made
            result = self._ask_settled(question, options)
            if usage.weight:
                state.store.record_use([hit.chunk.id for hit in result.hits], options.now)
            if state.vector_index.away is None:
                self._answers.put(key, result)
            if state.communities_made > made:
                return replace(result, notes=(*result.notes, COMMUNITIES_MADE))
            return result

    def _ask_settled(
        self, question: str, options: Options, again: int = ASKED_AGAIN
    ) -> SearchResult:
        """The answer; asked again where the store changed, and the answer came to nothing by it.

        Whoever writes may replace all passages that a question finds, or one before its embedding
        is read.
        """
        store = self._state.store
        try:
            found: SearchResult | StoreError = self._ask(question, options)
        except StoreError as error:
            found = error
        if not isinstance(found, StoreError) and found.hits:
            return found
        before = store.generation()
        with store.pinned_generation(anew=True):
            if again and store.generation() != before:
                return self._ask_settled(question, options, again - 1)
        if isinstance(found, StoreError):
            raise found
        return found

    def _ask(self, question: str, options: Options) -> SearchResult:
        """The answer; where the vector index is away, by the store's own, and it says so."""
        from clew.search.pipeline import ask

        index = self._state.vector_index
        with self._turn():
            try:
                result = ask(self._state, question, options)
            except AWAY as error:  # it went away after it was brought up to date
                index.lose(error)
                result = ask(self._state, question, options)
        if index.away is None:
            return result
        note = f"{index.away}; the store's own vectors were searched in its place"
        return replace(result, notes=(note, *result.notes))

    def _turn(self) -> AbstractContextManager[object]:
        """Of a few questions at a time, where they wait for nothing but the processor.

        More would only take it from each other.
        """
        state, settings = self._state, self._state.settings
        is_here = settings.vectors == "store" and "://" not in str(settings.store)
        return self._turns if is_here and state.language_provider is None else nullcontext()


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
