"""Durable jobs and the audit log in the store's own file.

A job is run by whoever holds its lease: a name (`owner`) that is made anew with every claim, and a
moment until which it counts. Every write of a runner names its owner and finds nothing to change
once another has taken over, or once the job was cancelled.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.ports import AuditEntry, Job, JobItem
from clew.stores.sqlite_documents import now, to_text

if TYPE_CHECKING:
    from clew.ports import ItemStatus
    from clew.stores.sqlite_connection import Database

_JOBS_AND_AUDIT = """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    -- Growing by one: jobs are run in the order in which they came.
    number INTEGER NOT NULL UNIQUE,
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    lease_until REAL NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    total INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    idempotency_key TEXT UNIQUE,
    digest TEXT NOT NULL,
    description TEXT NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    arguments TEXT NOT NULL
);
CREATE INDEX jobs_to_do ON jobs (status, number);

CREATE TABLE job_items (
    job_id TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'done', 'failed')),
    name TEXT NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, ordinal)
) WITHOUT ROWID;
CREATE INDEX job_items_by_status ON job_items (job_id, status, ordinal);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    recorded_at TEXT NOT NULL,
    caller TEXT NOT NULL,
    tool TEXT NOT NULL,
    subjects TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (recorded_at)
"""

_JOB = """
SELECT id, kind, status, completed, total, description, created_at, updated_at, error, owner,
    attempts, arguments,
    (SELECT count(*) FROM job_items i WHERE i.job_id = jobs.id AND i.status = 'failed')
