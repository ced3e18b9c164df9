"""Writing communities and topics, inside a write transaction of the namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clew.stores.communities import CommunityRow, changed_rows, topic_ids, topic_passages
from clew.stores.neo4j.batches import send_rows

if TYPE_CHECKING:
    from clew.ports import CommunityReport, Partition, TopicSet
    from clew.stores.neo4j.connection import Neo4jDatabase


_FORGET = """
MATCH (c:ClewCommunity {namespace: $namespace}) WHERE c.id IS NOT NULL AND NOT c.id IN $ids
DELETE c
"""
_KNOWN = """
MATCH (c:ClewCommunity {namespace: $namespace}) WHERE c.id IS NOT NULL
RETURN c.id, c.level, c.parent
"""
_ADD = """
UNWIND $rows AS row CREATE (c:ClewCommunity {namespace: $namespace}) SET c += row
"""
_CHANGE = """
UNWIND $rows AS row MATCH (c:ClewCommunity {namespace: $namespace, id: row.id}) SET c += row
"""
_KNOWN_TOPICS = """
MATCH (t:ClewTopic {namespace: $namespace}) WHERE t.id IS NOT NULL RETURN t.key, t.id
"""
_NEXT_TOPIC = "MATCH (p:ClewPartition {namespace: $namespace}) RETURN p.next_topic"
_FORGET_TOPICS = """
MATCH (t:ClewTopic {namespace: $namespace}) WHERE t.id IS NOT NULL DELETE t
"""
_FORGET_THEMES = """
MATCH (h:ClewTheme {namespace: $namespace}) WHERE h.number IS NOT NULL DELETE h
"""
_ADD_THEMES = "UNWIND $rows AS row CREATE (h:ClewTheme {namespace: $namespace}) SET h += row"
_ADD_TOPICS = "UNWIND $rows AS row CREATE (t:ClewTopic {namespace: $namespace}) SET t += row"
_STATE = "MERGE (p:ClewPartition {namespace: $namespace}) SET p += $values"


def write_partition(database: Neo4jDatabase, partition: Partition) -> None:
    """Communities that stay are left as they are, but for their place above others."""
    database.rows(_FORGET, ids=partition.ids.tolist())
    new, moved = changed_rows(
        partition, {id_: (level, parent) for id_, level, parent in database.rows(_KNOWN)}
    )
    send_rows(database, _ADD, [_placed(row) | _held(row) for row in new])
    send_rows(database, _CHANGE, [_placed(row) for row in moved])
    write_state(
        database,
        {
            "entity_ids": partition.entity_ids.astype("<i8").tobytes(),
            "neighbourhoods": partition.neighbourhoods.astype("<i8").tobytes(),
            "strengths": partition.strengths.astype("<f4").tobytes(),
            "moved": partition.moved,
            "next_id": partition.next_id,
        },
    )


def _placed(row: CommunityRow) -> dict[str, Any]:
    return {"id": row.id, "level": row.level, "parent": row.parent}


def _held(row: CommunityRow) -> dict[str, Any]:
    return {"size": len(row.members), "members": row.members.tolist()}


def write_reports(database: Neo4jDatabase, reports: Sequence[CommunityReport]) -> None:
    """Reports of communities that are there."""
    rows = [
        {
            "id": int(report.community_id),
            "title": report.title,
            "summary": report.summary,
            "entities": list(report.basis.entities),
            "entity_ids": [int(i) for i in report.basis.entity_ids],
            "sources": [int(i) for i in report.basis.sources],
            "embedding": report.vector.astype("<f4").tobytes(),
        }
        for report in reports
    ]
    send_rows(database, _CHANGE, rows)


def write_topics(database: Neo4jDatabase, topics: TopicSet) -> None:
    """Replace all topics; those of a known key keep their id."""
    known = {key: int(id_) for key, id_ in database.rows(_KNOWN_TOPICS)}
    ids, free = topic_ids(topics.keys, known, int(database.value(_NEXT_TOPIC) or 1))
    write_state(database, {"next_topic": free})
    database.rows(_FORGET_TOPICS)
    database.rows(_FORGET_THEMES)
    themes = zip(topics.theme_titles, topics.theme_vectors.astype("<f4"), strict=True)
    rows = [
        {"number": number, "title": title, "embedding": vector.tobytes()}
        for number, (title, vector) in enumerate(themes)
    ]
    send_rows(database, _ADD_THEMES, rows)
    send_rows(database, _ADD_TOPICS, _topic_rows(topics, ids))


def _topic_rows(topics: TopicSet, ids: Sequence[int]) -> list[dict[str, Any]]:
    passages = topic_passages(topics)
    return [
        {
            "id": id_,
            "key": topics.keys[position],
            "name": topics.names[position],
            "theme": int(topics.themes[position]),
            "passages": len(passages[position]),
            "documents": int(topics.documents[position]),
            "chunks": passages[position],
            "embedding": topics.vectors[position].astype("<f4").tobytes(),
        }
        for position, id_ in enumerate(ids)
    ]


def write_state(database: Neo4jDatabase, values: Mapping[str, int | bytes]) -> None:
    """Numbers and arrays by name, in place of those of that name."""
    database.rows(_STATE, values=dict(values))
