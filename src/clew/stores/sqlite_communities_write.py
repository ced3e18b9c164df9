"""Writing communities and topics, inside a write transaction of the store's file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.stores.sqlite_documents import id_list

if TYPE_CHECKING:
    from clew.ports import CommunityReport, Partition, TopicSet
    from clew.types import Ids


def write_partition(connection: sqlite3.Connection, partition: Partition) -> None:
    """Rows of communities that stay are left as they are, but for their place above others."""
    connection.execute(
        "DELETE FROM communities WHERE id NOT IN (SELECT value FROM json_each(?))",
        (id_list(partition.ids.tolist()),),
    )
    known = {
        row[0]: row[1:] for row in connection.execute("SELECT id, level, parent FROM communities")
    }
    new, placed = [], []
    for place, members in zip(_places(partition), _member_sets(partition), strict=True):
        if place[0] not in known:
            new.append((*place, len(members), members.astype("<i8").tobytes()))
        elif known[place[0]] != place[1:]:
            placed.append((*place[1:], place[0]))
    connection.executemany(
        "INSERT INTO communities (id, level, parent, size, members) VALUES (?, ?, ?, ?, ?)", new
    )
    connection.executemany("UPDATE communities SET level = ?, parent = ? WHERE id = ?", placed)
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


def _places(partition: Partition) -> Iterator[tuple[int, int, int]]:
    """(id, level, parent) of each community."""
    columns = (partition.ids, partition.levels, partition.parents)
    return zip(*(column.tolist() for column in columns), strict=True)


def _member_sets(partition: Partition) -> list[Ids]:
    """Entity ids of each community, in the order of its ids."""
    starts = np.searchsorted(partition.members[:, 0], partition.ids)
    return np.split(partition.members[:, 1], starts[1:]) if len(starts) else []


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
    """All topics anew; those of a known key keep their id."""
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
    ids = _topic_ids(connection, topics.keys, known)
    passages = np.bincount(topics.chunks[:, 0], minlength=len(ids)).tolist()
    columns = (ids, topics.keys, topics.names, topics.themes.tolist(), passages)
    rows = zip(*columns, topics.documents.tolist(), topics.vectors, strict=True)
    connection.executemany(
        "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(*row[:-1], row[-1].astype("<f4").tobytes()) for row in rows],
    )
    connection.executemany(
        "INSERT INTO topic_chunks VALUES (?, ?)",
        ((ids[topic], chunk) for topic, chunk in topics.chunks.tolist()),
    )


def _topic_ids(
    connection: sqlite3.Connection, keys: Sequence[str], known: Mapping[str, int]
) -> list[int]:
    """The id that each key had, or one that none ever had."""
    row = connection.execute("SELECT value FROM partition_state WHERE name = 'next_topic'")
    next_id = int((row.fetchone() or (1,))[0])
    ids = []
    for key in keys:
        ids.append(known.get(key, next_id))
        next_id += key not in known
    write_state(connection, {"next_topic": next_id})
    return ids


def write_state(connection: sqlite3.Connection, values: Mapping[str, int | bytes]) -> None:
    """Numbers and arrays by name, in place of those of that name."""
    connection.executemany("INSERT OR REPLACE INTO partition_state VALUES (?, ?)", values.items())
