"""Communities, topics, and what the partition knows beside them.

What SQL keeps as JSON or as bytes (names, ids, members), Cypher keeps as lists. Embeddings and the
arrays of the partition are little-endian bytes in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from clew.stores.backend import Statement
from clew.stores.statements.enrichments import described

_COMMUNITIES = "MATCH (c:ClewCommunity {namespace: $namespace})"


def _kept(names: Sequence[str]) -> Statement:
    """One row with the values of those names, null where there is none."""
    values = ", ".join(f"(SELECT value FROM partition_state WHERE name = '{n}')" for n in names)
    return Statement(
        f"SELECT {values}",
        f"""
OPTIONAL MATCH (p:ClewPartition {{namespace: $namespace}})
RETURN [{", ".join(f"p.{n}" for n in names)}] AS row
""",
    )


BUILT = _kept(("built", "next_topic"))
PARTITION = _kept(("entity_ids", "neighbourhoods", "strengths", "moved", "next_id"))
# In place of those of that name. Rows: name, value.
KEEP = Statement(
    "INSERT OR REPLACE INTO partition_state VALUES (:name, :value)",
    """
UNWIND $rows AS row
MERGE (p:ClewPartition {namespace: $namespace}) SET p[row.name] = row.value
""",
)


_TABLES = {
    "communities": ("ClewCommunity", "id"),
    "topics": ("ClewTopic", "id"),
    "themes": ("ClewTheme", "number"),
}
"""Label and key of the nodes that hold the rows of a table."""


def _all(table: str, *columns: str) -> Statement:
    """Those columns of every row of a table."""
    label, key = _TABLES[table]
    # A composite index finds only nodes that have every property that it is made of.
    return Statement(
        f"SELECT {', '.join(columns)} FROM {table}",
        f"MATCH (n:{label} {{namespace: $namespace}}) WHERE n.{key} IS NOT NULL"
        f" RETURN [{', '.join(f'n.{name}' for name in columns)}] AS row",
    )


PLACES = _all("communities", "id", "level", "parent")
MEMBERS = _all("communities", "id", "level", "parent", "members", "embedding IS NOT NULL")
REPORT_BASES = Statement(
    "SELECT id, entity_ids, entities, sources FROM communities WHERE embedding IS NOT NULL",
    f"""
{_COMMUNITIES} WHERE c.id IS NOT NULL AND c.embedding IS NOT NULL
RETURN [c.id, c.entity_ids, c.entities, c.sources] AS row
""",
)


_SAID = described("'community:' || communities.id", "'community:' + toString(c.id)")


@cache
def reported(columns: tuple[str, ...], *, among: bool, at_level: bool) -> Statement:
    """Those columns of communities that have a report: of `ids`, or as one sees them at `level`.

    Last comes what a language model says of each, see `described`.
    """
    sql = ["embedding IS NOT NULL"]
    cypher = ["c.id IS NOT NULL", "c.embedding IS NOT NULL"]
    if among:
        sql.append("id IN (SELECT value FROM json_each(:ids))")
        cypher.append("c.id IN $ids")
    if at_level:
        sql.append(
            """
(level = :level OR level < :level AND NOT EXISTS (
    SELECT 1 FROM communities p WHERE p.parent = communities.id AND p.embedding IS NOT NULL))
"""
        )
        cypher.append(
            """
(c.level = $level OR c.level < $level AND NOT EXISTS {
    MATCH (part:ClewCommunity {namespace: $namespace, parent: c.id})
    WHERE part.embedding IS NOT NULL})
"""
        )
    return Statement(
        f"SELECT {', '.join(columns)}, {_SAID[0]} FROM communities WHERE {' AND '.join(sql)}",
        f"{_COMMUNITIES} WHERE {' AND '.join(cypher)}"
        f" RETURN [{', '.join(f'c.{name}' for name in columns)}, {_SAID[1]}] AS row",
    )


_SAID_OF_TOPIC = described("'topic:' || t.id", "'topic:' + toString(t.id)")
_SAID_OF_THEME = described("'theme:' || h.title", "'theme:' + h.title")


def _topics(sql: str, cypher: str) -> Statement:
    return Statement(
        f"""
SELECT t.id, t.name, h.title, t.passages, t.documents, {_SAID_OF_TOPIC[0]}, {_SAID_OF_THEME[0]}
FROM topics t JOIN themes h ON h.number = t.theme WHERE {sql}
""",
        f"""
MATCH (t:ClewTopic {{namespace: $namespace}}) WHERE {cypher}
MATCH (h:ClewTheme {{namespace: $namespace, number: t.theme}})
RETURN [t.id, t.name, h.title, t.passages, t.documents, {_SAID_OF_TOPIC[1]}, {_SAID_OF_THEME[1]}]
    AS row
""",
    )


TOPICS = _topics("true", "t.id IS NOT NULL")
TOPICS_AMONG = _topics("t.id IN (SELECT value FROM json_each(:ids))", "t.id IN $ids")
TOPIC_KEYS = _all("topics", "key", "id")
TOPIC_VECTORS = _all("topics", "id", "embedding")
TOPIC_THEMES = _all("topics", "id", "theme")
TOPIC_CHUNKS = Statement(
    "SELECT topic_id, chunk_id FROM topic_chunks"
    " WHERE topic_id IN (SELECT value FROM json_each(:ids))",
    """
MATCH (t:ClewTopic {namespace: $namespace}) WHERE t.id IN $ids
UNWIND t.chunks AS chunk
RETURN [t.id, chunk] AS row
""",
)
THEMES = _all("themes", "number", "title")
THEME_VECTORS = _all("themes", "number", "embedding")
