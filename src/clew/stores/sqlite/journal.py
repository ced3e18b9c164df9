"""Durable jobs, the audit log, refusals and conversations, in the file of a store.

A job is run by whoever holds its lease: a name (`owner`) that is new with every claim, and a
moment until which it counts. Every write of a runner names its owner and finds nothing to change
once another has taken over, or once the job was cancelled.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clew.errors import InputError, StoreError
from clew.ports import (
    RETRY,
    AuditEntry,
    AuditOutcome,
    ConversationInfo,
    ItemStatus,
    Job,
    JobItem,
    Message,
    ToolCall,
)
from clew.stores.backend import now, to_text
from clew.types import random_id

if TYPE_CHECKING:
    from clew.stores.sqlite.connection import Database


_OURS = "id = :id AND owner = :owner AND status = 'running'"
# A lease that ends too late was given before the clock was set back.
_CLAIMABLE = """
status = 'queued' OR (status = 'running' AND lease_until NOT BETWEEN :now AND :latest)
"""
_ENDED = """
status = :status, owner = '', arguments = CASE WHEN length(arguments) <= :kept AND (
    :status <> 'completed'
    OR EXISTS (SELECT 1 FROM job_items WHERE job_id = :id AND status = 'failed')
) THEN arguments ELSE '{}' END
"""
_KEPT = 65_536
"""Characters of arguments that are kept of a job that did not do all, to try it again."""
_CLOCK_SLACK = 2.0
"""Of how many leases the clock may be set back without ending one that is kept."""


class SqliteJobs:
    """Jobs that last, in the file of a store; several processes may submit and run them at once.

    A job is run by the holder of its lease. `owner` names the lease: each of the methods that take
    one answers False, and changes no job, where the lease is another's by now or the job was
    cancelled.
    """

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
        most: int | None = None,
    ) -> tuple[Job, bool]:
        """A new job and True, or the job that has this idempotency key and False.

        It is queued; with `lease_seconds` it is claimed at once by the caller. Raises `InputError`
        where the key belongs to a job of another kind or with other arguments, and where `most`
        jobs have not ended.
        """
        text = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(f"{kind}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
        with self._database.write() as connection:
            known = connection.execute(
                "SELECT id, digest FROM jobs WHERE idempotency_key = ?", (key,)
            ).fetchone()
            if known and known[1] != digest:
                raise InputError(
                    f"idempotency_key {key!r} belongs to job {known[0]!r}, which was asked for with"
                    " other arguments; give a new key for new work, or the same arguments for the"
                    " same"
                )
            if known:
                return read_job(connection, known[0]), False
            waiting = "SELECT count(*) FROM jobs WHERE status IN ('queued', 'running')"
            if most is not None and connection.execute(waiting).fetchone()[0] >= most:
                raise InputError(
                    f"{most} jobs have not ended, as many as a namespace may have (the setting"
                    " quota.jobs); wait for one to end or cancel one, then ask again"
                )
            job_id, moment = random_id(), now()
            connection.execute(
                "INSERT INTO jobs (id, kind, status, number, created_at, updated_at,"
                " idempotency_key, digest, description, arguments) SELECT ?, ?, 'queued',"
                " coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? FROM jobs",
                (job_id, kind, moment, moment, key, digest, description, text),
            )
            if lease_seconds is not None:
                lease(connection, job_id, lease_seconds)
            return read_job(connection, job_id), True

    def job(self, job_id: str) -> Job | None:
        """A job by id."""
        rows = self._database.rows(f"{JOB} WHERE id = ?", (job_id,))
        return job_of_row(rows[0]) if rows else None

    def jobs(self, *, before: str | None = None, limit: int = 50) -> list[Job]:
        """Jobs, the newest first; those older than the job `before`."""
        below = "(SELECT number FROM jobs WHERE id = ?)"
        rows = self._database.rows(
            f"{JOB} WHERE ? IS NULL OR number < {below} ORDER BY number DESC LIMIT ?",
            (before, before, limit),
        )
        return [job_of_row(row) for row in rows]

    def items(
        self,
        job_id: str,
        *,
        status: ItemStatus | None = None,
        after: int = -1,
        limit: int = 100,
    ) -> list[JobItem]:
        """A job's documents with an ordinal above `after`, by ordinal."""
        rows = self._database.rows(
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
        """Cancel a job that has not ended; whether there was one. Its runner soon stops."""
        where = "id = :id AND status IN ('queued', 'running')"
        return self._changed(_ENDED, where, id=job_id, status="cancelled", kept=_KEPT)

    def forget(self, before: datetime) -> int:
        """Drop jobs that ended before that moment; how many."""
        finished = "status IN ('completed', 'failed', 'cancelled') AND updated_at < ?"
        at = (to_text(before.astimezone(UTC)),)
        if not self._database.rows(f"SELECT 1 FROM jobs WHERE {finished} LIMIT 1", at):
            return 0
        return self._database.change(f"DELETE FROM jobs WHERE {finished}", at)

    # --- running them

    def claim(self, lease_seconds: float) -> Job | None:
        """The oldest job that is queued or whose lease has run out, now leased to the caller.

        So has one that is to end much later than `lease_seconds` from now: the clock was set back.
        """
        find = f"SELECT id FROM jobs WHERE {_CLAIMABLE} ORDER BY number LIMIT 1"
        # Looking needs no lock; most of the time there is nothing to do.
        if not self._database.rows(find, _present(lease_seconds)):
            return None
        with self._database.write(durable=False) as connection:
            row = connection.execute(find, _present(lease_seconds)).fetchone()
            if row is None:
                return None
            lease(connection, row[0], lease_seconds)
            return read_job(connection, row[0])

    def extend(self, job_id: str, owner: str, lease_seconds: float) -> bool:
        """Let the lease last for so many seconds from now."""
        values = {"id": job_id, "owner": owner, "until": time.time() + lease_seconds}
        sql = f"UPDATE jobs SET lease_until = :until WHERE {_OURS}"
        return self._database.change(sql, values, durable=False) > 0

    def plan(self, job_id: str, owner: str, names: Sequence[str]) -> bool:
        """Say which documents the job has, once."""
        with self._database.write() as connection:
            ours = changed(connection, "total = :total", _OURS, id=job_id, owner=owner,
                            total=len(names))  # fmt: skip
            if ours:
                connection.executemany(
                    "INSERT INTO job_items (job_id, ordinal, name) VALUES (?, ?, ?)",
                    ((job_id, ordinal, name) for ordinal, name in enumerate(names)),
                )
            return ours

    def advance(self, job_id: str, owner: str, completed: int) -> bool:
        """Show how many documents are done, before they are settled."""
        values = {"id": job_id, "owner": owner, "completed": completed}
        return self._changed("completed = :completed", _OURS, durable=False, **values)

    def settle(self, job_id: str, owner: str, errors: Mapping[int, str | None]) -> bool:
        """Documents by ordinal that are done (None) or failed, and why; even of a cancelled job."""
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
            return changed(
                connection,
                "attempts = 0, completed = (SELECT count(*) FROM job_items"
                " WHERE job_id = :id AND status <> 'waiting')",
                _OURS,
                id=job_id,
                owner=owner,
            )

    def release(self, job_id: str, owner: str, *, error: str = "", counted: bool = True) -> bool:
        """Put the job back into the queue; with an error, the attempt counts as one that failed.

        Unless it is not to be `counted`, since the job has nothing to do with the error.
        """
        # Who stops of its own accord has not failed.
        attempts = "attempts" if error and counted else "0"
        values = f"status = 'queued', owner = '', error = :error, attempts = {attempts}"
        return self._changed(values, _OURS, id=job_id, owner=owner, error=error)

    def finish(self, job_id: str, owner: str, *, error: str = "") -> bool:
        """End the job: completed, or failed with an error."""
        return self._changed(
            f"{_ENDED}, error = :error",
            _OURS,
            id=job_id,
            owner=owner,
            error=error,
            status="failed" if error else "completed",
            kept=_KEPT,
        )

    def _changed(self, values: str, where: str, *, durable: bool = True, **bound: object) -> bool:
        """`changed` in a transaction of its own."""
        with self._database.write(durable=durable) as connection:
            return changed(connection, values, where, **bound)


def _present(lease_seconds: float) -> dict[str, float]:
    """Between which moments a lease that counts ends."""
    now = time.time()
    return {"now": now, "latest": now + _CLOCK_SLACK * lease_seconds}


# The rows of jobs: how they are read and changed.


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
    return job_of_row(connection.execute(f"{JOB} WHERE id = ?", (job_id,)).fetchone())


def job_of_row(row: Sequence[Any]) -> Job:
    """The job of a row of `JOB`."""
    values = dict(zip(_SHOWN, row, strict=True))
    for name in ("created_at", "updated_at"):
        values[name] = datetime.fromisoformat(values[name])
    return Job(**{**values, "arguments": json.loads(values["arguments"])})


# Who changed what through which tool, and what is not read again in vain: in the store's file.


class SqliteAudit:
    """Who changed what, when, through which tool, in the file of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, caller: str, tool: str, subjects: Mapping[str, Any]) -> int:
        """Add an entry, at this moment; its id."""
        row = (now(), caller, tool, json.dumps(subjects, ensure_ascii=False, sort_keys=True))
        with self._database.write() as connection:
            added = connection.execute(
                "INSERT INTO audit (recorded_at, caller, tool, subjects) VALUES (?, ?, ?, ?)", row
            )
        return int(added.lastrowid or 0)

    def keep_undo(self, entry: int, undo: Mapping[str, Any] | None) -> None:
        """Say what takes the change of an entry back, or that nothing does any more."""
        kept = None if undo is None else json.dumps(undo, ensure_ascii=False)
        sql = "UPDATE audit SET undo = :kept WHERE id = :entry AND (undo IS NULL OR :kept IS NULL)"
        self._database.change(sql, {"kept": kept, "entry": entry})

    def settle(self, entry: int, outcome: AuditOutcome) -> None:
        """Say what became of the call of an entry; until then it is unknown."""
        self._database.change("UPDATE audit SET outcome = ? WHERE id = ?", (outcome, entry))

    def entries(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Entries, the newest first; those with an id below `before`."""
        rows = self._database.rows(
            "SELECT id, recorded_at, caller, tool, subjects, undo, outcome FROM audit"
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
                undo=None if undo is None else json.loads(undo),
                outcome=outcome,
            )
            for entry, moment, caller, tool, subjects, undo, outcome in rows
        ]

    def forget(self, before: datetime) -> int:
        """Drop entries of before that moment; how many.

        Where it lies days back, the entries of as many days stay, whatever the clock says now.
        """
        days = (datetime.now(UTC) - before.astimezone(UTC)).days
        # A clock that is ahead makes all entries old, but not the days on which there are any.
        recorded = self._database.rows(
            "SELECT DISTINCT substr(recorded_at, 1, 10) FROM audit ORDER BY 1 DESC LIMIT ?",
            (max(days, 1),),
        )
        moment = to_text(before.astimezone(UTC)) or ""
        if days > 0:
            moment = min(moment, recorded[-1][0]) if len(recorded) == days else ""
        if not self._database.rows("SELECT 1 FROM audit WHERE recorded_at < ? LIMIT 1", (moment,)):
            return 0
        return self._database.change("DELETE FROM audit WHERE recorded_at < ?", (moment,))


