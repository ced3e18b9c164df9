"""Answering questions.

The steps of search are imported when the first question is asked.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypedDict, Unpack, get_args

from clew.engine.state import AWAY, EngineState, Models
from clew.errors import (
    InputError,
    ModelUnavailableError,
    NotFoundError,
    SettingsError,
    StoreError,
    check_options,
    check_several,
)
from clew.filters import Where, read_where
from clew.models.given import OwnVectors
from clew.ports import Estimate, LanguageModel, ModelClient
from clew.request_end import request
from clew.search.options import Moment, Options, rag_defaults, read_end, read_last, read_start
from clew.search.session import RecentlyUsed
from clew.settings.place import NAMESPACE
from clew.stores.backend import check_characters
from clew.types import Answer, AnswerMode, Fusion, RagType, SearchResult, StrategyName
from clew.wiring import store_exists

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_FROM_SETTINGS = (
    *("strategy", "limit", "max_tokens", "max_hops", "fusion", "alpha", "weights", "hierarchy"),
    "min_confidence",
)
"""Options of a question whose defaults are settings of the same name."""


COMMUNITIES_MADE = "communities and topics were made first, for this question"


class _Choices(TypedDict, total=False):
    max_hops: int | None
    fusion: Fusion | None
    alpha: float | None
    weights: tuple[float, float, float] | None
    layer: str | None
    hierarchy: str | None
    level: int | None
    min_confidence: float | None
    fast: bool
    rerank: bool
    rerank_weight: float | None
    per_document: int | None
    model_filter: bool | None
    explain: bool
    context: bool


class SearchOptions(_Choices, total=False):
    """What single strategies can be told; see `clew.search.options.Options` for each."""

    model: LanguageModel | None
    context_passages: bool


class Asked(_Choices, total=False):
    """The options of `Search.search`, for what asks it in turn."""

    vector: ArrayLike | None
    strategy: StrategyName | None
    limit: int | None
    max_tokens: int | None
    where: Where
    since: Moment | None
    until: Moment | None
    as_of: Moment | None
    temporal: bool | None
    namespaces: Sequence[str]
    rag_type: RagType | None


class AskOptions(Asked, total=False):
    """The options of `Ask.ask`, but what is told meanwhile."""

    mode: AnswerMode
    steps: int | None
    max_tokens_spent: int | None
    max_cost: float | None
    model: ModelClient | None


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
        question: str = "",
        *,
        vector: ArrayLike | None = None,
        strategy: StrategyName | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        where: Where = (),
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        temporal: bool | None = None,
        namespaces: Sequence[str] = (),
        rag_type: RagType | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResult:
        """The passages that answer the question, best first, each with why it was found.

        What is not given comes from the settings.

        Args:
            question: In words.
            vector: The question's embedding, where the caller brings it; without words, the
                passages nearest to it are found.
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

        Example:
            >>> result = store.search("Who taught the builder of the Ostrava clock?", limit=2)
            >>> [(hit.chunk.source, [step.entity for step in hit.path]) for hit in result.hits]
            [('teacher', ['The clock', 'Ada Marsh']), ('clock', ['The clock'])]
        """
        self._state.check_length("question", question)
        check_options(options, SearchOptions)
        brought = None if vector is None else self._state.unit(vector)
        if brought and not question.strip():
            strategy = strategy or "vector"
        if strategy == "vector" and not brought and isinstance(self._state.embedder, OwnVectors):
            raise InputError(
                "the vectors of this store are brought: give the question's as vector="
            )

        defaults, now = self._state.settings.search, self._state.now()
        kind = rag_type if rag_type and strategy is None else ""
        given = {"strategy": strategy, "limit": limit, "max_tokens": max_tokens, **options}
        checked = Options(
            where=() if where == () else read_where(where),
            since=read_start("since", since, now),
            until=read_end("until", until, now),
            as_of=read_last("as_of", as_of, now),
            temporal=temporal,
            now=now,
            rag_type=kind,
            vector=brought,
            given=frozenset(name for name, value in options.items() if value is not None),
            **{
                **{name: getattr(defaults, name) for name in _FROM_SETTINGS},
                **(rag_defaults(rag_type) if rag_type else {}),
                **{name: value for name, value in given.items() if value is not None},
            },
        )
        check_several(namespaces=namespaces)
        if not namespaces:
            return self._answer(question, checked)
        from clew.search.answer.blocks import fuse_collections

        found = {}
        for name in dict.fromkeys(namespaces):
            with self.collection(name) as searched:
                found[name] = searched._answer(question, checked)
        return fuse_collections(
            found,
            limit=checked.limit,
            max_tokens=checked.max_tokens,
            count_tokens=self._state.embedder.count_tokens,
        )

    @contextmanager
    def _opened(self, namespace: str) -> Iterator[Search]:
        """The search of a namespace, opened for one question; raises `NotFoundError`."""
        state = self._state
        if namespace == state.settings.namespace:
            yield self
            return

        settings = state.settings.model_copy(update={"namespace": namespace})
        if not re.fullmatch(NAMESPACE, namespace) or not store_exists(settings):
            raise NotFoundError(f"there is no namespace {namespace!r}; name one that has documents")
        # What its model spends is counted with this one's.
        models: Models = {**state.models, "language_model": state.language_model}
        other = EngineState(settings, **models)
        other.query_vectors = state.query_vectors
        try:
            yield Search(other)
        finally:
            other.close()

    def _answer(self, question: str, options: Options) -> SearchResult:
        """The answer that is still known, or a new one."""
        from clew.search.pipeline import answer_by_keywords

        state, usage = self._state, self._state.settings.usage
        with state.store.pinned_generation():
            state.bind_embedder()
            started = time.perf_counter()
            # What is meant by "today" changes with the day alone.
            day = replace(
                options, now=options.now.replace(hour=0, minute=0, second=0, microsecond=0)
            )
            # Python takes True for 1, filters do not.
            key = (state.store.generation(), state.packs.names, question, day, repr(day.where))
            known = None if usage.weight else self._answers.get(key)
            if known is not None:
                return replace(known, timings_ms={"cache": 1000 * (time.perf_counter() - started)})
            if state.keyword_only:
                return answer_by_keywords(state, question, options)
            made = state.communities_made
            try:
                result = self._ask_settled(question, options)
            except ModelUnavailableError as error:  # the embedder's server; the rest does without
                note = f"passages were found by words and ties, not by meaning: {error}"
                return answer_by_keywords(state, question, options, note)
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


# Answering questions in words.


STEPS, MOST_STEPS = 4, 10
"""Searches of one question where `mode` is `stepwise`: where nothing is said, and at most."""
WITHOUT_MODEL = "no language model is configured: this is quoted from the documents"
ONE_SEARCH = "searched once: what else to search for takes a language model (setting llm.provider)"
_OVERVIEW_PASSAGES = 60
"""Passages behind the reports of one answer, at most."""


class Ask:
    """Answers questions by what a search finds, and a language model where there is one."""

    def __init__(self, state: EngineState, search: Search) -> None:
        self._state, self._search = state, search

    def ask(
        self,
        question: str,
        *,
        mode: AnswerMode = "one_shot",
        steps: int | None = None,
        max_tokens_spent: int | None = None,
        max_cost: float | None = None,
        tell: Callable[[str], None] | None = None,
        model: ModelClient | None = None,
        **options: Unpack[Asked],
    ) -> Answer:
        """The answer in statements, each with the words of the documents that support it.

        Args:
            question: In words.
            mode: `one_shot`: one search; `stepwise`: the question's parts, and what is still
                missing, are searched for, too; `global`: each community report is asked.
            steps: Searches of `stepwise`, 1 to 10; None: 4.
            max_tokens_spent: Tokens that the model may read and write; None: those of the settings.
            max_cost: US dollars, where prices are known; None: those of the settings.
            tell: Called with each piece of the answer as soon as it was checked.
            model: Asked in place of the store's own.
            options: Those of `search`.

        Without a language model, or where it fails, it is one sentence of the documents; of a whole
        what the strategy made of it, such as reports; where nothing is likely to answer, none, and
        the sources are the nearest passages.
        Raises what `search` raises, and `InputError` for a mode or steps that cannot be.

        Example:
            >>> print(store.ask("Who taught Ada Marsh?").text)
            “Ada Marsh was taught by Ivo Quill in Lund.” [1]
        """
        from clew.search.answer.quoted import quoted_answer, with_stated

        steps, search = self._checked(question, mode, steps, options)
        model, tell = model or self._state.language_model, tell or (lambda piece: None)
        if model is not None:
            # Another collection's text is not kept in this one.
            model = model.limited(max_tokens_spent, max_cost, keep=not options.get("namespaces"))
            return model.answer(question, search, tell, mode=mode, steps=steps)
        found, asked = search(question), (question,) * (mode == "stepwise")
        if asked and steps > 1:
            found = replace(found, notes=tuple(dict.fromkeys((ONE_SEARCH, *found.notes))))
        began, found = time.perf_counter(), found if mode == "global" else with_stated(found)
        made = quoted_answer(found, tell, began, [WITHOUT_MODEL] * found.reached)
        return replace(made, mode=mode, questions=asked)

    @contextmanager
    def streamed(
        self,
        question: str,
        **options: Unpack[AskOptions],
    ) -> Iterator[tuple[Iterator[str], Callable[[], Answer]]]:
        """Ask, and go through the answer while it is written; the options are those of `ask`.

        Gives the pieces, each as soon as it was checked, and what returns the whole answer. Both
        raise what `ask` raises. Leaving the block early ends the work.

        Example:
            >>> with store.streamed("Who taught Ada Marsh?") as (pieces, answer):
            ...     print("".join(pieces))
            “Ada Marsh was taught by Ivo Quill in Lund.” [1]
        """
        told: SimpleQueue[str | None] = SimpleQueue()

        def work() -> Answer:
            try:
                return self.ask(question, tell=told.put, **options)
            finally:
                told.put(None)

        with request() as end, ThreadPoolExecutor(1, "clew-answer") as threads:
            made = threads.submit(copy_context().run, work)

            def pieces() -> Iterator[str]:
                yield from iter(told.get, None)
                made.result()

            try:
                yield pieces(), made.result
            finally:
                end()

    def warm(self, limit: int | None = None) -> None:
        """Have a local model loaded in the background while passages are found, `limit` at most.

        `search.limit` of them without it. Where that fails, the answer says so.

        Example:
            >>> store.warm()  # nothing without a language model
        """
        settings, model = self._state.settings, self._state.language_model
        if model is not None:
            found = settings.search.limit if limit is None else limit
            model.warm(found, settings.split.chunk_tokens)

    def estimate(
        self,
        question: str,
        *,
        mode: AnswerMode = "one_shot",
        steps: int | None = None,
        **options: Unpack[Asked],
    ) -> Estimate:
        """What an answer would take, at most where replies decide what is asked next.

        The model is not asked. Judged by its replies so far, as `enrich` is. Raises
        `SettingsError` without a model, and what `ask` raises.

        Example:
            >>> store.estimate("Who taught Ada Marsh?")
            Traceback (most recent call last):
                ...
            clew.errors.SettingsError: no language model is configured, ...
        """
        model = self._state.language_model
        if model is None:
            raise SettingsError(
                "no language model is configured, so nothing is spent: set llm.provider and"
                " llm.model"
            )
        steps, search = self._checked(question, mode, steps, options)
        return model.estimate_answer(question, search, mode=mode, steps=steps)

    def _checked(
        self, question: str, mode: str, steps: int | None, options: Asked
    ) -> tuple[int, Callable[..., SearchResult]]:
        """The steps, and the search that the mode needs; raises `InputError`."""
        check_options(options, Asked)
        self._state.check_length("question", question)
        check_characters(question)
        if mode not in get_args(AnswerMode):
            modes = ", ".join(get_args(AnswerMode))
            raise InputError(f"mode {mode!r} cannot be; expected one of {modes}")
        if not question.strip():
            raise InputError("there is no question; say what is asked of the documents")
        if steps is not None and mode != "stepwise":
            raise InputError(f"steps {steps} has no effect on the mode {mode}; it is for stepwise")
        steps = STEPS if steps is None else steps
        if not 1 <= steps <= MOST_STEPS:
            raise InputError(f"steps {steps!r} cannot be; expected 1 to {MOST_STEPS}")
        if mode == "global":
            if options.get("strategy") not in (None, "global"):
                raise InputError(
                    "mode 'global' asks community reports, not passages by"
                    f" {options['strategy']!r}; leave the strategy out, or the mode"
                )
            limit = options.get("limit") or _OVERVIEW_PASSAGES
            options = {**options, "strategy": "global", "limit": limit}
        return steps, partial(self._search.search, context_passages=False, **options)
