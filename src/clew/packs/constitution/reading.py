"""Constitutions as YAML and JSON: elements within elements."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clew.indexing.reading.formats.common import RawFile, ReadResult
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.trees.lined_yaml import LINE, read_lined_yaml
from clew.packs.constitution.elements import (
    NAMES,
    PLURALS,
    Found,
    links_in,
    make_node,
    name_in,
    share_in,
)
from clew.packs.constitution.node import BETWEEN, Link
from clew.text import one_line

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
    _relations(found, value.get("relations"))
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
        named.append((name, share_in(item), line))
        if isinstance(item, dict):
            _element(found, kind, name, item, depth)
    return named


def _element(found: Found, kind: str, name: str, item: Mapping[str, Any], depth: int) -> None:
    """Keep an element, its older versions, and what stands within it."""
    line = item.get(LINE, 0)
    links = [one for key, given in item.items() for one in links_in(key, given, line)]
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


def _relations(found: Found, items: object) -> None:
    """`relations`: each with `from`, `relation` or `kind`, and `to`."""
    by_name = {node.name.casefold(): at for at, node in enumerate(found.nodes)}
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        line = item.get(LINE, 0)
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
        links = tuple(links_in(kind, {"to": item["to"], **item}, line))
        links = links or (Link(str(kind), str(item["to"]), 0.5, line),)
        node = found.nodes[at]
        found.nodes[at] = replace(node, links=(*node.links, *links))
