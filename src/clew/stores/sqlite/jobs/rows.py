"""The tables of jobs and of the audit log, and how their rows are read and changed."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from clew.errors import InputError
from clew.ports import Job
from clew.ports.jobs import RETRY
from clew.stores.backend import now
from clew.types.values import random_id

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

_COLUMNS = (
    *("id", "kind", "status", "completed", "total", "description", "created_at", "updated_at"),
    *("error", "owner", "attempts", "arguments"),
)
_SHOWN = (*_COLUMNS, "failed", "retried_by")
JOB = f"""
SELECT {", ".join(_COLUMNS)},
    (SELECT count(*) FROM job_items i WHERE i.job_id = jobs.id AND i.status = 'failed'),
    coalesce((SELECT r.id FROM jobs r WHERE r.idempotency_key = '{RETRY}' || jobs.id), '')
FROM jobs
"""
"""A job as `job_of_row` takes it."""


def m004_jobs_and_audit(connection: sqlite3.Connection) -> None:
    """Jobs with their documents, and who changed what through which tool; none at first."""
    for statement in _JOBS_AND_AUDIT.split(";\n"):
        connection.execute(statement)


def keyed_job(connection: sqlite3.Connection, key: str, digest: str) -> Job | None:
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
    return read_job(connection, row[0])


def check_number(connection: sqlite3.Connection, most: int | None) -> None:
    """Raises `InputError` where so many jobs have not ended."""
    waiting = "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')"
    if most is not None and connection.execute(waiting).fetchone()[0] >= most:
        raise InputError(
            f"{most} jobs have not ended, as many as a namespace may have (the setting"
            " quota.jobs); wait for one to end or cancel one, then ask again"
        )


def lease(connection: sqlite3.Connection, job_id: str, seconds: float) -> None:
    """Make the job ours, whoever ran it before; what was written of it counts again."""
    connection.execute(
        "UPDATE jobs SET status = 'running', owner = ?, lease_until = ?, updated_at = ?,"
        " attempts = attempts + 1 WHERE id = ?",
        (random_id(), time.time() + seconds, now(), job_id),
    )


def changed(connection: sqlite3.Connection, values: str, where: str, **bound: object) -> bool:
    """Change one job, where it is as expected; whether it was."""
    sql = f"UPDATE jobs SET {values}, updated_at = :now WHERE {where}"
    return connection.execute(sql, {**bound, "now": now()}).rowcount > 0


def read_job(connection: sqlite3.Connection, job_id: str) -> Job:
    """A job that there is."""
    found = find_job(connection, job_id)
    assert found is not None
    return found


def find_job(connection: sqlite3.Connection, job_id: str) -> Job | None:
    """A job by id."""
    row = connection.execute(f"{JOB} WHERE id = ?", (job_id,)).fetchone()
    return job_of_row(row) if row else None


def job_of_row(row: Sequence[Any]) -> Job:
    """The job of a row of `JOB`."""
    values = dict(zip(_SHOWN, row, strict=True))
    for name in ("created_at", "updated_at"):
        values[name] = datetime.fromisoformat(values[name])
    return Job(**{**values, "arguments": json.loads(values["arguments"])})
