"""One attempt to do a job: what is left of its documents, in groups, then what follows them."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from clew.errors import ClewError, InputError, MissingExtraError, StoreError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from clew.ports import Job, JobStore

logger = logging.getLogger("clew")

GROUP = 16
"""Documents done in one go: what comes after them, such as writing the vectors, is paid once."""
MAX_ATTEMPTS = 5
"""Attempts without any document done; then the next one is taken to be at fault."""


class Kind(Protocol):
    """What the jobs of one kind do."""

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """Names of the documents to do. Raises `InputError` where there are none."""
        ...

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """Do some of the documents; for each one None, or why it failed.

        Doing one again that was done must change nothing. Calls `advance` between two
        documents with how many are done; `advance` may raise `JobStopped`.
        """
        ...

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """Do what is left once every document is done; again where it was cut short.

        `go_on` is to be called now and then, and may raise `JobStopped`.
        """
        ...


class JobStopped(Exception):
    """The job is not to be gone on with: cancelled, taken over, or the runner closes."""


class Attempt:
    """An attempt to do a job that is leased to its owner; it stops where the runner closes."""

    def __init__(
        self, store: JobStore, job: Job, kinds: Mapping[str, Kind], closing: threading.Event
    ) -> None:
        kind = kinds.get(job.kind)
        if kind is None:
            raise StoreError(f"this Clew knows no jobs of kind {job.kind!r}; upgrade it")
        self._store = store
        self._job = job
        self._kind = kind
        self._closing = closing

    def run(self) -> str:
        """Do every document that is not done; why the job failed as a whole, or nothing.

        Raises `JobStopped`, and `ClewError` where the documents are not at fault.
        """
        job = self._job
        exhausted = job.attempts > MAX_ATTEMPTS
        if job.total is None:
            if exhausted:
                raise StoreError(f"given up after {MAX_ATTEMPTS} attempts. {job.error}".strip())
            self._go_on(self._store.plan(job.id, job.owner, self._kind.plan(job.arguments)))
        # After an attempt that failed one by one, to find the document that is at fault.
        size = 1 if job.attempts > 1 else GROUP
        while items := self._store.items(job.id, status="waiting", limit=size):
            self._go_on(not self._closing.is_set())
            if exhausted:
                errors: Sequence[str | None] = [_given_up(job)]
                exhausted = False
            else:
                errors = self._do([item.name for item in items], items[0].ordinal)
            outcome = {item.ordinal: error for item, error in zip(items, errors, strict=True)}
            self._go_on(self._store.settle(job.id, job.owner, outcome))
        if exhausted:
            raise StoreError(_given_up(job))
        self._kind.finish(job.arguments, partial(self._advance, self._now().completed))
        return self._verdict()

    def _do(self, names: Sequence[str], done: int) -> Sequence[str | None]:
        """Do some documents together; where that fails, each by itself."""
        job = self._job
        try:
            return self._kind.run(job.arguments, names, lambda number: self._advance(done + number))
        except JobStopped:
            raise
        except (InputError, MissingExtraError) as error:
            reason = str(error)
        except ClewError:  # of the store or the model: the documents are not at fault
            raise
        except Exception:
            logger.exception("job %s (%s) failed at %s", job.id, job.kind, names)
            reason = "failed inside Clew; the log says why"
        if len(names) == 1:
            return [reason]
        return [self._do([name], done + i)[0] for i, name in enumerate(names)]

    def _advance(self, completed: int) -> None:
        self._go_on(self._store.advance(self._job.id, self._job.owner, completed))
        self._go_on(not self._closing.is_set())

    def _go_on(self, may: bool) -> None:
        if not may:
            raise JobStopped

    def _now(self) -> Job:
        job = self._store.job(self._job.id)
        if job is None:
            raise JobStopped
        return job

    def _verdict(self) -> str:
        job = self._now()
        if not job.total or job.failed < job.total:
            return ""
        first = self._store.items(job.id, status="failed", limit=1)[0].error
        return first if job.total == 1 else f"all {job.total} documents failed; the first: {first}"


def _given_up(job: Job) -> str:
    cause = job.error or "each time the process ended while it was read"
    return f"given up after {MAX_ATTEMPTS} attempts: {cause}"
