"""Writing communities and topics, inside a write transaction of the store's file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clew.stores.communities import changed_rows, topic_ids, topic_passages
from clew.stores.sqlite.tables import id_list

if TYPE_CHECKING:
    from clew.ports import CommunityReport, Partition, TopicSet


def write_partition(connection: sqlite3.Connection, partition: Partition) -> None:
    """Rows of communities that stay are left as they are, but for their place above others."""
    connection.execute(
        "DELETE FROM communities WHERE id NOT IN (SELECT value FROM json_each(?))",
        (id_list(partition.ids.tolist()),),
    )
    known = {
        row[0]: row[1:] for row in connection.execute("SELECT id, level, parent FROM communities")
    }
    new, moved = changed_rows(partition, known)
    connection.executemany(
        "INSERT INTO communities (id, level, parent, size, members) VALUES (?, ?, ?, ?, ?)",
        [(*row[:3], len(row.members), row.members.astype("<i8").tobytes()) for row in new],
    )
    connection.executemany(
        "UPDATE communities SET level = ?, parent = ? WHERE id = ?",
        [(row.level, row.parent, row.id) for row in moved],
    )
    write_state(
        connection,
        {
            "entity_ids": partition.entity_ids.astype("<i8").tobytes(),
            "neighbourhoods": partition.neighbourhoods.astype("<i8").tobytes(),
            "strengths": partition.strengths.astype("<f4").tobytes(),
            "moved": partition.moved,
            "next_id": partition.next_id,
        },
    )


def write_reports(connection: sqlite3.Connection, reports: Sequence[CommunityReport]) -> None:
    """Reports of communities that are there."""
    connection.executemany(
        """UPDATE communities SET title = ?, summary = ?, entities = ?, entity_ids = ?, sources = ?,
            embedding = ? WHERE id = ?""",
        [
            (
                report.title,
                report.summary,
                json.dumps(report.basis.entities, ensure_ascii=False),
                id_list(report.basis.entity_ids),
                id_list(report.basis.sources),
                report.vector.astype("<f4").tobytes(),
                report.community_id,
            )
            for report in reports
        ],
    )


def write_topics(connection: sqlite3.Connection, topics: TopicSet) -> None:
    """Replace all topics; those of a known key keep their id."""
    known = dict(connection.execute("SELECT key, id FROM topics"))
    for table in ("topic_chunks", "topics", "themes"):
        connection.execute(f"DELETE FROM {table}")
    connection.executemany(
        "INSERT INTO themes VALUES (?, ?, ?)",
        [
            (number, title, vector.astype("<f4").tobytes())
            for number, (title, vector) in enumerate(
                zip(topics.theme_titles, topics.theme_vectors, strict=True)
            )
        ],
    )
    row = connection.execute("SELECT value FROM partition_state WHERE name = 'next_topic'")
    ids, free = topic_ids(topics.keys, known, int((row.fetchone() or (1,))[0]))
    write_state(connection, {"next_topic": free})
    passages = topic_passages(topics)
    columns = (ids, topics.keys, topics.names, topics.themes.tolist(), map(len, passages))
    rows = zip(*columns, topics.documents.tolist(), topics.vectors, strict=True)
    connection.executemany(
        "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(*row[:-1], row[-1].astype("<f4").tobytes()) for row in rows],
    )
    connection.executemany(
        "INSERT INTO topic_chunks VALUES (?, ?)",
        ((id_, chunk) for id_, held in zip(ids, passages, strict=True) for chunk in held),
    )


def write_state(connection: sqlite3.Connection, values: Mapping[str, int | bytes]) -> None:
    """Numbers and arrays by name, in place of those of that name."""
    connection.executemany("INSERT OR REPLACE INTO partition_state VALUES (?, ?)", values.items())
