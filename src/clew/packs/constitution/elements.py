"""What readers of constitutions share: the elements of a file, their names, links and fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.indexing.reading.formats.common import RawFile, ReadResult, check_limit, json_safe
from clew.indexing.reading.formats.trees.lined_yaml import LINE
from clew.indexing.reading.formats.trees.values import field_text
from clew.packs.constitution.node import (
    KINDS,
    RELATIONS,
    SHARES,
    Link,
    Node,
    checked,
    node_document,
    without_cycles,
)
from clew.text import one_line
from clew.types import Skipped

PLURALS = {f"{kind}s": kind for kind in KINDS}
TEXTS = ("description", "rationale", "action", "text", "clauses", "messages")
"""Fields whose words are the text of an element, in this order."""
NAMES = ("name", "title", "to", "target", "id")
RELATION_NAMES = {
    **{name: name for name in RELATIONS},
    "conflicts_with": "conflicts",
    "topics": "about",
}
"""Fields that hold relations, and what they are."""


@dataclass
class Found:
    """What a file held so far."""

    raw: RawFile
    nodes: list[Node] = field(default_factory=list)
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def add(self, node: Node) -> None:
        """Keep a node; raises `LimitError` for too many."""
        self.nodes.append(node)
        check_limit(self.raw.limits, "elements", len(self.nodes), self.raw.source)

    def result(self) -> ReadResult:
        """The nodes as documents, and by line what is wrong with the others."""
        nodes = []
        for node in self.nodes:
            sound, wrong = checked(node)
            nodes.append(sound)
            self.wrong += [(node.line, reason) for reason in wrong]
        nodes, circles = without_cycles(nodes)
        documents = {}
        for node in nodes:
            document = node_document(self.raw, node)
            if document.source in documents:
                self.wrong.append((node.line, f"there is another {node.kind} {node.title!r}"))
            else:
                documents[document.source] = document
        skipped = tuple(
            Skipped(source=self.raw.source, reason=f"line {line}: {reason}")
            for line, reason in sorted([*self.wrong, *circles])
        )
        return ReadResult(documents=tuple(documents.values()), skipped=skipped)


def make_node(kind: str, name: str, item: Mapping[str, Any], links: tuple[Link, ...]) -> Node:
    """The element that a mapping or a row describes."""
    texts = [field_text(item[key]) for key in TEXTS if item.get(key)]
    left_out = {*NAMES[:2], *TEXTS, *PLURALS, *SHARES, *RELATION_NAMES, "versions", LINE}
    fields = {str(k): json_safe(v) for k, v in item.items() if k not in left_out}
    fields = {k: v for k, v in fields.items() if isinstance(v, (str, int, float))}
    line = item.get(LINE, 0)
    return Node(kind=kind, name=name, line=line, text="\n".join(texts), fields=fields, links=links)


def name_in(item: Mapping[str, Any]) -> str:
    """The name of an element; empty where there is none."""
    return next((one_line(str(item[n])) for n in NAMES if item.get(n)), "")


def share_in(item: object) -> float:
    """Confidence, strength, completeness or relevance; -1 for what is no number."""
    given = [item[n] for n in SHARES if n in item] if isinstance(item, dict) else []
    if not given:
        return 0.95
    return float(given[0]) if isinstance(given[0], (int, float)) else -1.0


def links_in(key: object, given: object, line: int) -> Iterator[Link]:
    """The relations of a field that has the name of one."""
    relation = RELATION_NAMES.get(str(key))
    if relation is None:
        return
    for one in given if isinstance(given, list) else [given]:
        name = name_in(one) if isinstance(one, dict) else one_line(str(one))
        if name:
            at = one.get(LINE, line) if isinstance(one, dict) else line
            yield Link(relation, name, share_in(one), at)
