"""Durable jobs, and who wrote what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

JobStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
ItemStatus = Literal["waiting", "done", "failed"]
RETRY = "retry:"
"""What the idempotency key of a job that tries another again begins with; its id follows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Work that outlives the process that it was asked of."""

    id: str
    kind: str
    status: JobStatus
    completed: int
    """Documents done, those that failed among them."""
    total: int | None
    """None until the documents have been counted."""
    failed: int
    """Documents that failed; `items` say why."""
    description: str
    created_at: datetime
    updated_at: datetime
    error: str
    """Why the job as a whole failed, or is being tried again; else empty."""
    owner: str
    """Of the lease; empty where nobody runs it."""
    attempts: int
    """Claims since anything was last settled, or since a runner let go of its own accord."""
    arguments: Mapping[str, Any]
    """Empty once all is done, since a text is not kept twice; and of a job that ended otherwise,
    where they are too long to be kept."""
    retried_by: str = ""
    """The job that tries again what this one did not do; else empty."""

    @property
    def ended(self) -> bool:
        """Whether nothing will be done any more."""
        return self.status in ("completed", "failed", "cancelled")

    @property
    def can_retry(self) -> bool:
        """Whether something is left to do that a new job can do; a file is to be sent again."""
        left = self.failed or self.status in ("failed", "cancelled")
        known = self.kind == "reindex" or (self.arguments and "data" not in self.arguments)
        return bool(left and known) and self.ended and not self.retried_by

    @property
    def retry_key(self) -> str:
        """Idempotency key of the job that tries this one again."""
        return f"{RETRY}{self.id}"

    @property
    def progress(self) -> float:
        """0 to 1."""
        if self.status == "completed":
            return 1.0
        return min(1.0, self.completed / self.total) if self.total else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class JobItem:
    """One document of a job."""

    ordinal: int
    name: str
    status: ItemStatus
    error: str
    """Why it failed; else empty."""


class JobStore(Protocol):
    """Jobs that last; several processes may submit and run them at once.

    A job is run by the holder of its lease. `owner` names the lease: each of the methods that take
    one answers False, and changes no job, where the lease is another's by now or the job was
    cancelled.
    """

    def submit(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        *,
        description: str,
        key: str | None = None,
        lease_seconds: float | None = None,
        most: int | None = None,
    ) -> tuple[Job, bool]:
        """A new job and True, or the job that has this idempotency key and False.

        It is queued; with `lease_seconds` it is claimed at once by the caller. Raises `InputError`
        where the key belongs to a job of another kind or with other arguments, and where `most`
        jobs have not ended.
        """
        ...

    def job(self, job_id: str) -> Job | None:
        """A job by id."""
        ...

    def jobs(self, *, before: str | None = None, limit: int = 50) -> list[Job]:
        """Jobs, the newest first; those older than the job `before`."""
        ...

    def items(
        self, job_id: str, *, status: ItemStatus | None = None, after: int = -1, limit: int = 100
    ) -> list[JobItem]:
        """A job's documents with an ordinal above `after`, by ordinal."""
        ...

    def cancel(self, job_id: str) -> bool:
        """Cancel a job that has not ended; whether there was one. Its runner soon stops."""
        ...

    def forget(self, before: datetime) -> int:
        """Drop jobs that ended before that moment; how many."""
        ...

    def claim(self, lease_seconds: float) -> Job | None:
        """The oldest job that is queued or whose lease has run out, now leased to the caller.

        So has one that is to end much later than `lease_seconds` from now: the clock was set back.
        """
        ...

    def extend(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Let the lease last for so many seconds from now."""
        ...

    def plan(self, job_id: str, owner: str, names: Sequence[str]) -> bool:
        """Say which documents the job has, once."""
        ...

    def advance(self, job_id: str, owner: str, completed: int) -> bool:
        """Show how many documents are done, before they are settled."""
        ...

    def settle(self, job_id: str, owner: str, errors: Mapping[int, str | None]) -> bool:
        """Documents by ordinal that are done (None) or failed, and why; even of a cancelled job."""
        ...

    def release(self, job_id: str, owner: str, *, error: str = "", counted: bool = True) -> bool:
        """Put the job back into the queue; with an error, the attempt counts as one that failed.

        Unless it is not to be `counted`, since the job has nothing to do with the error.
        """
        ...

    def finish(self, job_id: str, owner: str, *, error: str = "") -> bool:
        """End the job: completed, or failed with an error."""
        ...


class RefusalLog(Protocol):
    """Documents that took more than a limit allows, and are not to be read again in vain."""

    def reason(self, source: str, state: str) -> str | None:
        """Why a document was refused in this very state (of itself and the limits); else None."""
        ...

    def refuse(self, source: str, state: str, reason: str) -> None:
        """Remember a refusal, in place of any earlier one of that source."""
        ...


AuditOutcome = Literal["done", "nothing", "refused", "failed", "unknown"]
"""`nothing`: what was to go was not there; `refused`: what was asked cannot be, or was not agreed
to; `failed`: any other error; `unknown`: the process ended meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """A change that somebody asked a tool for, and what became of it."""

    id: int
    recorded_at: datetime
    caller: str
    tool: str
    subjects: Mapping[str, Any]
    """Ids and names that it was about; never texts."""
    undo: Mapping[str, Any] | None = None
    """What takes it back (`clew.tools.undoing`); None for what cannot be, or was."""
    outcome: AuditOutcome = "unknown"


class AuditLog(Protocol):
    """Who changed what, when, through which tool."""

    def record(self, caller: str, tool: str, subjects: Mapping[str, Any]) -> int:
        """Add an entry, at this moment; its id."""
        ...

    def keep_undo(self, entry: int, undo: Mapping[str, Any] | None) -> None:
        """Say what takes the change of an entry back, or that nothing does any more."""
        ...

    def settle(self, entry: int, outcome: AuditOutcome) -> None:
        """Say what became of the call of an entry; until then it is unknown."""
        ...

    def entries(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Entries, the newest first; those with an id below `before`."""
        ...

    def forget(self, before: datetime) -> int:
        """Drop entries of before that moment; how many.

        Where it lies days back, the entries of as many days stay, whatever the clock says now.
        """
        ...
