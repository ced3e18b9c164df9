"""Conversations with a language model, in the file of the journal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from clew.errors import StoreError
from clew.ports.conversations import ConversationInfo
from clew.ports.language_model import Message, ToolCall
from clew.stores.backend import now

if TYPE_CHECKING:
    from clew.stores.sqlite.connection import Database

_TITLE = 80
"""Characters of a conversation's title."""


class SqliteConversations:
    """`ports.conversations.ConversationLog` in the file whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """See `ConversationLog`."""
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
        """See `ConversationLog`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT message FROM conversation_messages WHERE conversation = ?"
                " ORDER BY position",
                (conversation,),
            )
            return [_message(text) for (text,) in rows]

    def conversations(self) -> list[ConversationInfo]:
        """See `ConversationLog`."""
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
        """See `ConversationLog`."""
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
