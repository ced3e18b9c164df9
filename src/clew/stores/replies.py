"""Requests to language models and their replies, over any back end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clew.ports.language_model import LoggedReply, Usage
from clew.stores.statements.replies import (
    ALL_REPLIES,
    CLEAR_REPLIES,
    COLUMNS,
    COUNT_HIT,
    COUNT_REPLIES,
    FIND_REPLY,
    RECORD_REPLY,
)

if TYPE_CHECKING:
    from clew.stores.backend import Backend

_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


class Replies:
    """`ports.language_model.ReplyLog`; a store that can only be read keeps nothing new."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def find(self, key: str, *, counted: bool) -> LoggedReply | None:
        """See `ReplyLog`."""
        found = self._backend.rows(FIND_REPLY, key=key)
        if found and counted and not self._backend.read_only:
            # The number is of no account without what follows it.
            self._backend.write(lambda: self._backend.execute(COUNT_HIT, key=key), durable=False)
        return _entry(found[0]) if found else None

    def record(self, entry: LoggedReply) -> None:
        """See `ReplyLog`."""
        if not self._backend.read_only:
            self._backend.write(lambda: self._backend.execute_many(RECORD_REPLY, [_row(entry)]))

    def entries(self) -> Sequence[LoggedReply]:
        """See `ReplyLog`."""
        return [_entry(row) for row in self._backend.rows(ALL_REPLIES)]

    def clear(self) -> int:
        """See `ReplyLog`."""

        def work() -> int:
            ((count,),) = self._backend.rows(COUNT_REPLIES)
            self._backend.execute(CLEAR_REPLIES)
            return int(count)

        return self._backend.write(work)


def _row(entry: LoggedReply) -> dict[str, Any]:
    row = asdict(entry)
    row |= row.pop("usage")
    row["documents"] = json.dumps(entry.documents)
    return {name: row[name] for name in COLUMNS}


def _entry(values: Sequence[Any]) -> LoggedReply:
    row = dict(zip(COLUMNS, values, strict=True))
    usage = Usage(**{name: row.pop(name) for name in _TOKENS})
    return LoggedReply(**{**row, "documents": tuple(json.loads(row["documents"])), "usage": usage})
