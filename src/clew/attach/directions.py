"""Relationships of a written query, turned where the graph has them the other way round alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.attach.schema import GraphSchema

_STEP = re.compile(
    r"\((?P<left>\w{1,60})?(?::(?P<from_>\w{1,60}))?[^()\[\]]{0,200}\)"
    r"(?P<in><)?-\[(?P<inside>\w{0,60}:(?P<type>\w{1,60})\b[^()\[\]|]{0,200})\]-(?P<out>>)?"
    r"(?=\((?P<right>\w{1,60})?(?::(?P<to>\w{1,60}))?[^()\[\]]{0,200}\))"
)
_LABELLED = re.compile(r"\((?P<name>\w{1,60}):(?P<label>\w{1,60})\b")


def with_directions(query: str, schema: GraphSchema) -> str:
    """The query with each `(:A)-[:TYPE]->(:B)` turned where the graph has only B to A of it.

    A step whose labels, type or direction the query leaves open stays as it is.
    """
    labels = {match["name"]: match["label"] for match in _LABELLED.finditer(query)}

    def turned(match: re.Match[str]) -> str:
        left = match["from_"] or labels.get(match["left"] or "")
        right = match["to"] or labels.get(match["right"] or "")
        known = schema.type(match["type"])
        if known is None or not left or not right or bool(match["in"]) == bool(match["out"]):
            return match[0]
        pair = (right, left) if match["in"] else (left, right)
        if pair in known.ends or pair[::-1] not in known.ends:
            return match[0]
        node = match[0][: match[0].index(")") + 1]
        if match["in"]:
            return f"{node}-[{match['inside']}]->"
        return f"{node}<-[{match['inside']}]-"

    return _STEP.sub(turned, query)
