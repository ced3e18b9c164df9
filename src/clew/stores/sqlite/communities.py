"""Communities and topics in the store's own file, of the generation that they say."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.ports import ReportBasis
from clew.stores.communities import (
    CommunityRow,
    PartitionState,
    entity_places,
    make_partition,
)
from clew.stores.sqlite.communities_write import (
    write_partition,
    write_reports,
    write_state,
    write_topics,
)
from clew.stores.sqlite.tables import id_list
from clew.types import Community, Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import CommunityChanges, Partition
    from clew.stores.sqlite.connection import Database
    from clew.types import Ids, Vectors

# Integers and vectors are little-endian arrays. What has no report has no embedding: it is kept
# for the partition's sake and shown nowhere. Short columns first, as in the other tables.
_M003 = """
CREATE TABLE communities (
    id INTEGER PRIMARY KEY,
    level INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    size INTEGER NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    entities TEXT NOT NULL DEFAULT '[]',
    entity_ids TEXT NOT NULL DEFAULT '[]',
    sources TEXT NOT NULL DEFAULT '[]',
    members BLOB NOT NULL,
    embedding BLOB,
    summary TEXT NOT NULL DEFAULT ''
);
CREATE INDEX communities_by_level ON communities (level);
CREATE INDEX communities_by_parent ON communities (parent);

CREATE TABLE themes (
    number INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    embedding BLOB NOT NULL
);

CREATE TABLE topics (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    theme INTEGER NOT NULL REFERENCES themes,
    passages INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    embedding BLOB NOT NULL
);

CREATE TABLE topic_chunks (
    topic_id INTEGER NOT NULL REFERENCES topics,
    chunk_id INTEGER NOT NULL,
    PRIMARY KEY (topic_id, chunk_id)
) WITHOUT ROWID;

CREATE TABLE partition_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID
"""

_ROWS = "SELECT id, level, parent, members FROM communities"
_COMMUNITY = """
SELECT id, level, parent, title, summary, entities, size, sources FROM communities
WHERE embedding IS NOT NULL
"""
_AT_LEVEL = """
AND (level = :level OR level < :level AND NOT EXISTS (
    SELECT 1 FROM communities p WHERE p.parent = communities.id AND p.embedding IS NOT NULL))
