"""What readers of constitutions share: the elements of a file, their names, links and fields."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clew.hookspecs import EntityType, Field, RelationType
from clew.indexing.reading.common import (
    RawFile,
    ReadResult,
    check_limit,
    clean_text,
    decode,
    joined,
    json_safe,
    record,
)
from clew.text import entity_key, one_line, sentence_groups
from clew.times import to_date
from clew.types import DeclaredEntity, Document, Piece, Skipped, Statement, Structure

# The kinds of elements of a constitution with their fields, and what relates them.


_VERSIONS = (
    Field(name="version"),
    Field(name="since", kind="date", description="From when on it holds."),
    Field(name="until", kind="date", description="Until when an older version held."),
)

ENTITY_TYPES = (
    EntityType(
        name="value",
        fields=(Field(name="priority", kind="number", minimum=1, maximum=10), *_VERSIONS),
    ),
    EntityType(
        name="principle",
        fields=(Field(name="weight", kind="number", minimum=0, maximum=1), *_VERSIONS),
        description="Its rationale is in its text.",
    ),
    EntityType(
        name="goal",
        fields=(Field(name="status", choices=("active", "proposed", "deprecated")), *_VERSIONS),
        description="Its action is in its text.",
    ),
    EntityType(name="topic"),
    EntityType(name="conversation", fields=(Field(name="time", kind="time"),)),
)
RELATION_TYPES = (
    RelationType(name="defines", inverse="defined_by", description="Value to principle."),
    RelationType(name="guides", inverse="guided_by", description="Principle to goal."),
    RelationType(name="implements", description="Goal to principle; confidence: completeness."),
    RelationType(name="relates_to", description="Confidence: strength; its kind is beside it."),
    RelationType(name="complements"),
    RelationType(name="conflicts"),
    RelationType(name="depends_on"),
    RelationType(name="discussed_in", description="Element to conversation."),
    RelationType(name="derived_from", description="Version to the one before."),
    RelationType(name="references", description="Conversation to element: relevance."),
    RelationType(name="about"),
)


# An element of a constitution: a record of a file as a document, and its relations read back.
#
# A document's text ends in its relations, a line each, so that the store's own text states them:
#
#     Say what is known and what is not.
#     Weight: 0.8
#
#     Relations:
#     - guides: Cite sources [0.9]


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
_HEADING_NODE = "Relations:"
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
    body = "\n".join([*lines[:40], *(["", _HEADING_NODE, *links] if links else [])])
    parts = [clean_text(part) for part in [*clauses[:-1], f"{clauses[-1]}\n{body}".strip()]]
    text, starts = joined(parts, "\n")
    pieces = [
        Piece(start=start, end=start + len(part), key=f"clause {number}")
        for number, (part, start) in enumerate(zip(parts, starts, strict=True), 1)
    ]
    known = record(
        raw,
        f"{node.kind}:{entity_key(node.title) or node.line}",
        text or node.name,
        title=node.title,
        media_type=MEDIA_TYPE,
        entity_type=node.kind,
        fields={**node.fields, "line": node.line},
        date=to_date(node.fields.get("since") or node.fields.get("time") or ""),
    )
    return replace(known, pieces=tuple(pieces) if len(parts) > 1 else ())


def own_words(text: str) -> str:
    """The text of an element without its relations."""
    return text.partition(_HEADING_NODE)[0].strip()


def links_of(document: Document) -> Iterator[tuple[Link, int, int]]:
    """The relations that a document states, each with its range in the text."""
    head, heading, tail = document.text.partition(f"{_HEADING_NODE}\n")
    at = len(head) + len(heading)
    for line in tail.split("\n"):
        if match := _LINK.fullmatch(line):
            share = float(match["share"]) if match["share"] else _DEFAULT_SHARE
            yield Link(match["relation"], match["target"], share), at, at + len(line)
        at += len(line) + 1


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

    def add_items(self, items: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Keep the elements that mappings describe, each with its kind.

        `parent` is the one above, or its name.
        """
        by_name = {item["name"].casefold(): (kind, item) for kind, item in reversed(items)}
        for _, item in items:
            parent = item.pop("parent", "")
            kind, above = (
                by_name.get(parent.casefold(), ("", {})) if isinstance(parent, str) else parent
            )
            if above:
                link = {n: item[n] for n in (*SHARES, LINE) if n in item} | {"to": item["name"]}
                above.setdefault(BETWEEN.get(kind, "references"), []).append(link)
            elif parent:
                self.wrong.append((item[LINE], f"there is no parent {parent!r}"))
        for kind, item in items:
            _elements(self, kind, [item], 0)

    def result(self) -> ReadResult:
        """The nodes as documents, and by line what is wrong with the others."""
        documents = {}
        for node in self._without_circles([self._sound(node) for node in self.nodes]):
            document = node_document(self.raw, node)
            if document.source in documents:
                self.wrong.append((node.line, f"there is another {node.kind} {node.title!r}"))
            else:
                documents[document.source] = document
        skipped = tuple(
            Skipped(source=self.raw.source, reason=f"line {line}: {reason}")
            for line, reason in sorted(self.wrong)
        )
        return ReadResult(documents=tuple(documents.values()), skipped=skipped)

    def _sound(self, node: Node) -> Node:
        """The node without the fields and relations that cannot be."""
        fields, links, wrong = dict(node.fields), [], []
        for name in [name for name in FIELDS if name in fields]:
            if expected := FIELDS[name].expected(fields[name]):
                told = f"{name} of {node.name!r} is {fields.pop(name)!r}"
                wrong.append(f"{told}; expected {expected}")
        for link in node.links:
            told = f"{link.relation!r} of {node.name!r}"
            if link.relation not in RELATIONS:
                wrong.append(f"unknown relation {told}; expected {', '.join(RELATIONS)}")
            elif not 0 <= link.share <= 1:
                wrong.append(f"the share of {told} is {link.share:g}; expected 0 to 1")
            else:
                links.append(link)
        self.wrong += [(node.line, reason) for reason in wrong]
        return replace(node, fields=fields, links=tuple(links))

    def _without_circles(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """The nodes without those relations of the hierarchy that lead back."""
        after: dict[str, list[str]] = {}
        for node in nodes:
            climbing = [entity_key(one.target) for one in node.links if one.relation in _CLIMBING]
            after.setdefault(entity_key(node.title), []).extend(climbing)
        closed = circles(after)
        for node in nodes:
            links = []
            for link in node.links:
                way = closed.get((entity_key(node.title), entity_key(link.target)))
                if way is None or link.relation not in _CLIMBING:
                    links.append(link)
                else:
                    circle = " ▸ ".join([node.title, link.target, *way[1:]])
                    told = f"the hierarchy is circular: {circle}"
                    self.wrong.append((link.line or node.line, told))
            yield replace(node, links=tuple(links))


def make_node(kind: str, name: str, item: Mapping[str, Any], links: tuple[Link, ...]) -> Node:
    """The element that a mapping or a row describes."""
    texts = [field_text(item[key]) for key in TEXTS if item.get(key)]
    left_out = {*NAMES[:2], *TEXTS, *PLURALS, *SHARES, *RELATION_NAMES, "versions", LINE}
    fields = {
        str(name): safe
        for name, value in item.items()
        if name not in left_out and isinstance(safe := json_safe(value), (str, int, float))
    }
    return Node(
        kind=kind,
        name=name,
        line=item.get(LINE, 0),
        text="\n".join(texts),
        fields=fields,
        links=links,
    )


def name_in(item: Mapping[str, Any]) -> str:
    """The name of an element; empty where there is none."""
    return next((one_line(str(item[n])) for n in NAMES if item.get(n)), "")


def share_in(item: Mapping[str, Any]) -> float:
    """Confidence, strength, completeness or relevance; -1 for what is no number."""
    given = next((item[name] for name in SHARES if name in item), _DEFAULT_SHARE)
    return float(given) if isinstance(given, (int, float)) else -1.0


def links_in(item: Mapping[str, Any], line: int) -> Iterator[Link]:
    """The relations of an element, in fields that have the names of some."""
    for key, relation in RELATION_NAMES.items():
        given = item.get(key) or []
        for one in given if isinstance(given, list) else [given]:
            told = one if isinstance(one, dict) else {"name": str(one)}
            if name := name_in(told):
                yield Link(relation, name, share_in(told), int(told.get(LINE, line)))


# Constitutions as outlines in Markdown, and as tables.


_HEADING = re.compile(
    r"(?P<marks>#{1,6}) (?P<kind>value|principle|goal|topic|conversation): ?(?P<name>.{1,200})",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(?P<item>[-*] )?(?P<name>[A-Za-z][A-Za-z_ ]{0,30}): (?P<value>.{1,2000})")
_TARGET = re.compile(r"(?P<name>[^()]{1,200}?)(?: \((?P<share>\d(?:\.\d{1,4})?)\))?")


def read_markdown(raw: RawFile) -> ReadResult | None:
    """Headings such as `## Principle: Say what is known`; None for Markdown without any.

    A heading below another one is defined or guided by it. `Name: value` lines are fields, items
    `- conflicts: Speed (0.7)` relations, all other lines the element's text.
    """
    found = Found(raw)
    items: list[tuple[str, dict[str, Any]]] = []
    open_: list[tuple[int, tuple[str, dict[str, Any]]]] = []  # levels and items of those above
    for number, line in enumerate(decode(raw).split("\n"), 1):
        if heading := _HEADING.fullmatch(line.rstrip()):
            level = len(heading["marks"])
            open_ = [one for one in open_ if one[0] < level]
            item: dict[str, Any] = {"name": one_line(heading["name"]), LINE: number}
            items.append((heading["kind"].lower(), item))
            if open_ and open_[-1][1][0] in BETWEEN:
                item["parent"] = open_[-1][1]
            open_.append((level, items[-1]))
        elif items:
            _take_line(items[-1][1], line.strip(), number)
    found.add_items(items)
    return found.result() if items else None


def _take_line(item: dict[str, Any], line: str, number: int) -> None:
    """Take a line below a heading as relations, a field, or text of the element."""
    match = _FIELD.fullmatch(line)
    name = match["name"].lower().replace(" ", "_") if match else ""
    if match and name in RELATION_NAMES:
        targets = map(_TARGET.fullmatch, map(str.strip, match["value"].split(";")))
        item.setdefault(name, []).extend(
            {"to": one["name"], LINE: number, "confidence": float(one["share"] or _DEFAULT_SHARE)}
            for one in filter(None, targets)
        )
    elif match and not match["item"] and name not in {*TEXTS, *PLURALS, *NAMES, "versions"}:
        item[name] = number_or_text(match["value"].strip())
    else:
        said = match["value"] if match and name in TEXTS else line
        item["text"] = "\n".join(filter(None, (item.get("text"), said)))


def read_csv(raw: RawFile) -> ReadResult | None:
    """A table with columns `name` and `layer` (or `kind`, `type`); None for any other.

    `parent` names the element of the layer before, columns named as relations hold targets with
    semicolons between them; all other columns are fields.
    """
    rows = csv.DictReader(io.StringIO(decode(raw), newline=""))
    columns = {name.strip().lower() for name in rows.fieldnames or () if name}
    layer = next((name for name in ("layer", "kind", "type") if name in columns), "")
    if "name" not in columns or not layer:
        return None
    found = Found(raw)
    items: list[tuple[str, dict[str, Any]]] = []
    try:
        for row in rows:
            cells = {str(k).strip().lower(): str(v).strip() for k, v in row.items() if k and v}
            kind = cells.pop(layer, "").lower()
            if kind in KINDS and cells.get("name"):
                item: dict[str, Any] = {
                    k: v if k == "parent" else number_or_text(v)
                    for k, v in cells.items()
                    if k != "id"
                }
                item |= {k: cells[k].split(";") for k in cells.keys() & RELATION_NAMES.keys()}
                items.append((kind, {**item, "name": cells["name"], LINE: rows.line_num}))
            else:
                reason = (
                    f"{kind or 'nothing'} is no layer, or has no name; expected {', '.join(KINDS)}"
                )
                found.wrong.append((rows.line_num, reason))
    except csv.Error as error:
        found.wrong.append((rows.line_num, f"malformed: {error}"))
    found.add_items(items)
    return found.result() if items else None


# Constitutions as YAML and JSON: elements within elements.


_DEEPEST = 20
"""Levels of elements within elements."""


def read_yaml(raw: RawFile) -> ReadResult | None:
    """A mapping with `values`, `principles`, `goals`, …; None for any other YAML."""
    text = decode(raw)
    if not any(f"{name}:" in text or f'"{name}"' in text for name in PLURALS):
        return None
    return _read_mapping(raw, text)


def read_json(raw: RawFile) -> ReadResult | None:
    """The same as JSON."""
    text = decode(raw)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None  # the reader of all JSON says where it is malformed
    is_mine = isinstance(value, dict) and _is_constitution(value)
    return _read_mapping(raw, text.replace("\t", " ")) if is_mine else None


def _is_constitution(value: Mapping[str, Any]) -> bool:
    """Whether one of the lists holds named elements."""
    listed = (value.get(name) for name in PLURALS)
    return any(
        isinstance(one, dict) and any(name in one for name in NAMES)
        for items in listed
        if isinstance(items, list)
        for one in items
    )


def _read_mapping(raw: RawFile, text: str) -> ReadResult | None:
    value = read_lined_yaml(raw, text)
    if not isinstance(value, dict) or not _is_constitution(value):
        return None
    found = Found(raw)
    for name, kind in PLURALS.items():
        _elements(found, kind, value.get(name), 0)
    # `relations`: each with `from`, `relation` or `kind`, and `to`.
    by_name = {node.name.casefold(): at for at, node in enumerate(found.nodes)}
    related = value.get("relations")
    listed = related if isinstance(related, list) else []
    for item in [one for one in listed if isinstance(one, dict)]:
        line = int(item.get(LINE, 0))
        at = by_name.get(one_line(str(item.get("from", ""))).casefold())
        if at is not None and item.get("to"):
            given = str(item.get("kind") or item.get("relation") or "")
            relation = RELATION_NAMES.get(given, given)
            link = Link(relation, one_line(str(item["to"])), share_in(item), line)
            found.nodes[at] = replace(found.nodes[at], links=(*found.nodes[at].links, link))
        else:
            told = f"from {item.get('from')!r} to {item.get('to')!r} leads from or to nothing"
            found.wrong.append((line, f"the relation {told}; expected names of elements"))
    return found.result()


def _elements(found: Found, kind: str, items: object, depth: int) -> list[tuple[str, float, int]]:
    """Keep the elements of a list and those within them; (name, share, line) of the list's own."""
    listed = items if isinstance(items, list) else []
    named = []
    for item in listed:
        line = item.get(LINE, 0) if isinstance(item, dict) else 0
        name = name_in(item) if isinstance(item, dict) else one_line(str(item))
        if not name or depth > _DEEPEST:
            found.wrong.append((line, f"a {kind} without a name; expected name: …"))
            continue
        named.append((name, share_in(item if isinstance(item, dict) else {}), line))
        if isinstance(item, dict):
            _element_reading(found, kind, name, item, depth)
    return named


def _element_reading(
    found: Found, kind: str, name: str, item: Mapping[str, Any], depth: int
) -> None:
    """Keep an element, its older versions, and what stands within it."""
    line = item.get(LINE, 0)
    links = list(links_in(item, line))
    for plural, inner in PLURALS.items():
        if plural in item and plural != "topics":
            relation = (
                BETWEEN.get(kind, "references") if inner != "conversation" else "discussed_in"
            )
            inside = _elements(found, inner, item[plural], depth + 1)
            links += [Link(relation, n, share, at) for n, share, at in inside]
    versions = [one for one in item.get("versions") or [] if isinstance(one, dict)]
    older = [make_node(kind, name, one, ()) for one in versions]
    links += [Link("derived_from", one.title, 0.95, line) for one in older]
    found.add(make_node(kind, name, item, tuple(links)))
    for one in older:
        found.add(one)


# What the elements of a constitution state of each other.


_TAILS = {
    "defines": "principle",
    "guides": "goal",
    "discussed_in": "conversation",
    "about": "topic",
}
"""What a relation leads to."""


def constitution_structure(document: Document) -> Structure:
    """The relations of an element, held from `since` to `until`; nothing of other documents."""
    kind = str(document.metadata.get("entity_type", ""))
    if document.media_type != MEDIA_TYPE or kind not in KINDS or not entity_key(document.title):
        return Structure()
    until = to_date(document.metadata.get("until"))
    statements = [
        Statement(
            head=document.title,
            head_type=kind,
            relation_type=relation,
            tail=link.target,
            tail_type=_TAILS.get(relation, "name"),
            start=start,
            end=end,
            confidence=link.share,
            valid_from=document.created_at,
            valid_until=until.start if until else None,
        )
        for link, start, end in links_of(document)
        # A relation of a kind is one of `relates_to`, too.
        for relation in (link.relation, *(["relates_to"] if link.relation in RELATED else []))
    ]
    return Structure(
        statements=tuple(statements),
        entities=(DeclaredEntity(name=document.title, entity_type=kind),),
    )


# Relations that lead from an element back to one that it hangs on.


_SHOWN = 20
"""Elements of a circle that are named."""


def circles(after: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], list[str]]:
    """(from, to) of the edges that close a circle, each with the way from `to` to `from`.

    Without them no circle is left. Depth first, in the order of the mapping: linear in its edges.
    """
    found: dict[tuple[str, str], list[str]] = {}
    done: set[str] = set()
    for root in after:
        if root in done:
            continue
        way, place = [root], {root: 0}
        ahead = [iter(after[root])]
        while way:
            at = next(ahead[-1], None)
            if at is None:
                ahead.pop()
                done.add(way[-1])
                del place[way.pop()]
            elif at in place:
                shown = way[place[at] :]
                if len(shown) > _SHOWN:
                    shown = [*shown[: _SHOWN - 1], "…", shown[-1]]
                found[way[-1], at] = shown
            elif at not in done:
                place[at] = len(way)
                way.append(at)
                ahead.append(iter(after.get(at, ())))
    return found


# YAML (and JSON, which is YAML) whose mappings know their lines.


LINE = "__line__"
"""Where a mapping has the line that it begins in."""


def read_lined_yaml(raw: RawFile, text: str) -> Any:  # noqa: ANN401 - any YAML value
    """The value of a text, its mappings with their lines; raises `UnreadableError`."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Loads mappings with the line that they begin in."""

    def mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        return {**loader.construct_mapping(node, deep=True), LINE: node.start_mark.line + 1}

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(text, Loader=Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" (line {mark.line + 1})" if mark else ""
        raise raw.unreadable(f"malformed YAML{line}: {one_line(str(error.problem))}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise raw.unreadable(f"malformed YAML: {one_line(str(error))}") from error


# What a field of an element says, as text or as a number.


def field_text(value: object) -> str:
    """The text of a field: of a list of messages each on a line, with who said it."""
    if not isinstance(value, list):
        return str(value).strip()
    messages = [one if isinstance(one, dict) else {"text": one} for one in value]
    told = (
        (one.get("role") or one.get("author"), one.get("text") or one.get("content") or "")
        for one in messages
    )
    return "\n".join(
        f"{author}: {one_line(str(said))}" if author else one_line(str(said))
        for author, said in told
    )


def number_or_text(text: str) -> Any:  # noqa: ANN401 - a number or a text
    """A number where the text is one."""
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text
