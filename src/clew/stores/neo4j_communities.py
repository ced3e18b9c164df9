"""Communities and topics on the server, of the generation that they say.

| node | properties beside `namespace` |
| --- | --- |
| ClewPartition | built, moved, next_id, next_topic; entity_ids, neighbourhoods, strengths (arrays as bytes, little-endian) |
| ClewCommunity | id, level, parent (0: none), size, members (entity ids); those with a report also title, summary, entities, entity_ids, sources, vector |
| ClewTheme | number, title, vector |
| ClewTopic | id, key, name, theme (a number), passages, documents, chunks (ids), vector |

Members and chunks are ids and no relationships: entities and chunks may have gone since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.ports import ReportBasis
from clew.stores.communities import (
    CommunityRow,
    PartitionState,
    entity_places,
    make_partition,
)
from clew.stores.neo4j_communities_write import (
    write_partition,
    write_reports,
    write_state,
    write_topics,
)
from clew.types import Community, Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import CommunityChanges, Partition
    from clew.stores.neo4j_connection import Neo4jDatabase, Row
    from clew.types import Ids, Vectors

_BUILT = "MATCH (p:ClewPartition {namespace: $namespace}) RETURN p.built"
_STATE = """
MATCH (p:ClewPartition {namespace: $namespace})
RETURN p.entity_ids, p.neighbourhoods, p.strengths, p.moved, p.next_id
"""
# A composite index finds only nodes that have every property that it is made of.
_COMMUNITIES = "MATCH (c:ClewCommunity {namespace: $namespace}) WHERE c.id IS NOT NULL"
_PLACE = "RETURN c.id, c.level, c.parent, c.members ORDER BY c.id"
_REPORTED = f"{_COMMUNITIES} AND c.vector IS NOT NULL"
_AT_LEVEL = """
AND (c.level = $level OR c.level < $level AND NOT EXISTS {
    MATCH (part:ClewCommunity {namespace: $namespace, parent: c.id})
    WHERE part.vector IS NOT NULL})
"""
_REPORT = """
RETURN c.id, c.level, c.parent, c.title, c.summary, c.entities, c.size, c.sources
ORDER BY c.size DESC, c.id
"""
_BASIS = "RETURN c.id, c.entity_ids, c.entities, c.sources"
_TOPICS = "MATCH (t:ClewTopic {namespace: $namespace}) WHERE t.id IS NOT NULL"
_TOPIC = """
MATCH (h:ClewTheme {namespace: $namespace, number: t.theme})
RETURN t.id, t.name, h.title, t.passages, t.documents
ORDER BY t.documents DESC, t.passages DESC, t.id
"""
_THEME_VECTORS = """
MATCH (h:ClewTheme {namespace: $namespace}) WHERE h.number IS NOT NULL
RETURN h.number, h.vector ORDER BY h.number
"""


class Neo4jCommunities:
    """`ports.CommunityKeeper` in the namespace of a `Neo4jStore`, whose `database` is given."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database

    def built(self) -> int:
        """See `ports.CommunityStore`."""
        return _built(self._database)

    def members(self) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        return entity_places([_row(*row) for row in self._database.rows(_REPORTED + _PLACE)])

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """See `ports.CommunityStore`."""
        among = "" if ids is None else " AND c.id IN $ids"
        place = "" if level is None else _AT_LEVEL
        wanted = [int(i) for i in ids or ()]
        rows = self._database.rows(_REPORTED + among + place + _REPORT, ids=wanted, level=level)
        found = [_community(*row) for row in rows]
        if ids is None:
            return found
        by_id = {community.id: community for community in found}
        return [by_id[i] for i in wanted if i in by_id]

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        query = f"{_REPORTED} {_AT_LEVEL} RETURN c.id, c.vector ORDER BY c.id"
        return _columns(self._database.rows(query, level=level))

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """See `ports.CommunityStore`."""
        among = "" if ids is None else " AND t.id IN $ids"
        wanted = [int(i) for i in ids or ()]
        rows = self._database.rows(_TOPICS + among + _TOPIC, ids=wanted)
        found = [_topic(*row) for row in rows]
        if ids is None:
            return found
        by_id = {topic.id: topic for topic in found}
        return [by_id[i] for i in wanted if i in by_id]

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        return _columns(self._database.rows(f"{_TOPICS} RETURN t.id, t.vector ORDER BY t.id"))

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        themes = self._database.rows(f"{_TOPICS} RETURN t.theme ORDER BY t.id")
        _, vectors = _columns(self._database.rows(_THEME_VECTORS))
        return np.array(themes, dtype=np.int64).reshape(-1), vectors

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        query = f"{_TOPICS} AND t.id IN $ids RETURN t.id, t.chunks ORDER BY t.id"
        rows = self._database.rows(query, ids=[int(i) for i in topic_ids])
        found = [(topic, chunk) for topic, chunks in rows for chunk in chunks]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    # --- keeping them up to date

    def partition(self) -> Partition | None:
        """See `ports.CommunityKeeper`."""
        found = self._database.rows(_STATE)
        if not found:
            return None
        entity_ids, neighbourhoods, strengths, moved, next_id = found[0]
        state = PartitionState(
            entity_ids=np.frombuffer(entity_ids, dtype="<i8"),
            neighbourhoods=np.frombuffer(neighbourhoods, dtype="<i8"),
            strengths=np.frombuffer(strengths, dtype="<f4"),
            moved=moved,
            next_id=next_id,
        )
        rows = self._database.rows(f"{_COMMUNITIES} {_PLACE}")
        return make_partition([_row(*row) for row in rows], state)

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """See `ports.CommunityKeeper`."""
        return {
            community_id: ReportBasis(
                entity_ids=tuple(entity_ids), entities=tuple(entities), sources=tuple(sources)
            )
            for community_id, entity_ids, entities, sources in self._database.rows(
                f"{_REPORTED} {_BASIS}"
            )
        }

    def write(self, changes: CommunityChanges) -> bool:
        """See `ports.CommunityKeeper`."""
        return self._database.write(lambda: _write(self._database, changes))


def _write(database: Neo4jDatabase, changes: CommunityChanges) -> bool:
    if _built(database) != changes.expected:
        return False
    write_partition(database, changes.partition)
    write_reports(database, changes.reports)
    if changes.topics is not None:
        write_topics(database, changes.topics)
    write_state(database, {"built": changes.generation})
    return True


def _built(database: Neo4jDatabase) -> int:
    found = database.value(_BUILT)
    return -1 if found is None else int(found)


def _columns(rows: Sequence[Row]) -> tuple[Ids, Vectors]:
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    vectors = np.array([row[1] for row in rows], dtype=np.float32)
    return ids, vectors.reshape(len(ids), -1 if len(ids) else 0)


def _row(id: int, level: int, parent: int, members: list[int]) -> CommunityRow:
    return CommunityRow(id, level, parent, np.array(members, dtype=np.int64))


def _community(
    id: int,
    level: int,
    parent: int,
    title: str,
    summary: str,
    entities: list[str],
    size: int,
    sources: list[int],
) -> Community:
    return Community(
        id=id,
        level=level,
        parent=parent or None,
        title=title,
        summary=summary,
        entities=tuple(entities),
        size=size,
        sources=tuple(sources),
    )


def _topic(id: int, name: str, theme: str, passages: int, documents: int) -> Topic:
    return Topic(id=id, name=name, theme=theme, passages=passages, documents=documents)