FROM jobs
"""
_OURS = "id = :id AND owner = :owner AND status = 'running'"
_CLAIMABLE = "status = 'queued' OR (status = 'running' AND lease_until < :now)"


def m004_jobs_and_audit(connection: sqlite3.Connection) -> None:
    """Jobs with their documents, and who changed what through which tool; none at first."""
    for statement in _JOBS_AND_AUDIT.split(";\n"):
        connection.execute(statement)


class SqliteJobs:
    """`ports.JobStore` in the file of a `SqliteStore`, whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- asking for jobs

    def submit(
        self,
        kind: str,
        arguments: Mapping[str, Any],
        *,
        description: str,
        key: str | None = None,
        lease_seconds: float | None = None,
    ) -> tuple[Job, bool]:
        """See `ports.JobStore`."""
        text = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(f"{kind}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        with self._database.write() as connection:
            if key is not None and (known := _keyed(connection, key, digest)):
                return known, False
            job_id, moment = secrets.token_hex(8), now()
            connection.execute(
                "INSERT INTO jobs (id, kind, status, number, created_at, updated_at,"
                " idempotency_key, digest, description, arguments) SELECT ?, ?, 'queued',"
                " coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? FROM jobs",
                (job_id, kind, moment, moment, key, digest, description, text),
            )
            if lease_seconds is not None:
                _lease(connection, job_id, lease_seconds)
            return _read(connection, job_id), True

    def job(self, job_id: str) -> Job | None:
        """See `ports.JobStore`."""
        with self._database.read() as connection:
            return _find(connection, job_id)

    def jobs(self, *, before: str | None = None, limit: int = 50) -> list[Job]:
        """See `ports.JobStore`."""
        below = "(SELECT number FROM jobs WHERE id = ?)"
        with self._database.read() as connection:
            rows = connection.execute(
                f"{_JOB} WHERE ? IS NULL OR number < {below} ORDER BY number DESC LIMIT ?",
                (before, before, limit),
            )
            return [_job(*row) for row in rows]

    def items(
        self,
        job_id: str,
        *,
        status: ItemStatus | None = None,
        after: int = -1,
        limit: int = 100,
    ) -> list[JobItem]:
        """See `ports.JobStore`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT ordinal, name, status, error FROM job_items WHERE job_id = :id"
                " AND ordinal > :after AND (:status IS NULL OR status = :status)"
                " ORDER BY ordinal LIMIT :limit",
                {"id": job_id, "after": after, "status": status, "limit": limit},
            )
            return [
                JobItem(ordinal=ordinal, name=name, status=state, error=error)
                for ordinal, name, state, error in rows
            ]

    def cancel(self, job_id: str) -> bool:
        """See `ports.JobStore`."""
        with self._database.write() as connection:
            return _changed(
                connection,
                "status = 'cancelled', arguments = '{}', owner = ''",
                "id = :id AND status IN ('queued', 'running')",
                id=job_id,
            )

    def forget(self, before: datetime) -> int:
        """See `ports.JobStore`."""
        finished = "status IN ('completed', 'failed', 'cancelled') AND updated_at < ?"
        with self._database.read() as connection:
            old = connection.execute(f"SELECT count(*) FROM jobs WHERE {finished}", _at(before))
            if not old.fetchone()[0]:
                return 0
        with self._database.write() as connection:
            return connection.execute(f"DELETE FROM jobs WHERE {finished}", _at(before)).rowcount

    # --- running them

    def claim(self, lease_seconds: float) -> Job | None:
        """See `ports.JobStore`."""
        find = f"SELECT id FROM jobs WHERE {_CLAIMABLE} ORDER BY number LIMIT 1"
        # Looking needs no lock; most of the time there is nothing to do.
        with self._database.read() as connection:
            if connection.execute(find, {"now": time.time()}).fetchone() is None:
                return None
        with self._database.write() as connection:
            row = connection.execute(find, {"now": time.time()}).fetchone()
            if row is None:
                return None
            _lease(connection, row[0], lease_seconds)
            return _read(connection, row[0])

    def extend(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """See `ports.JobStore`."""
        with self._database.write() as connection:
            cursor = connection.execute(
                f"UPDATE jobs SET lease_until = :until WHERE {_OURS}",
                {"id": job_id, "owner": owner, "until": time.time() + lease_seconds},
            )
            return cursor.rowcount > 0

    def plan(self, job_id: str, owner: str, names: Sequence[str]) -> bool:
        """See `ports.JobStore`."""
        with self._database.write() as connection:
            ours = _changed(connection, "total = :total", _OURS, id=job_id, owner=owner,
                            total=len(names))  # fmt: skip
            if ours:
                connection.executemany(
                    "INSERT INTO job_items (job_id, ordinal, name) VALUES (?, ?, ?)",
                    ((job_id, ordinal, name) for ordinal, name in enumerate(names)),
                )
            return ours

    def advance(self, job_id: str, owner: str, completed: int) -> bool:
        """See `ports.JobStore`."""
        with self._database.write() as connection:
            return _changed(
                connection, "completed = :completed", _OURS, id=job_id, owner=owner,
                completed=completed,
            )  # fmt: skip

    def settle(self, job_id: str, owner: str, errors: Mapping[int, str | None]) -> bool:
        """See `ports.JobStore`."""
        with self._database.write() as connection:
            # What a job that was cancelled meanwhile has done is done.
            connection.executemany(
                "UPDATE job_items SET status = ?, error = ?"
                " WHERE job_id = ? AND ordinal = ? AND status = 'waiting'",
                (
                    ("done" if error is None else "failed", error or "", job_id, ordinal)
                    for ordinal, error in errors.items()
                ),
            )
            return _changed(
                connection,
                "attempts = 0, completed = (SELECT count(*) FROM job_items"
                " WHERE job_id = :id AND status <> 'waiting')",
                _OURS,
                id=job_id,
                owner=owner,
            )

    def release(self, job_id: str, owner: str, *, error: str = "") -> bool:
        """See `ports.JobStore`."""
        # Who stops of its own accord has not failed.
        attempts = "attempts" if error else "0"
        with self._database.write() as connection:
            return _changed(
                connection,
                f"status = 'queued', owner = '', error = :error, attempts = {attempts}",
                _OURS,
                id=job_id,
                owner=owner,
                error=error,
            )

    def finish(self, job_id: str, owner: str, *, error: str = "") -> bool:
        """See `ports.JobStore`."""
        with self._database.write() as connection:
            return _changed(
                connection,
                "status = :status, error = :error, arguments = '{}', owner = ''",
                _OURS,
                id=job_id,
                owner=owner,
                error=error,
                status="failed" if error else "completed",
            )


class SqliteAudit:
    """`ports.AuditLog` in the file of a `SqliteStore`, whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, caller: str, tool: str, subjects: Mapping[str, Any]) -> None:
        """See `ports.AuditLog`."""
        row = (now(), caller, tool, json.dumps(subjects, ensure_ascii=False, sort_keys=True))
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO audit (recorded_at, caller, tool, subjects) VALUES (?, ?, ?, ?)", row
            )

    def entries(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """See `ports.AuditLog`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, recorded_at, caller, tool, subjects FROM audit"
                " WHERE ? IS NULL OR id < ? ORDER BY id DESC LIMIT ?",
                (before, before, limit),
            )
            return [
                AuditEntry(
                    id=entry,
                    recorded_at=datetime.fromisoformat(moment),
                    caller=caller,
                    tool=tool,
                    subjects=json.loads(subjects),
                )
                for entry, moment, caller, tool, subjects in rows
            ]


# --- rows ----------------------------------------------------------------------------------


def _keyed(connection: sqlite3.Connection, key: str, digest: str) -> Job | None:
    """The job of an idempotency key; one that asked for something else is an error."""
    row = connection.execute(
        "SELECT id, digest FROM jobs WHERE idempotency_key = ?", (key,)
    ).fetchone()
    if row is None:
        return None
    if row[1] != digest:
        raise InputError(
            f"idempotency_key {key!r} belongs to job {row[0]!r}, which was asked for with other"
            " arguments; give a new key for new work, or the same arguments for the same"
        )
    return _read(connection, row[0])


def _lease(connection: sqlite3.Connection, job_id: str, seconds: float) -> None:
    """Make the job ours, whoever ran it before; what was written of it counts again."""
    connection.execute(
        "UPDATE jobs SET status = 'running', owner = ?, lease_until = ?, updated_at = ?,"
        " attempts = attempts + 1 WHERE id = ?",
        (secrets.token_hex(8), time.time() + seconds, now(), job_id),
    )


def _changed(connection: sqlite3.Connection, values: str, where: str, **bound: object) -> bool:
    """Change one job, where it is as expected; whether it was."""
    sql = f"UPDATE jobs SET {values}, updated_at = :now WHERE {where}"
    return connection.execute(sql, {**bound, "now": now()}).rowcount > 0


def _read(connection: sqlite3.Connection, job_id: str) -> Job:
    found = _find(connection, job_id)
    assert found is not None
    return found


def _find(connection: sqlite3.Connection, job_id: str) -> Job | None:
    row = connection.execute(f"{_JOB} WHERE id = ?", (job_id,)).fetchone()
    return _job(*row) if row else None


def _job(
    id: str,
    kind: str,
    status: Any,  # noqa: ANN401 - one of the five, as the table checks
    completed: int,
    total: int | None,
    description: str,
    created_at: str,
    updated_at: str,
    error: str,
    owner: str,
    attempts: int,
    arguments: str,
    failed: int,
) -> Job:
    return Job(
        id=id,
        kind=kind,
        status=status,
        completed=completed,
        total=total,
        failed=failed,
        description=description,
        created_at=datetime.fromisoformat(created_at),
        updated_at=datetime.fromisoformat(updated_at),
        error=error,
        owner=owner,
        attempts=attempts,
        arguments=json.loads(arguments),
    )


def _at(moment: datetime) -> tuple[str]:
    text = to_text(moment.astimezone(UTC))
    assert text is not None
    return (text,)
