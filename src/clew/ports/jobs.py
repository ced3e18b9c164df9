"""Durable jobs, and who wrote what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

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
