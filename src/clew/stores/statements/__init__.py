"""All that a store asks of its database, by concept: the SQL and the Cypher of a question together.

Column lists that are the same in both languages are written once. Cypher names the namespace in
every pattern, and a property of the index that it starts from: a composite index finds only nodes
that have every property that it is made of, hence `n.id > 0`.
"""

from __future__ import annotations

AMONG = "IN (SELECT value FROM json_each(:ids))"
AMONG_KEYS = "IN (SELECT value FROM json_each(:keys))"
"""Conditions of SQL: one of the parameter `ids` or `keys`, which are lists."""
