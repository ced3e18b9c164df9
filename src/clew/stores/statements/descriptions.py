"""What a language model says of topics, documents, entities and communities."""

from __future__ import annotations

from clew.stores.backend import Statement

COLUMNS = ("key", "name", "title", "text", "sources", "documents", "basis", "reason")
# Those whose key is between two others, the second left out.
DESCRIPTIONS = Statement(
    f"SELECT {', '.join(COLUMNS)} FROM descriptions WHERE key >= :first AND key < :after",
    f"""
MATCH (s:ClewDescription {{namespace: $namespace}}) WHERE s.key >= $first AND s.key < $after
RETURN [{", ".join(f"s.{name}" for name in COLUMNS)}] AS row
""",
)


def described(sql_key: str, cypher_key: str) -> tuple[str, str]:
    """A column with title, text and sources of what has that key, null for nothing; see `read`."""
    return (
        "(SELECT json_array(s.title, s.text, s.sources) FROM descriptions s"
        f" WHERE s.key = {sql_key})",
        "head(COLLECT { MATCH (s:ClewDescription {namespace: $namespace, key: "
        f"{cypher_key}}}) RETURN [s.title, s.text, s.sources] }})",
    )
