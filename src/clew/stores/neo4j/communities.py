"""Communities and topics on the server, of the generation that they say.

`ClewPartition`: built, moved, next_id, next_topic, and arrays: entity_ids, neighbourhoods,
strengths. `ClewCommunity`: id, level, parent (0: none), size, members (entity ids); where it has a
report also title, summary, entities, entity_ids, sources and embedding. `ClewTheme`: number, title,
embedding. `ClewTopic`: id, key, name, theme (a number), passages, documents, chunks (ids),
embedding. All have a `namespace`.

Members and chunks are ids and no relationships: entities and chunks may have gone since. Arrays and
embeddings are little-endian bytes, which come ten times as fast as lists: they are read whole.
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
from clew.stores.neo4j.communities_write import (
    write_partition,
    write_reports,
    write_state,
    write_topics,
)
from clew.types import Community, Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.ports import CommunityChanges, Partition
    from clew.stores.neo4j.connection import Neo4jDatabase
    from clew.types import Ids, Vectors

_UNIQUE = {
    "clewpartition_unique": ("ClewPartition", "n.namespace"),
    "clewcommunity_unique": ("ClewCommunity", "n.namespace, n.id"),
    "clewtheme_unique": ("ClewTheme", "n.namespace, n.number"),
    "clewtopic_unique": ("ClewTopic", "n.namespace, n.id"),
    "clewtopic_key_unique": ("ClewTopic", "n.namespace, n.key"),
}
_BY_PARENT = "clew_communities_by_parent"
COMMUNITY_INDEXES = (*_UNIQUE, _BY_PARENT)
"""Names of the indexes of communities and topics, those of constraints among them."""
_BUILT = "MATCH (p:ClewPartition {namespace: $namespace}) RETURN p.built"
_STATE = """
MATCH (p:ClewPartition {namespace: $namespace})
RETURN p.entity_ids, p.neighbourhoods, p.strengths, p.moved, p.next_id
"""
# A composite index finds only nodes that have every property that it is made of.
_COMMUNITIES = "MATCH (c:ClewCommunity {namespace: $namespace}) WHERE c.id IS NOT NULL"
_PLACES = "WITH c ORDER BY c.id RETURN collect([c.id, c.level, c.parent, c.members])"
_REPORTED = f"{_COMMUNITIES} AND c.embedding IS NOT NULL"
_AT_LEVEL = """
AND (c.level = $level OR c.level < $level AND NOT EXISTS {
    MATCH (part:ClewCommunity {namespace: $namespace, parent: c.id})
    WHERE part.embedding IS NOT NULL})