NO_WAY_BACK = "UPDATE {table} SET undo = 'null'"
"""Where other entities have the ids: what takes a change back names them, also of calls under way.
"""


# --- refusals: documents that took more than a limit allows ------------------------------


class SqliteRefusals:
    """Documents that took more than a limit allows, and are not to be read again in vain."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reason(self, source: str, state: str) -> str | None:
        """Why a document was refused in this very state (of itself and the limits); else None."""
        sql = "SELECT reason FROM refusals WHERE source = ? AND state = ?"
        rows = self._database.rows(sql, (source, state))
        return str(rows[0][0]) if rows else None

    def refuse(self, source: str, state: str, reason: str) -> None:
        """Remember a refusal, in place of any earlier one of that source."""
        row = (source, state, reason, now())
        self._database.change("INSERT OR REPLACE INTO refusals VALUES (?, ?, ?, ?)", row)


# Conversations with a language model, in the file of the journal.


_TITLE = 80
"""Characters of a conversation's title."""


class SqliteConversations:
    """Conversations, kept until they are forgotten, in the file of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Keep further messages of a conversation, which begins with its first."""
        with self._database.write() as connection:
            ((held,),) = connection.execute(
                "SELECT count(*) FROM conversation_messages WHERE conversation = ?", (conversation,)
            )
            rows = [
                (conversation, held + place, now(), json.dumps(asdict(message)))
                for place, message in enumerate(messages)
            ]
            connection.executemany("INSERT INTO conversation_messages VALUES (?, ?, ?, ?)", rows)

    def messages(self, conversation: str) -> list[Message]:
        """All messages of a conversation, the earliest first; none where there is none such."""
        sql = "SELECT message FROM conversation_messages WHERE conversation = ? ORDER BY position"
        return [_message(text) for (text,) in self._database.rows(sql, (conversation,))]

    def conversations(self) -> list[ConversationInfo]:
        """All conversations, the latest first."""
        rows = self._database.rows(
            "SELECT m.conversation, m.message, m.at, (SELECT count(*) FROM"
            " conversation_messages WHERE conversation = m.conversation)"
            " FROM conversation_messages AS m WHERE m.position = 0 ORDER BY m.at DESC, 1"
        )
        return [
            ConversationInfo(
                id=id_, title=_message(first).text[:_TITLE], began_at=at, messages=count
            )
            for id_, first, at, count in rows
        ]

    def forget(self, conversation: str) -> bool:
        """Forget a conversation; whether there was one."""
        sql = "DELETE FROM conversation_messages WHERE conversation = ?"
        return self._database.change(sql, (conversation,)) > 0


def _message(text: str) -> Message:
    try:
        values = json.loads(text)
        return Message(**{**values, "calls": tuple(ToolCall(**call) for call in values["calls"])})
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"a message of the conversation is damaged ({text[:40]!r}); begin another one, or"
            " forget it: clew chat --forget ID"
        ) from error
