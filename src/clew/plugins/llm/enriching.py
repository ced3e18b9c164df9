"""What a language model adds to a store that was indexed: facts, contexts, descriptions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

import numpy as np
from typing_extensions import TypeIs

from clew.engine.state import EngineState
from clew.errors import (
    BudgetError,
    InputError,
    ModelError,
    ModelUnavailableError,
    NoLanguageModelError,
    ReplyError,
    check_several,
)
from clew.hookspecs import there
from clew.plugins.llm.budget import Budget, estimate
from clew.plugins.llm.client import LanguageModelClient
from clew.ports import Described, Enriched, Enrichment, Estimate, Request
from clew.ports import Task as LlmTask
from clew.request_end import workers
from clew.stores.backend import Progress
from clew.stores.communities import Descriptions
from clew.stores.extractions import Enrichments
from clew.stores.state import Replies
from clew.types import EnrichmentReport, Skipped

if TYPE_CHECKING:
    from multiprocessing.pool import AsyncResult

    from clew.engine import Engine
    from clew.settings import LlmSettings

PASSAGES: tuple[Enriched, ...] = get_args(Enriched)
"""Kinds that are of passages."""
DESCRIBED: tuple[Described, ...] = get_args(Described)
KINDS: tuple[Enrichment, ...] = (*PASSAGES, *DESCRIBED)
_TASKS: Mapping[Enrichment, LlmTask] = {
    "context": "context",
    "extract": "extract",
    **dict.fromkeys(DESCRIBED, "summarise"),
}
_MADE_BY: Mapping[Enrichment, str] = {
    "context": "clew.plugins.llm.contexts:ModelContexts",
    "extract": "clew.plugins.llm.extraction:ModelExtraction",
    **dict.fromkeys(DESCRIBED, "clew.plugins.llm.descriptions:ModelDescriptions"),
}
"""The task of each kind, imported when it is asked for."""
AT_ONCE = 200
"""Passages taken back in one transaction."""
GROUP = 16
"""Works whose outcomes are stored together."""
MOST_FAILURES = 5
"""Works in a row that may fail before any succeeds; then it is not the passages that are wrong."""
KEYS: Mapping[Enrichment, tuple[str, ...]] = {
    "documents": ("document", "part"),
    "entities": ("entity",),
    "topics": ("topic", "theme"),
    "reports": ("community",),
    "links": ("link",),
}
"""Kinds of keys, by what is asked for."""


W = TypeVar("W")
Out = TypeVar("Out")


@dataclass(slots=True)
class Counts:
    """What came of all works of a task."""

    passages: int = 0
    """Done, those that failed not counted."""
    failed: dict[int | str, str] = field(default_factory=dict)
    """Why, by chunk id; or by what a description is of."""
    facts: int = 0
    """Stated with a quotation, and stored."""
    new_relations: int = 0
    """Those of them that no passage had stated before."""
    dropped: Counter[str] = field(default_factory=Counter)
    """What the model said and the text does not, by reason."""


@dataclass(slots=True)
class EnrichmentTask(ABC, Generic[W, Out]):
    """One kind of work that a language model does; nothing that it says is stored unchecked."""

    kind: Enrichment
    state: EngineState
    model: LanguageModelClient
    settings: LlmSettings
    total: Counts = field(default_factory=Counts, init=False)
    """What came of all works so far."""

    @property
    def log(self) -> Enrichments:
        """What was done of passages already."""
        return Enrichments(self.state.store.backend)

    @abstractmethod
    def reply_tokens(self, works: Sequence[W]) -> int:
        """Tokens of a reply on average, as far as nothing better is known."""

    @abstractmethod
    def works(self, document_ids: Sequence[str], *, retry: bool) -> Iterable[W]:
        """What is left to do in documents; with `retry`, also what failed."""

    def stage(self, work: W) -> int:
        """Works of an earlier stage are stored before those of a later one begin."""
        return 0

    @abstractmethod
    def requests(self, work: W) -> Sequence[Request]:
        """What the model is asked, as far as it is known beforehand."""

    @abstractmethod
    def ask(self, work: W) -> Out:
        """Have the model do one work; called in several threads.

        Raises `ModelError` where nothing came of it.
        """

    @abstractmethod
    def failed(self, work: W, reason: str) -> Out:
        """The outcome of a work of which nothing came."""

    @abstractmethod
    def record(self, outcomes: Sequence[Out]) -> None:
        """Store what came of some works; doing so again changes nothing."""


class Run(Generic[W, Out]):
    """One run of a task over its works."""

    def __init__(
        self, task: EnrichmentTask[W, Out], count: int, advance: Callable[[int], None]
    ) -> None:
        """`count` works are done at a time; `advance` is told how many are stored.

        It may raise to end the run.
        """
        self._task, self._count, self._advance = task, count, advance
        self._unstored: list[Out] = []
        self._done = self._failures = 0

    def over(self, works: Iterable[W]) -> None:
        """Do all works, in order; what is done when it stops is stored.

        Raises `BudgetError` where a limit is reached, `ModelUnavailableError` where the model is
        away, and the error of the last work where none succeeds.
        """
        under_way: deque[tuple[W, AsyncResult[Out]]] = deque()
        try:
            with workers(self._count) as pool:
                for work in works:
                    under_way.append((work, pool.apply_async(self._task.ask, (work,))))
                    if len(under_way) >= 2 * self._count:
                        self._settle(*under_way.popleft())
                while under_way:
                    self._settle(*under_way.popleft())
        finally:
            self._store()

    def _settle(self, work: W, asked: AsyncResult[Out]) -> None:
        try:
            outcome = asked.get()
            self._failures = 0
        except ModelError as error:
            # Whether the next works would fail, too.
            self._failures += not isinstance(error, ReplyError)
            if is_fatal(error) or self._failures >= MOST_FAILURES:
                raise
            outcome = self._task.failed(work, reason_of(error))
        self._unstored.append(outcome)
        if len(self._unstored) >= GROUP:
            self._store()

    def _store(self) -> None:
        if self._unstored:
            self._task.record(self._unstored)
            self._done += len(self._unstored)
            self._unstored = []
            self._advance(self._done)


class Enriching:
    """Enriches the passages of a store by its language model."""

    def __init__(self, engine: Engine) -> None:
        self._state = engine.state

    @property
    def _log(self) -> Enrichments:
        return Enrichments(self._state.store.backend)

    @property
    def _descriptions(self) -> Descriptions:
        return Descriptions(self._state.store.backend)

    def enrich(
        self,
        *kinds: Enrichment,
        documents: Sequence[str] | None = None,
        retry: bool = False,
        gleaning: bool | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        progress: Progress | None = None,
    ) -> list[EnrichmentReport]:
        """Have the model do what is left of each kind; a report of each that was begun.

        Args:
            kinds: `context`: words that situate each passage in its document; `extract`: names and
                facts, each fact with words that stand in its passage; `documents`: their summaries;
                `entities`: their descriptions; `topics`: their names, and those of themes;
                `reports`: those on communities; `links`: whether entities that may be one are
                one; each statement with words that it rests on.
            documents: Ids of documents; all of them without.
            retry: Ask again where the model failed before.
            gleaning: Ask a second time for what `extract` missed; None: `llm.gleaning`.
            max_tokens: Tokens that may be spent, `llm.max_tokens_spent` by default; 0: no limit.
            max_cost: US dollars, `llm.max_cost` by default; 0: no limit.
            progress: Told requests done, and of how many; may raise to end the work.

        What is done is kept, and so is each reply: cut short, it goes on where it was. Raises
        `SettingsError` without a language model.
        """
        check_several(documents=documents)
        check_kinds(kinds)
        model, reports = self._model(max_tokens, max_cost), list[EnrichmentReport]()
        for kind in kinds:
            reports.append(self._run(kind, model, documents, retry, gleaning, progress or _ignore))
            if reports[-1].stopped:
                break
        return reports

    def estimate(
        self,
        *kinds: Enrichment,
        documents: Sequence[str] | None = None,
        retry: bool = False,
        gleaning: bool | None = None,
    ) -> Mapping[Enrichment, Estimate]:
        """What `enrich` would take, by kind; nothing is asked.

        Judged by what the model's replies to such requests took before; without any, by the words
        and numbers of the texts, and a reply is taken for as long as most are.
        """
        check_several(documents=documents)
        check_kinds(kinds)
        ids = [document.id for document in self._state.store.documents(ids=documents)]
        model, past = self._model(None, None), Replies(self._state.store.backend).entries()
        found = {}
        for kind in kinds:
            task = self._task(kind, model, gleaning)
            task_of = _TASKS[kind]
            works = list(task.works(ids, retry=retry))
            requests = [request for work in works for request in task.requests(work)]
            asked = model.unknown(requests)
            same = [e for e in past if e.task == task_of and e.model == model.model_of(task_of)]
            cached = len(requests) - len(asked)
            reply = min(task.reply_tokens(works), model.settings.task(task_of).max_output_tokens)
            found[kind] = estimate(asked, cached, same, reply)
        return found

    def left(self, *kinds: Enrichment, retry: bool = False) -> list[str]:
        """Sources of the documents of which the model has not read everything."""
        check_kinds(kinds)
        store, ids = self._state.store, set[int]()
        for kind in PASSAGES:
            if kind in kinds:
                done = self._log.done(kind)
                read = [i for i, reason in done.items() if not (retry and reason)]
                ids |= set(np.setdiff1d(store.chunk_ids(), read).tolist())
        return sorted({chunk.source for chunk in store.chunks(sorted(ids))})

    def undo(self, kind: Enrichment, *, progress: Progress | None = None) -> int:
        """Take back all that the model added of a kind; in how many passages or other things."""
        check_kinds([kind])
        if is_described(kind):
            made = self._descriptions.descriptions(*KEYS[kind])
            with self._state.writing:
                self._descriptions.forget(list(made))
            return sum(not one.reason for one in made.values())
        log, say = self._log, progress or _ignore
        done = log.done(kind)
        ids = sorted(done)
        undo = log.undo_contexts if kind == "context" else log.undo_extraction
        for start in range(0, len(ids), AT_ONCE):
            say("undo", start, len(ids))
            with self._state.writing:
                undo(ids[start : start + AT_ONCE])
        if ids:
            self._state.persist()
        return sum(not reason for reason in done.values())

    def failures(self, kind: Enrichment) -> list[Skipped]:
        """Passages, or what was to be described, where the model failed, and why."""
        done: Mapping[Any, str]
        if is_described(kind):
            made = self._descriptions.descriptions(*KEYS[kind]).values()
            done = {one.name: one.reason for one in made}
        else:
            done = self._log.done(kind)
        return list(self._shown(kind, {i: reason for i, reason in done.items() if reason}))

    def all_failures(self) -> list[Skipped]:
        """The same of every kind."""
        return [one for kind in KINDS for one in self.failures(kind)]

    # --- one kind

    def _run(
        self,
        kind: Enrichment,
        model: LanguageModelClient,
        documents: Sequence[str] | None,
        retry: bool,
        gleaning: bool | None,
        progress: Progress,
    ) -> EnrichmentReport:
        began, before, stopped = time.perf_counter(), model.budget.spent, ""
        task = self._task(kind, model, gleaning)
        ids = [document.id for document in self._state.store.documents(ids=documents)]
        works = list(task.works(ids, retry=retry))
        run = Run(
            task, self._state.settings.llm.concurrency, lambda n: progress(kind, n, len(works))
        )
        progress(kind, 0, len(works))
        try:
            for _, stage in groupby(works, key=task.stage):
                run.over(stage)
        except (BudgetError, ModelUnavailableError) as error:
            stopped = str(error)
        if works:
            self._state.persist()
        spent = model.budget.spent
        return EnrichmentReport(
            kind=kind,
            done=task.total.passages,
            failed=self._shown(kind, task.total.failed),
            next_step=next_step(kind) if task.total.failed else "",
            facts=task.total.facts,
            new_relations=task.total.new_relations,
            dropped=dict(task.total.dropped),
            requests=spent.requests - before.requests,
            cached=spent.cached - before.cached,
            usage=spent.usage - before.usage,
            cost=spent.cost,
            seconds=time.perf_counter() - began,
            stopped=stopped,
        )

    def _task(
        self, kind: Enrichment, model: LanguageModelClient, gleaning: bool | None
    ) -> EnrichmentTask[Any, Any]:
        llm = self._state.settings.llm
        if gleaning is not None:
            llm = llm.model_copy(update={"gleaning": gleaning})
        if kind in ("topics", "reports"):
            self._state.update_communities()
        make: type[EnrichmentTask[Any, Any]] = there(_MADE_BY[kind])
        return make(kind, self._state, model, llm)

    def _model(self, max_tokens: int | None, max_cost: float | None) -> LanguageModelClient:
        """A client with a budget of its own."""
        state = self._state
        if state.language_provider is None:
            raise NoLanguageModelError
        llm, kept = state.settings.llm, Replies(state.store.backend)
        model = LanguageModelClient(state.language_provider, llm, kept)
        model.budget = Budget(
            llm.max_tokens_spent if max_tokens is None else max_tokens,
            llm.max_cost if max_cost is None else max_cost,
        )
        return model

    def _shown(self, kind: Enrichment, failed: Mapping[Any, str]) -> tuple[Skipped, ...]:
        named = {name: name for name in failed}
        if kind in PASSAGES:
            chunks = self._state.store.chunks(list(failed))
            named = {chunk.id: chunk.public_id for chunk in chunks}
        return tuple(Skipped(source=name, reason=failed[id_]) for id_, name in named.items())


enriching = property(Enriching)
enrich = property(lambda engine: engine.enriching.enrich)


def is_described(kind: Enrichment) -> TypeIs[Described]:
    """Whether it is no enrichment of single passages."""
    return kind in DESCRIBED


def check_kinds(kinds: Sequence[Any]) -> None:
    """Raise `InputError` where nothing, or something unknown, is asked for."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        given = repr(unknown[0]) if unknown else "nothing"
        raise InputError(f"{given} cannot be enriched; expected {' or '.join(KINDS)}")


def _ignore(step: str, done: int, total: int | None) -> None:
    """Takes progress where nobody asked for it."""


def is_fatal(error: ModelError) -> bool:
    """Whether nothing more can be asked: the budget is spent, or the model is away."""
    if isinstance(error, ModelUnavailableError):
        return not error.reached
    return isinstance(error, BudgetError)


def reason_of(error: ModelError) -> str:
    """Why a work failed, in a line."""
    said = " ".join(str(error).split())[:300]
    return f"{error.reason}: {said}" if isinstance(error, ReplyError) else said


def next_step(kind: str) -> str:
    """What to do about works that failed."""
    return (
        f"clew enrich --{kind} --retry asks again for what failed; clew stats --llm --failures"
        " says what failed and why"
    )