"""
_REPORT = """
WITH c ORDER BY c.size DESC, c.id
RETURN collect([c.id, c.level, c.parent, c.title, c.summary, c.entities, c.size, c.sources])
"""
_BASES = "RETURN collect([c.id, c.entity_ids, c.entities, c.sources])"
_EMBEDDINGS = "WITH c ORDER BY c.id RETURN collect(c.id), collect(c.embedding)"
_TOPICS = "MATCH (t:ClewTopic {namespace: $namespace}) WHERE t.id IS NOT NULL"
_TOPIC = """
MATCH (h:ClewTheme {namespace: $namespace, number: t.theme})
WITH t, h ORDER BY t.documents DESC, t.passages DESC, t.id
RETURN collect([t.id, t.name, h.title, t.passages, t.documents])
"""
_TOPIC_EMBEDDINGS = f"{_TOPICS} WITH t ORDER BY t.id RETURN collect(t.id), collect(t.embedding)"
_THEMES = f"{_TOPICS} WITH t ORDER BY t.id RETURN collect(t.theme)"
_THEME_EMBEDDINGS = """
MATCH (h:ClewTheme {namespace: $namespace}) WHERE h.number IS NOT NULL
WITH h ORDER BY h.number RETURN collect(h.number), collect(h.embedding)
"""
_TOPIC_CHUNKS = f"{_TOPICS} AND t.id IN $ids RETURN t.id, t.chunks ORDER BY t.id"


def m002_communities_and_topics(database: Neo4jDatabase) -> None:
    """Constraints and indexes of communities with their reports, and of topics and themes."""
    for name, (label, properties) in _UNIQUE.items():
        database.define(
            f"CREATE CONSTRAINT {name} IF NOT EXISTS"
            f" FOR (n:{label}) REQUIRE ({properties}) IS UNIQUE"
        )
    database.define(
        f"CREATE INDEX {_BY_PARENT} IF NOT EXISTS FOR (n:ClewCommunity) ON (n.namespace, n.parent)"
    )


class Neo4jCommunities:
    """`ports.CommunityWriter` in the namespace of a `Neo4jStore`, whose `database` is given."""

    def __init__(self, database: Neo4jDatabase) -> None:
        self._database = database

    def built(self) -> int:
        """See `ports.CommunityStore`."""
        return _built(self._database)

    def members(self) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        rows = self._database.value(f"{_REPORTED} {_PLACES}")
        return entity_places([_row(*row) for row in rows])

    def communities(
        self, *, ids: Sequence[int] | None = None, level: int | None = None
    ) -> list[Community]:
        """See `ports.CommunityStore`."""
        among = "" if ids is None else " AND c.id IN $ids"
        place = "" if level is None else _AT_LEVEL
        wanted = [int(i) for i in ids or ()]
        rows = self._database.value(_REPORTED + among + place + _REPORT, ids=wanted, level=level)
        found = [_community(*row) for row in rows]
        if ids is None:
            return found
        by_id = {community.id: community for community in found}
        return [by_id[i] for i in wanted if i in by_id]

    def community_vectors(self, level: int) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        query = f"{_REPORTED} {_AT_LEVEL} {_EMBEDDINGS}"
        return _vectors(*self._database.rows(query, level=level)[0])

    def topics(self, *, ids: Sequence[int] | None = None) -> list[Topic]:
        """See `ports.CommunityStore`."""
        among = "" if ids is None else " AND t.id IN $ids"
        wanted = [int(i) for i in ids or ()]
        rows = self._database.value(_TOPICS + among + _TOPIC, ids=wanted)
        found = [_topic(*row) for row in rows]
        if ids is None:
            return found
        by_id = {topic.id: topic for topic in found}
        return [by_id[i] for i in wanted if i in by_id]

    def topic_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        return _vectors(*self._database.rows(_TOPIC_EMBEDDINGS)[0])

    def theme_vectors(self) -> tuple[Ids, Vectors]:
        """See `ports.CommunityStore`."""
        themes = self._database.value(_THEMES)
        _, vectors = _vectors(*self._database.rows(_THEME_EMBEDDINGS)[0])
        return np.array(themes, dtype=np.int64), vectors

    def topic_chunks(self, topic_ids: Sequence[int]) -> NDArray[np.int64]:
        """See `ports.CommunityStore`."""
        rows = self._database.rows(_TOPIC_CHUNKS, ids=[int(i) for i in topic_ids])
        found = [(topic, chunk) for topic, chunks in rows for chunk in chunks]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    # --- keeping them up to date

    def partition(self) -> Partition | None:
        """See `ports.CommunityWriter`."""
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
        rows = self._database.value(f"{_COMMUNITIES} {_PLACES}")
        return make_partition([_row(*row) for row in rows], state)

    def report_bases(self) -> Mapping[int, ReportBasis]:
        """See `ports.CommunityWriter`."""
        return {
            community_id: ReportBasis(
                entity_ids=tuple(entity_ids), entities=tuple(entities), sources=tuple(sources)
            )
            for community_id, entity_ids, entities, sources in self._database.value(
                f"{_REPORTED} {_BASES}"
            )
        }

    def write(self, changes: CommunityChanges) -> bool:
        """See `ports.CommunityWriter`."""
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


def _vectors(ids: list[int], embeddings: list[bytes]) -> tuple[Ids, Vectors]:
    width = len(embeddings[0]) // 4 if embeddings else 0
    vectors = np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(ids), width)
    return np.array(ids, dtype=np.int64), vectors


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
