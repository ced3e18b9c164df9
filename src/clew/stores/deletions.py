"""Which chunks were deleted of late: what is derived from a store need not read all ids to see it.

The store keeps the newest deletions only. Who is further behind reads the ids.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.backend import Backend, Found, Statement
from clew.stores.state import REMEMBER, StoreState
from clew.stores.statements import AMONG

if TYPE_CHECKING:
    from clew.types import Ids

MOST = 2000
"""Ids that are kept."""

# What a deletion has to know. Columns: the chunks' ids, of which there may be none.
CHUNKS_OF_DOCUMENTS = Statement(
    f"SELECT id FROM chunks WHERE document_id {AMONG}",
    """
UNWIND $ids AS id
MATCH (c:ClewChunk {namespace: $namespace, document_id: id}) WHERE c.id > 0
RETURN [c.id] AS row
""",
)
# Column: the log as JSON; no row where nothing was ever deleted.
DELETED = Statement(
    "SELECT value FROM meta WHERE name = 'deleted'",
    """
MATCH (s:ClewStore {namespace: $namespace}) WHERE s.deleted IS NOT NULL
RETURN [s.deleted] AS row
""",
)
DELETING = (CHUNKS_OF_DOCUMENTS, DELETED)


def note_deleted(backend: Backend, generation: int, chunks: Found, held: Found) -> None:
    """Note what `DELETING` returned before documents are deleted; call inside `write`."""
    log = _read(held)
    if log is None or sum(len(ids) for _, *ids in log[1:]) + len(chunks) > MOST:
        log = [[generation]]  # what went before is not known from here on
    log.append([generation, *(row[0] for row in chunks)])
    backend.execute_many(REMEMBER, [{"name": "deleted", "value": json.dumps(log)}])


class Deletions(StoreState):
    """`ports.VectorSource.deleted_since`."""

    def deleted_since(self, generation: int) -> Ids | None:
        """Sorted ids of the chunks deleted since a generation, and perhaps of some before.

        None: not known, since too much was deleted meanwhile.
        """
        log = _read(self.backend.rows(DELETED))
        if log is None or log[0][0] > generation:
            return None
        ids = [one for at, *some in log[1:] if at >= generation for one in some]
        return np.unique(np.array(ids, dtype=np.int64))


def _read(held: Found) -> list[list[int]] | None:
    """[the generation that it begins with], then a generation and ids each; None for no log."""
    try:
        log = json.loads(held[0][0]) if held else None
        is_log = isinstance(log, list) and log and all(one and all(map(_is_id, one)) for one in log)
    except (TypeError, ValueError):
        return None
    return log if is_log else None


def _is_id(value: object) -> bool:
    return type(value) is int
