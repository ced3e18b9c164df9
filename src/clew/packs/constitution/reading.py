"""Constitutions as YAML, JSON, outlines in Markdown, and tables."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clew.indexing.reading.formats.common import RawFile, ReadResult, check_limit, json_safe
from clew.indexing.reading.formats.encoding import decode
from clew.packs.constitution.node import (
    BETWEEN,
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

_PLURALS = {f"{kind}s": kind for kind in KINDS}
_LINE = "__line__"
_TEXTS = ("description", "rationale", "action", "text", "clauses", "messages")
"""Fields whose words are the text of an element, in this order."""
_NAMES = ("name", "title", "to", "target", "id")
_DEEPEST = 20
_RELATION_NAMES = {
    **{name: name for name in RELATIONS},
    "conflicts_with": "conflicts",
    "topics": "about",
}
_HEADING = re.compile(
    r"(?P<marks>#{1,6}) (?P<kind>value|principle|goal|topic|conversation): ?(?P<name>.{1,200})",
    re.I,
)
_FIELD = re.compile(r"(?P<item>[-*] )?(?P<name>[A-Za-z][A-Za-z_ ]{0,30}): (?P<value>.{1,2000})")
_TARGET = re.compile(r"(?P<name>[^()]{1,200}?)(?: \((?P<share>\d(?:\.\d{1,4})?)\))?")


@dataclass
class _Found:
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


# --- YAML and JSON ---------------------------------------------------------------------------


def read_yaml(raw: RawFile) -> ReadResult | None:
    """A mapping with `values`, `principles`, `goals`, …; None for any other YAML."""
    text = decode(raw)
    if not any(f"{name}:" in text or f'"{name}"' in text for name in _PLURALS):
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
    listed = (value.get(name) for name in _PLURALS)
    return any(
        isinstance(one, dict) and any(name in one for name in _NAMES)
        for items in listed
        if isinstance(items, list)
        for one in items
    )


def _read_mapping(raw: RawFile, text: str) -> ReadResult | None:
    import yaml

    try:
        value = yaml.load(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" (line {mark.line + 1})" if mark else ""
        raise raw.unreadable(f"malformed YAML{line}: {one_line(str(error.problem))}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise raw.unreadable(f"malformed YAML: {one_line(str(error))}") from error
    if not isinstance(value, dict) or not _is_constitution(value):
        return None
    found = _Found(raw)
    for name, kind in _PLURALS.items():
        _elements(found, kind, value.get(name), 0)
    _relations(found, value.get("relations"))
    return found.result()


def _loader() -> Any:  # noqa: ANN401 - a class of a library that is loaded when it is needed
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: ANN401
            mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
            return {**mapping, _LINE: node.start_mark.line + 1}

    def mapping(loader: Any, node: Any) -> Any:  # noqa: ANN401
        return loader.construct_mapping(node, deep=True)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return Loader


def _elements(found: _Found, kind: str, items: object, depth: int) -> list[tuple[str, float, int]]:
    """Keep the elements of a list and those within them; (name, share, line) of the list's own."""
    listed = items if isinstance(items, list) else []
    named = []
    for item in listed:
        line = item.get(_LINE, 0) if isinstance(item, dict) else 0
        name = _name(item) if isinstance(item, dict) else one_line(str(item))
        if not name or depth > _DEEPEST:
            found.wrong.append((line, f"a {kind} without a name; expected name: …"))
            continue
        named.append((name, _share(item), line))
        if isinstance(item, dict):
            _element(found, kind, name, item, depth)
    return named


def _element(found: _Found, kind: str, name: str, item: Mapping[str, Any], depth: int) -> None:
    """Keep an element, its older versions, and what stands within it."""
    line = item.get(_LINE, 0)
    links = [one for key, given in item.items() for one in _links(key, given, line)]
    for plural, inner in _PLURALS.items():
        if plural in item and plural != "topics":
            relation = (
                BETWEEN.get(kind, "references") if inner != "conversation" else "discussed_in"
            )
            inside = _elements(found, inner, item[plural], depth + 1)
            links += [Link(relation, n, share, at) for n, share, at in inside]
    versions = [one for one in item.get("versions") or [] if isinstance(one, dict)]
    older = [_node(kind, name, one, ()) for one in versions]
    links += [Link("derived_from", one.title, 0.95, line) for one in older]
    found.add(_node(kind, name, item, tuple(links)))
    for one in older:
        found.add(one)


