"""Driving a task of a language model: some works at a time, and nothing lost where it stops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from clew.errors import BudgetError, ModelError, ModelUnavailableError, ReplyError
from clew.ports import LanguageModel, Reply, Request
from clew.workers import Workers

if TYPE_CHECKING:
    from concurrent.futures import Future


W = TypeVar("W")
Out = TypeVar("Out")

GROUP = 16
"""Works whose outcomes are stored together."""
MOST_FAILURES = 5
"""Works in a row that may fail before any succeeds; then it is not the passages that are wrong."""


class CheckedModel(LanguageModel, Protocol):
    """A language model whose kept replies may turn out to be of no use."""

    def kept(self, request: Request) -> Reply | None:
        """The reply to a request that was answered before; nothing is asked."""
        ...

    def reject(self, request: Request, reason: str) -> None:
        """Forget the reply to a request, so that it can be asked for again."""
        ...


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


class EnrichmentTask(ABC, Generic[W, Out]):
    """One kind of work that a language model does."""

    total: Counts
    """What came of all works so far."""

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
        self, task: EnrichmentTask[W, Out], workers: int, advance: Callable[[int], None]
    ) -> None:
        """`advance` is told how many works are stored; it may raise to end the run."""
        self._task = task
        self._workers = workers
        self._advance = advance
        self._unstored: list[Out] = []
        self._done = self._failures = 0

    def over(self, works: Iterable[W]) -> None:
        """Do all works, in order; what is done when it stops is stored.

        Raises `BudgetError` where a limit is reached, `ModelUnavailableError` where the model is
        away, and the error of the last work where none succeeds.
        """
        under_way: deque[tuple[W, Future[Out]]] = deque()
        with Workers(self._workers, "clew-enrich") as pool:
            try:
                for work in works:
                    under_way.append((work, pool.submit(partial(self._task.ask, work))))
                    if len(under_way) >= 2 * self._workers:
                        self._settle(*under_way.popleft())
                while under_way:
                    self._settle(*under_way.popleft())
            finally:
                for _, future in under_way:
                    future.cancel()
                self._store()

    def _settle(self, work: W, future: Future[Out]) -> None:
        try:
            outcome = future.result()
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
