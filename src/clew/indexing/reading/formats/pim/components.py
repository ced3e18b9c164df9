"""The components of an iCalendar or vCard file, each parsed alone, so that a bad one is one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from clew.indexing.reading.formats.common import check_limit
from clew.text import one_line
from clew.types import Document, Skipped

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import RawFile

_NEEDED = ("DTSTART", "RECURRENCE-ID")
"""Without these an event would be another."""
_BEGIN = re.compile(r"BEGIN:(\w{1,40})\s*", re.IGNORECASE)


class Component(Protocol):
    """What is used of icalendar's components, whose properties have many types."""

    name: str | None

    def __getitem__(self, name: str) -> Any: ...  # noqa: ANN401
    def __contains__(self, name: object) -> bool: ...
    def get(self, name: str, default: object = None) -> Any: ...  # noqa: ANN401, D102
    def items(self) -> Iterable[tuple[str, Any]]: ...  # noqa: D102


class Block(NamedTuple):
    """The lines of a component."""

    name: str
    line: int
    """Of its BEGIN, from 1."""
    text: str
    closed: bool
    """Whether it has an END."""


def blocks(text: str, wanted: Sequence[str]) -> Iterator[Block]:
    """The outermost components of the names wanted, in order."""
    name, first, held = "", 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        begun = _BEGIN.fullmatch(line)
        if begun and begun[1].upper() in wanted:
            if name:  # the one before was never closed
                yield Block(name, first, "", closed=False)
            name, first, held = begun[1].upper(), number, []
        if name:
            held.append(line)
            if line.strip().upper() == f"END:{name}":
                yield Block(name, first, "\r\n".join(held) + "\r\n", closed=True)
                name = ""
    if name:
        yield Block(name, first, "", closed=False)


def read_blocks(
    raw: RawFile, found: Sequence[Block], make: Callable[[Component], Document]
) -> tuple[list[Document], list[Skipped]]:
    """A document a component; what cannot be read is named by its line, and nothing else lost."""
    documents, skipped = list[Document](), list[Skipped]()
    for block in found:
        try:
            component, faults = parsed(block)
            documents.append(make(component))
            skipped += [Skipped(source=raw.source, reason=fault) for fault in faults]
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            said = str(error)[:200] or type(error).__name__
            reason = f"line {block.line}: {block.name} {_called(block)}is left out: {said}"
            skipped.append(Skipped(source=raw.source, reason=reason))
    check_limit(raw.limits, "elements", len(documents), raw.source)
    return documents, skipped


def _called(block: Block) -> str:
    """What a component calls itself, in quotation marks."""
    lines = (line.partition(":") for line in block.text.split("\r\n"))
    names = (one_line(said) for name, _, said in lines if name[:7].upper() in ("SUMMARY", "FN"))
    return next((f"{name[:60]!r} " for name in names if name), "")


def parsed(block: Block) -> tuple[Component, list[str]]:
    """The component, and what is wrong with the properties that were left out, by line.

    Raises `ValueError` where the whole cannot be read.
    """
    if not block.closed:
        raise ValueError("has no END; the next one begins within it")
    if "\ufffd" in block.text:
        raise ValueError("has bytes that are no text; save the file as UTF-8")
    try:
        return _component(block.text), []
    except ValueError:
        return _without_faults(block)


def _component(text: str) -> Component:
    from icalendar import Component as AnyComponent

    component = AnyComponent.from_ical(text)
    for name, error in component.errors:
        raise ValueError(f"{name} cannot be read ({error})")
    return cast("Component", component)


def _without_faults(block: Block) -> tuple[Component, list[str]]:
    """The component of those properties that can be read alone."""
    begin, *properties, end = re.split(r"\r\n(?![ \t])", block.text.removesuffix("\r\n"))
    kept, faults, line = [begin], list[str](), block.line + 1
    for stated in properties:
        name = re.split("[;:]", stated, maxsplit=1)[0].upper()
        try:
            if name not in ("BEGIN", "END"):
                _component("\r\n".join([begin, stated, end, ""]))
            kept.append(stated)
        except ValueError as error:
            what, why = repr(one_line(stated)[:60]), str(error)[:100]
            if name in _NEEDED:
                raise ValueError(f"line {line}, {what} ({why})") from error
            faults.append(f"line {line}: {what} is left out ({why})")
        line += stated.count("\n") + 1
    return _component("\r\n".join([*kept, end, ""])), faults