def _node(kind: str, name: str, item: Mapping[str, Any], links: tuple[Link, ...]) -> Node:
    texts = [_words(item[key]) for key in _TEXTS if item.get(key)]
    left_out = {*_NAMES[:2], *_TEXTS, *_PLURALS, *SHARES, *_RELATION_NAMES, "versions", _LINE}
    fields = {str(k): json_safe(v) for k, v in item.items() if k not in left_out}
    fields = {k: v for k, v in fields.items() if isinstance(v, (str, int, float))}
    line = item.get(_LINE, 0)
    return Node(kind=kind, name=name, line=line, text="\n".join(texts), fields=fields, links=links)


def _words(value: object) -> str:
    """The text of a field: of a list of messages each on a line, with who said it."""
    if not isinstance(value, list):
        return str(value).strip()
    return "\n".join(map(_said, value))


def _said(message: object) -> str:
    if not isinstance(message, dict):
        return one_line(str(message))
    author = message.get("role") or message.get("author")
    words = one_line(str(message.get("text") or message.get("content") or ""))
    return f"{author}: {words}" if author else words


def _name(item: Mapping[str, Any]) -> str:
    return next((one_line(str(item[n])) for n in _NAMES if item.get(n)), "")


def _share(item: object) -> float:
    """Confidence, strength, completeness or relevance; -1 for what is no number."""
    given = [item[n] for n in SHARES if n in item] if isinstance(item, dict) else []
    if not given:
        return 0.95
    return float(given[0]) if isinstance(given[0], (int, float)) else -1.0


def _links(key: object, given: object, line: int) -> Iterator[Link]:
    """The relations of a field that has the name of one."""
    relation = _RELATION_NAMES.get(str(key))
    if relation is None:
        return
    for one in given if isinstance(given, list) else [given]:
        name = _name(one) if isinstance(one, dict) else one_line(str(one))
        if name:
            at = one.get(_LINE, line) if isinstance(one, dict) else line
            yield Link(relation, name, _share(one), at)


def _relations(found: _Found, items: object) -> None:
    """`relations`: each with `from`, `relation` or `kind`, and `to`."""
    by_name = {node.name.casefold(): at for at, node in enumerate(found.nodes)}
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        line = item.get(_LINE, 0)
        kind = item.get("kind") or item.get("relation") or ""
        at = by_name.get(one_line(str(item.get("from", ""))).casefold())
        if at is None or not item.get("to"):
            found.wrong.append(
                (
                    line,
                    f"the relation from {item.get('from')!r} to {item.get('to')!r}"
                    " leads from or to nothing; expected names of elements",
                )
            )
            continue
        links = tuple(_links(kind, {"to": item["to"], **item}, line))
        links = links or (Link(str(kind), str(item["to"]), 0.5, line),)
        node = found.nodes[at]
        found.nodes[at] = replace(node, links=(*node.links, *links))


# --- outlines in Markdown, and tables ----------------------------------------------------------


def read_markdown(raw: RawFile) -> ReadResult | None:
    """Headings such as `## Principle: Say what is known`; None for Markdown without any.

    A heading below another one is defined or guided by it. `Name: value` lines are fields, items
    `- conflicts: Speed (0.7)` relations, all other lines the element's text.
    """
    text = decode(raw)
    if not any(_HEADING.fullmatch(line) for line in text.split("\n")):
        return None
    found = _Found(raw)
    above: list[tuple[int, int]] = []
    current: dict[str, Any] = {}
    for number, line in enumerate(text.split("\n"), 1):
        heading = _HEADING.fullmatch(line.rstrip())
        if heading:
            _close(found, current)
            level, kind = len(heading["marks"]), heading["kind"].lower()
            current = {
                "kind": kind,
                "name": one_line(heading["name"]),
                "line": number,
                "text": [],
                "fields": {},
                "links": [],
                "level": level,
            }
            _attach(found, above, current)
        elif current:
            _line_of(current, line, number)
    _close(found, current)
    return found.result()