"""
_TOPIC = """
SELECT t.id, t.name, h.title, t.passages, t.documents
FROM topics t JOIN themes h ON h.number = t.theme
"""


def m003_communities_and_topics(connection: sqlite3.Connection) -> None:
    """Communities with their reports, topics with their themes; all derived, none at first."""
    for statement in _M003.split(";\n"):
        connection.execute(statement)


class SqliteCommunities:
    """`ports.CommunityWriter` in the file of a `SqliteStore`, whose `database` is given."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def built(self) -> int:
        """See `ports.CommunityStore`."""
        with self._database.read() as connection:
            return _built(connection)

    def members(self) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        with self._database.read() as connection:
            rows = connection.execute(f"{_ROWS} WHERE embedding IS NOT NULL").fetchall()
        return entity_places([_row(*row) for row in rows])

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """See `ports.CommunityStore`."""
        sql, bound = _COMMUNITY, {"ids": id_list(ids or ()), "level": level}
        if ids is not None:
            sql += " AND id IN (SELECT value FROM json_each(:ids))"
        if level is not None:
            sql += _AT_LEVEL
        with self._database.read() as connection:
            found = [_community(*row) for row in connection.execute(sql, bound)]
        if ids is not None:
            by_id = {community.id: community for community in found}
            return [by_id[i] for i in map(int, ids) if i in by_id]
        return sorted(found, key=lambda community: (-community.size, community.id))

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        sql = "SELECT id, embedding FROM communities WHERE embedding IS NOT NULL"
        return self._vectors(f"{sql} {_AT_LEVEL} ORDER BY id", level)

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """See `ports.CommunityStore`."""
        where = "" if ids is None else "WHERE t.id IN (SELECT value FROM json_each(?))"
        bound = [] if ids is None else [id_list(ids)]
        order = "ORDER BY t.documents DESC, t.passages DESC, t.id"
        with self._database.read() as connection:
            rows = connection.execute(f"{_TOPIC} {where} {order}", bound)
            found = [_topic(*row) for row in rows]
        if ids is None:
            return found
        by_id = {topic.id: topic for topic in found}
        return [by_id[i] for i in map(int, ids) if i in by_id]

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        return self._vectors("SELECT id, embedding FROM topics ORDER BY id")

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT theme FROM topics ORDER BY id").fetchall()
            _, vectors = self._vectors("SELECT number, embedding FROM themes ORDER BY number")
        return np.array(rows, dtype=np.int64).reshape(-1), vectors

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        sql = (
            "SELECT topic_id, chunk_id FROM topic_chunks"
            " WHERE topic_id IN (SELECT value FROM json_each(?)) ORDER BY topic_id, chunk_id"
        )
        with self._database.read() as connection:
            rows = connection.execute(sql, (id_list(topic_ids),)).fetchall()
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def _vectors(self, sql: str, level: int = 0) -> tuple[Ids, Vectors]:
        with self._database.read() as connection:
            ids, blobs = _columns(connection.execute(sql, {"level": level}).fetchall(), 2)
        width = len(blobs[0]) // 4 if blobs else 0
        vectors = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(ids), width)
        return np.array(ids, dtype=np.int64), vectors

    # --- keeping them up to date

    def partition(self) -> Partition | None:
        """See `ports.CommunityWriter`."""
        with self._database.read() as connection:
            state = dict(connection.execute("SELECT name, value FROM partition_state"))
            rows = connection.execute(f"{_ROWS} ORDER BY id").fetchall()
        if not state:
            return None
        kept = PartitionState(
            entity_ids=_integers(state["entity_ids"]),
            neighbourhoods=_integers(state["neighbourhoods"]),
            strengths=np.frombuffer(state["strengths"], dtype="<f4"),
            moved=int(state["moved"]),
            next_id=int(state["next_id"]),
        )
        return make_partition([_row(*row) for row in rows], kept)

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """See `ports.CommunityWriter`."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, entity_ids, entities, sources FROM communities"
                " WHERE embedding IS NOT NULL"
            ).fetchall()
        return {
            community_id: ReportBasis(
                entity_ids=tuple(json.loads(entity_ids)),
                entities=tuple(json.loads(entities)),
                sources=tuple(json.loads(sources)),
            )
            for community_id, entity_ids, entities, sources in rows
        }

    def write(self, changes: CommunityChanges) -> bool:
        """See `ports.CommunityWriter`; of a store that can only be read, this process's own."""
        if self._database.read_only:
            self._database = self._database.copy_for_this_process()
        with self._database.write() as connection:
            if _built(connection) != changes.expected:
                return False
            write_partition(connection, changes.partition)
            write_reports(connection, changes.reports)
            if changes.topics is not None:
                write_topics(connection, changes.topics)
            write_state(connection, {"built": changes.generation})
        return True


def _built(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM partition_state WHERE name = 'built'").fetchone()
    return int(row[0]) if row else -1


def _columns(rows: list[tuple[Any, ...]], width: int) -> tuple[Sequence[Any], ...]:
    return tuple(zip(*rows, strict=True)) or ((),) * width


def _integers(blob: bytes) -> Ids:
    return np.frombuffer(blob, dtype="<i8")


def _row(id: int, level: int, parent: int, members: bytes) -> CommunityRow:
    return CommunityRow(id, level, parent, _integers(members))


def _community(
    id: int,
    level: int,
    parent: int,
    title: str,
    summary: str,
    entities: str,
    size: int,
    sources: str,
) -> Community:
    return Community(
        id=id,
        level=level,
        parent=parent or None,
        title=title,
        summary=summary,
        entities=tuple(json.loads(entities)),
        size=size,
        sources=tuple(json.loads(sources)),
    )


def _topic(id: int, name: str, theme: str, passages: int, documents: int) -> Topic:
    return Topic(id=id, name=name, theme=theme, passages=passages, documents=documents)
