"""What language models were asked, and what they answered: the table `llm_cache`."""

from __future__ import annotations

from clew.stores.backend import Statement

COLUMNS = (
    *("key", "task", "model", "subject", "documents", "reason", "reply", "characters"),
    *("input_tokens", "cached_tokens", "output_tokens", "cost", "seconds", "at", "hits"),
)
_SQL = ", ".join(COLUMNS)
_CYPHER = ", ".join(f"n.{name}" for name in COLUMNS)
# Without the replies themselves, which may be long.
_SQL_LIST = ", ".join("''" if name == "reply" else name for name in COLUMNS)
_CYPHER_LIST = ", ".join("''" if name == "reply" else f"n.{name}" for name in COLUMNS)
_NODE = "(n:ClewReply {namespace: $namespace})"

FIND_REPLY = Statement(
    f"SELECT {_SQL} FROM llm_cache WHERE key = :key AND reason = ''",
    f"""
MATCH (n:ClewReply {{namespace: $namespace, key: $key}}) WHERE n.reason = ''
RETURN [{_CYPHER}] AS row
""",
)
COUNT_HIT = Statement(
    "UPDATE llm_cache SET hits = hits + 1 WHERE key = :key",
    "MATCH (n:ClewReply {namespace: $namespace, key: $key}) SET n.hits = n.hits + 1",
)
RECORD_REPLY = Statement(
    f"INSERT OR REPLACE INTO llm_cache ({_SQL}) VALUES ({', '.join(f':{n}' for n in COLUMNS)})",
    """
UNWIND $rows AS row
MERGE (n:ClewReply {namespace: $namespace, key: row.key}) SET n += row
""",
)
ALL_REPLIES = Statement(
    f"SELECT {_SQL_LIST} FROM llm_cache ORDER BY at DESC, key",
    f"""
MATCH {_NODE} WHERE n.key IS NOT NULL
RETURN [{_CYPHER_LIST}] AS row ORDER BY n.at DESC, n.key
""",
)
COUNT_REPLIES = Statement(
    "SELECT count(*) FROM llm_cache",
    f"MATCH {_NODE} WHERE n.key IS NOT NULL RETURN [count(n)] AS row",
)
CLEAR_REPLIES = Statement(
    "DELETE FROM llm_cache", f"MATCH {_NODE} WHERE n.key IS NOT NULL DELETE n"
)
# What was said of a document goes with it. `documents` is a JSON list of ids.
DELETE_REPLIES_ABOUT = Statement(
    """
DELETE FROM llm_cache WHERE documents <> '[]' AND EXISTS (
    SELECT 1 FROM json_each(documents) d, json_each(:ids) i WHERE d.value = i.value)
""",
    f"""
MATCH {_NODE} WHERE n.key IS NOT NULL AND any(id IN $ids WHERE n.documents CONTAINS id)
DELETE n
""",
)