def _attach(found: _Found, above: list[tuple[int, int]], current: dict[str, Any]) -> None:
    """Tie an element to the nearest one above it that is of the layer before."""
    while above and above[-1][0] >= current["level"]:
        above.pop()
    if above:
        parent = found.nodes[above[-1][1]]
        relation = BETWEEN.get(parent.kind)
        if relation:
            link = Link(relation, current["name"], 0.95, current["line"])
            found.nodes[above[-1][1]] = replace(parent, links=(*parent.links, link))
    above.append((current["level"], len(found.nodes)))


def _line_of(current: dict[str, Any], line: str, number: int) -> None:
    match = _FIELD.fullmatch(line.strip())
    name = match["name"].strip().lower().replace(" ", "_") if match else ""
    if match and name in _RELATION_NAMES:
        for part in match["value"].split(";"):
            target = _TARGET.fullmatch(part.strip())
            if target:
                share = float(target["share"]) if target["share"] else 0.95
                link = Link(_RELATION_NAMES[name], one_line(target["name"]), share, number)
                current["links"].append(link)
    elif match and not match["item"] and name not in _TEXTS:
        current["fields"][name] = _number(match["value"].strip())
    elif line.strip():
        current["text"].append(match["value"] if match and name in _TEXTS else line.strip())


def _close(found: _Found, current: Mapping[str, Any]) -> None:
    if not current:
        return
    node = Node(
        kind=current["kind"],
        name=current["name"],
        line=current["line"],
        text="\n".join(current["text"]),
        fields=current["fields"],
        links=tuple(current["links"]),
    )
    found.add(node)


def _number(text: str) -> Any:  # noqa: ANN401 - a number or a text
    try:
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    except ValueError:
        return text


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
    found = _Found(raw)
    parents: list[tuple[str, Link]] = []
    try:
        for row in rows:
            _row(
                found,
                parents,
                layer,
                {str(k).strip().lower(): v for k, v in row.items()},
                rows.line_num,
            )
    except csv.Error as error:
        found.wrong.append((rows.line_num, f"malformed: {error}"))
    by_name = {node.name.casefold(): at for at, node in enumerate(found.nodes)}
    for parent, link in parents:
        at = by_name.get(parent.casefold())
        if at is None:
            found.wrong.append((link.line, f"there is no parent {parent!r}"))
        else:
            node = found.nodes[at]
            named = replace(link, relation=BETWEEN.get(node.kind, "references"))
            found.nodes[at] = replace(node, links=(*node.links, named))
    return found.result() if found.nodes else None


def _row(
    found: _Found, parents: list[tuple[str, Link]], layer: str, row: Mapping[str, Any], line: int
) -> None:
    kind = str(row.get(layer) or "").strip().lower()
    name = one_line(str(row.get("name") or ""))
    if kind not in KINDS or not name:
        known = ", ".join(KINDS)
        found.wrong.append(
            (line, f"{kind or 'nothing'} is no layer, or has no name; expected {known}")
        )
        return
    values = {k: _number(str(v).strip()) for k, v in row.items() if v not in (None, "") and k}
    links = [
        link
        for key in values
        for target in str(values[key]).split(";")
        for link in _links(key, {"to": target.strip()}, line)
    ]
    shares = {name: values[name] for name in SHARES if name in values}
    if parent := one_line(str(row.get("parent") or "")):
        parents.append((parent, Link("", name, _share(shares), line)))
    kept = {k: v for k, v in values.items() if k not in {layer, "parent", "id"}}
    found.add(_node(kind, name, {**kept, _LINE: line}, tuple(links)))
