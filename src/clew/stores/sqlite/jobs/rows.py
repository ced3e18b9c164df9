"""The rows of jobs: how they are read and changed."""

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
