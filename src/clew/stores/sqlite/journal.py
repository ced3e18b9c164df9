"""Who changed what through which tool, and what is not read again in vain: in the store's file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clew.errors import StoreError
from clew.ports import AuditEntry
from clew.ports.models import ConversationInfo, Message, ToolCall
from clew.stores.backend import now, to_text

if TYPE_CHECKING:
    from clew.ports import AuditOutcome
    from clew.stores.sqlite.connection import Database


class SqliteAudit:
    """`ports.AuditLog` in the file of a `SqliteStore`, whose `database` is given."""

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
        with self._database.write() as connection:
            connection.execute(
                "UPDATE audit SET undo = :kept"
                " WHERE id = :entry AND (undo IS NULL OR :kept IS NULL)",
                {"kept": kept, "entry": entry},
            )

    def settle(self, entry: int, outcome: AuditOutcome) -> None:
        """Say what became of the call of an entry; until then it is unknown."""
        with self._database.write() as connection:
            connection.execute("UPDATE audit SET outcome = ? WHERE id = ?", (outcome, entry))

    def entries(self, *, before: int | None = None, limit: int = 100) -> list[AuditEntry]:
        """Entries, the newest first; those with an id below `before`."""
        with self._database.read() as connection:
            rows = connection.execute(
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
        with self._database.read() as connection:
            # A clock that is ahead makes all entries old, but not the days on which there are any.
            recorded = connection.execute(
                "SELECT DISTINCT substr(recorded_at, 1, 10) FROM audit ORDER BY 1 DESC LIMIT ?",
                (max(days, 1),),
            ).fetchall()
            moment = to_text(before.astimezone(UTC)) or ""
            if days > 0:
                moment = min(moment, recorded[-1][0]) if len(recorded) == days else ""
            old = "SELECT 1 FROM audit WHERE recorded_at < ? LIMIT 1"
            if connection.execute(old, (moment,)).fetchone() is None:
                return 0
        with self._database.write() as connection:
            sql = "DELETE FROM audit WHERE recorded_at < ?"
            return connection.execute(sql, (moment,)).rowcount


NO_WAY_BACK = "UPDATE {table} SET undo = 'null'"
"""Where other entities have the ids: what takes a change back names them, also of calls under way.
"""


# --- refusals: documents that took more than a limit allows ------------------------------


class SqliteRefusals:
    """`ports.RefusalLog` in the file of a `SqliteStore`, whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reason(self, source: str, state: str) -> str | None:
        """Why a document was refused in this very state (of itself and the limits); else None."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT reason FROM refusals WHERE source = ? AND state = ?", (source, state)
            ).fetchone()
        return None if row is None else str(row[0])

    def refuse(self, source: str, state: str, reason: str) -> None:
        """Remember a refusal, in place of any earlier one of that source."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO refusals VALUES (?, ?, ?, ?)",
                (source, state, reason, now()),
            )


# Conversations with a language model, in the file of the journal.


_TITLE = 80
"""Characters of a conversation's title."""


class SqliteConversations:
    """`ports.conversations.ConversationLog` in the file whose `database` is given."""

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
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT message FROM conversation_messages WHERE conversation = ?"
                " ORDER BY position",
                (conversation,),
            )
            return [_message(text) for (text,) in rows]

    def conversations(self) -> list[ConversationInfo]:
        """All conversations, the latest first."""
        with self._database.read() as connection:
            rows = connection.execute(
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
        with self._database.write() as connection:
            done = connection.execute(
                "DELETE FROM conversation_messages WHERE conversation = ?", (conversation,)
            )
            return done.rowcount > 0


def _message(text: str) -> Message:
    try:
        values = json.loads(text)
        return Message(**{**values, "calls": tuple(ToolCall(**call) for call in values["calls"])})
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"a message of the conversation is damaged ({text[:40]!r}); begin another one, or"
            " forget it: clew chat --forget ID"
        ) from error
