"""Which columns of another memory's tables mean what, and the values that they hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from clew.indexing.reading.formats.common import json_safe

Row: TypeAlias = Mapping[str, object]

NAME = ("name", "entity_name", "title", "label")
TYPE = ("entity_type", "entitytype", "type", "kind", "category")
CONTENT = ("content", "description", "summary")
TOLD = ("observations", "observation", "facts", "notes")
ENTITY_ID = ("id", "entity_id", "uuid")
FROM = (
    *("from_entity_id", "from_id", "source_id", "from_entity", "source_entity", "source", "from"),
    *("source_name", "from_name", "subject", "head"),
)
TO = (
    *("to_entity_id", "to_id", "target_id", "to_entity", "target_entity", "target", "to"),
    *("target_name", "to_name", "object", "tail"),
)
RELATION_TYPE = ("relation_type", "relationtype", "type", "relation", "predicate", "name")
WEIGHT = ("weight", "strength", "confidence")
CAUSAL = ("is_causal", "causal")
TRUE = (1, True, "1", "true")
IDS = {"id": "imported_id", "uuid": "imported_id"}
ENTITY_KEPT = {
    **IDS,
    "tier": "tier",
    **dict.fromkeys(("importance", "salience", "salience_score"), "importance"),
    "context": "context",
}
RELATION_KEPT = {**IDS, **dict.fromkeys(("context", "metadata", "evidence"), "context")}
"""What is kept of a row as it was, by column."""
OWNER = ("entity_id", "entity_name", "entity", "name")
TEXT = ("content", "observation", "text", "fact", "value")


def text_of(row: Row, names: Sequence[str]) -> str:
    """The first of the columns that holds a text."""
    values = (row.get(name) for name in names)
    return next((value for value in values if isinstance(value, str)), "")


def kept(row: Row, columns: Mapping[str, str]) -> dict[str, Any]:
    """Values of these columns under their new names; JSON objects as their own fields."""
    found: dict[str, Any] = {}
    for column, name in columns.items():
        value = row.get(column)
        if isinstance(value, str):
            with suppress(ValueError, RecursionError):
                value = json.loads(value) if value.lstrip().startswith("{") else value
        if isinstance(value, dict):
            found |= json_safe(value)
        elif isinstance(value, (str, int, float)) and value != "":
            found.setdefault(name, json_safe(value))
    return found


def listed(text: str) -> list[str]:
    """Observations in one column: a JSON list of texts, or a text a line."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    return [line for line in text.splitlines() if line.strip()]


def share_of(row: Row) -> float:
    """A weight from 0 to 1; 1 where there is none that can be one."""
    value = next((row[name] for name in WEIGHT if name in row), None)
    if isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= 1:
        return float(value)
    return 1.0
