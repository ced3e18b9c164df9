"""Identifiers: in source code, and between back-ticks in prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.indexing.ner.spans import NameSpan

_DEFINED = re.compile(
    r"\b(?:def|class|function|func|fn|struct|interface|enum|trait|type|impl|module|namespace"
    r"|protocol|record|object|const|macro_rules!|CREATE TABLE)\s+(?P<name>[A-Za-z_]\w+)"
)
_USED = re.compile(
    r"(?<![\w.])(?P<dotted>[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w+)+)"
    r"|(?<![\w.])(?P<camel>[A-Z][a-z0-9]++[A-Z]\w*|[a-z][a-z0-9]*+[A-Z]\w+)"
    r"|(?<![\w.])(?P<snake>_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)"
)
_TICKED = re.compile(r"(?<!`)``?(?P<name>[A-Za-z_@][\w.:/-]*)(?:\(\))?``?(?!`)")
_SELF = re.compile(r"^(?:self|this|cls)(?:\.|::)")


def find_identifiers(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Definitions, dotted names with their last part, CamelCase and snake_case names."""
    for match in _DEFINED.finditer(text, start, end):
        yield _span(match.start("name"), match["name"])
    for match in _USED.finditer(text, start, end):
        whole = match.group()
        own = _SELF.match(whole)
        offset = own.end() if own else 0
        yield _span(match.start() + offset, whole[offset:])
        last = re.split(r"\.|::", whole)[-1]
        if match["dotted"] and len(last) > 2 and len(last) < len(whole) - offset:
            yield _span(match.end() - len(last), last)._replace(nested=True)


def find_ticked(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Names between back-ticks."""
    for match in _TICKED.finditer(text, start, end):
        yield _span(match.start("name"), match["name"].rstrip(".:/-"))


def _span(start: int, name: str) -> NameSpan:
    return NameSpan(start, start + len(name), name, "code")
