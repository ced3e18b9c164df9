"""Constitutions as outlines in Markdown, and as tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.trees.lined_yaml import LINE
from clew.indexing.reading.formats.trees.outline import Heading, outline
from clew.indexing.reading.formats.trees.values import number_or_text
from clew.packs.constitution.elements import (
    RELATION_NAMES,
    TEXTS,
    Found,
    links_in,
    make_node,
    share_in,
)
from clew.packs.constitution.node import BETWEEN, KINDS, SHARES, Link, Node
from clew.text import one_line

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
    headings = outline(decode(raw), _HEADING)
    found = Found(raw)
    for heading in headings:
        node = _element(heading)
        found.add(node)
        if heading.above is not None:
            _attach(found, heading.above, node)
    return found.result() if headings else None


def _attach(found: Found, above: int, node: Node) -> None:
    """Tie an element to the one that it stands under, where that defines or guides others."""
    parent = found.nodes[above]
    if relation := BETWEEN.get(parent.kind):
        link = Link(relation, node.name, 0.95, node.line)
        found.nodes[above] = replace(parent, links=(*parent.links, link))


def _element(heading: Heading) -> Node:
    text: list[str] = []
    fields: dict[str, Any] = {}
    links: list[Link] = []
    for number, line in heading.lines:
        match = _FIELD.fullmatch(line.strip())
        name = match["name"].strip().lower().replace(" ", "_") if match else ""
        if match and name in RELATION_NAMES:
            links += _links(RELATION_NAMES[name], match["value"], number)
        elif match and not match["item"] and name not in TEXTS:
            fields[name] = number_or_text(match["value"].strip())
        elif line.strip():
            text.append(match["value"] if match and name in TEXTS else line.strip())
    return Node(
        kind=heading.found["kind"].lower(),
        name=one_line(heading.found["name"]),
        line=heading.line,
        text="\n".join(text),
        fields=fields,
        links=tuple(links),
    )


def _links(relation: str, targets: str, line: int) -> Iterator[Link]:
    for part in targets.split(";"):
        if target := _TARGET.fullmatch(part.strip()):
            share = float(target["share"]) if target["share"] else 0.95
            yield Link(relation, one_line(target["name"]), share, line)


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
    parents: list[tuple[str, Link]] = []
    try:
        for row in rows:
            cells = {str(k).strip().lower(): v for k, v in row.items()}
            _row(found, parents, layer, cells, rows.line_num)
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
    found: Found, parents: list[tuple[str, Link]], layer: str, row: Mapping[str, Any], line: int
) -> None:
    kind = str(row.get(layer) or "").strip().lower()
    name = one_line(str(row.get("name") or ""))
    if kind not in KINDS or not name:
        reason = f"{kind or 'nothing'} is no layer, or has no name; expected {', '.join(KINDS)}"
        found.wrong.append((line, reason))
        return
    values = {
        k: number_or_text(str(v).strip()) for k, v in row.items() if v not in (None, "") and k
    }
    links = [
        link
        for key in values
        for target in str(values[key]).split(";")
        for link in links_in(key, {"to": target.strip()}, line)
    ]
    shares = {name: values[name] for name in SHARES if name in values}
    if parent := one_line(str(row.get("parent") or "")):
        parents.append((parent, Link("", name, share_in(shares), line)))
    kept = {k: v for k, v in values.items() if k not in {layer, "parent", "id"}}
    found.add(make_node(kind, name, {**kept, LINE: line}, tuple(links)))
