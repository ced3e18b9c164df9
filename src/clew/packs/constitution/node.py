"""An element of a constitution: a record of a file as a document, and its relations read back.

A document's text ends in its relations, a line each, so that the store's own text states them:

    Say what is known and what is not.
    Weight: 0.8

    Relations:
    - guides: Cite sources [0.9]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.indexing.reading.formats.common import clean_text
from clew.indexing.reading.formats.entity_document import record
from clew.indexing.reading.formats.trees.circles import circles
from clew.packs.constitution.types import ENTITY_TYPES, RELATION_TYPES
from clew.sentences import sentence_groups
from clew.text import entity_key, one_line
from clew.times import to_date
from clew.types import Document, Piece

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import RawFile

MEDIA_TYPE = "application/vnd.clew.constitution"
LAYERS = ("value", "principle", "goal")
"""From the most general to the most particular."""
KINDS = (*LAYERS, "topic", "conversation")
BETWEEN = {"value": "defines", "principle": "guides"}
"""What leads from a layer to the next one."""
RELATED = ("complements", "conflicts", "depends_on")
"""Kinds of `relates_to`; each is a relation type of its own beside it."""
RELATIONS = tuple(one.name for one in RELATION_TYPES if one.name != "relates_to")
FIELDS = {field.name: field for kind in ENTITY_TYPES for field in kind.fields}
"""Fields that any element may have, as they are declared."""
SHARES = ("confidence", "strength", "completeness", "relevance")
"""Names of what a relation has as its confidence, 0 to 1."""
CLAUSE_WORDS = 90
"""Words of a clause of a principle, at most: about 128 tokens."""
_CLIMBING = frozenset(("defines", "guides", "derived_from"))
_HEADING = "Relations:"
_LINK = re.compile(
    r"- (?P<relation>[a-z_]{1,30}): (?P<target>[^\n]*?)(?: \[(?P<share>[01]\.\d{1,3})\])?"
)
_DEFAULT_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Link:
    """A relation from an element to another one."""

    relation: str
    target: str
    share: float = _DEFAULT_SHARE
    """Confidence, strength, completeness or relevance, 0 to 1."""
    line: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """An element of a constitution."""

    kind: str
    """One of `KINDS`."""
    name: str
    line: int
    """Where the file has it, from 1."""
    text: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[Link, ...] = ()

    @property
    def title(self) -> str:
        """Its name; of an older version with its number."""
        version = self.fields.get("version")
        return (
            f"{self.name} (version {version})"
            if self.fields.get("until") and version
            else self.name
        )


def node_document(raw: RawFile, node: Node) -> Document:
    """The element as a document; the clauses of a principle are its passages."""
    clauses = (
        list(sentence_groups(node.text, CLAUSE_WORDS)) if node.kind == "principle" else [node.text]
    )
    lines = [
        f"{name.capitalize()}: {one_line(str(v))}" for name, v in node.fields.items() if v != ""
    ]
    links = [f"- {one.relation}: {one_line(one.target)} [{one.share:.2f}]" for one in node.links]
    body = "\n".join([*lines[:40], *(["", _HEADING, *links] if links else [])])
    parts = [clean_text(part) for part in [*clauses[:-1], f"{clauses[-1]}\n{body}".strip()]]
    text, pieces = "\n".join(parts) or node.name, []
    at = 0
    for number, part in enumerate(parts, 1):
        pieces.append(Piece(start=at, end=at + len(part), key=f"clause {number}"))
        at += len(part) + 1
    known = record(
        raw,
        f"{node.kind}:{entity_key(node.title) or node.line}",
        text,
        title=node.title,
        media_type=MEDIA_TYPE,
        entity_type=node.kind,
        fields={**node.fields, "line": node.line},
        date=to_date(node.fields.get("since") or node.fields.get("time") or ""),
    )
    return replace(known, pieces=tuple(pieces) if len(parts) > 1 else ())


def own_words(text: str) -> str:
    """The text of an element without its relations."""
    return text.partition(_HEADING)[0].strip()


def links_of(document: Document) -> Iterator[tuple[Link, int, int]]:
    """The relations that a document states, each with its range in the text."""
    head, heading, tail = document.text.partition(f"{_HEADING}\n")
    at = len(head) + len(heading)
    for line in tail.split("\n"):
        if match := _LINK.fullmatch(line):
            share = float(match["share"]) if match["share"] else _DEFAULT_SHARE
            yield Link(match["relation"], match["target"], share), at, at + len(line)
        at += len(line) + 1


def checked(node: Node) -> tuple[Node, list[str]]:
    """The node without the fields that cannot be, and what is wrong with these."""
    fields = dict(node.fields)
    wrong = []
    for name in [name for name in FIELDS if name in fields]:
        if expected := FIELDS[name].expected(fields[name]):
            given = fields.pop(name)
            wrong.append(f"{name} of {node.name!r} is {given!r}; expected {expected}")
    links = []
    for link in node.links:
        if link.relation not in RELATIONS:
            known = ", ".join(RELATIONS)
            wrong.append(f"unknown relation {link.relation!r} of {node.name!r}; expected {known}")
        elif not 0 <= link.share <= 1:
            wrong.append(f"{link.relation} of {node.name!r} has {link.share:g}; expected 0 to 1")
        else:
            links.append(link)
    return replace(node, fields=fields, links=tuple(links)), wrong


def without_cycles(nodes: Sequence[Node]) -> tuple[list[Node], list[tuple[int, str]]]:
    """The nodes without those relations of the hierarchy that lead back, and what these were."""
    after: dict[str, list[str]] = {}
    for node in nodes:
        climbing = [entity_key(one.target) for one in node.links if one.relation in _CLIMBING]
        after.setdefault(entity_key(node.title), []).extend(climbing)
    closed = circles(after)
    kept: list[Node] = []
    wrong: list[tuple[int, str]] = []
    for node in nodes:
        links = []
        for link in node.links:
            way = closed.get((entity_key(node.title), entity_key(link.target)))
            if way is None or link.relation not in _CLIMBING:
                links.append(link)
            else:
                circle = " ▸ ".join([node.title, link.target, *way[1:]])
                wrong.append((link.line or node.line, f"the hierarchy is circular: {circle}"))
        kept.append(replace(node, links=tuple(links)))
    return kept, wrong
