"""Contacts of vCard files, 2.1 to 4: a document each."""

from __future__ import annotations

import json
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from clew.indexing.reading.common import (
    LONGEST_VALUE,
    TYPE,
    Person,
    RawFile,
    ReadResult,
    check_limit,
    decode,
    flat,
    record,
)
from clew.text import entity_key, one_line, text_digest
from clew.types import Document, Skipped

if TYPE_CHECKING:
    from icalendar import vCalAddress


MEDIA_TYPE = "text/vcard"
_GROUP = re.compile(r"^\w{1,40}\.")
_BIRTHDAY = re.compile(r"(?:(\d{4})|--)-?(\d{2})-?(\d{2})")
_QUOTED = "QUOTED-PRINTABLE"
_MOST = 20
"""Addresses, numbers and nicknames of one contact."""


def read_contacts(raw: RawFile) -> ReadResult:
    """The contacts of a `.vcf` file."""
    found = []
    for card in blocks(decode(raw), ("VCARD",)):
        lines = card.text.split("\r\n")
        if any(line.strip().upper() == "VERSION:2.1" for line in lines):
            # As later versions write it.
            card = card._replace(text="\r\n".join(map(_modern_line, _joined(lines))))
        found.append(card)
    if not found:
        raise raw.unreadable("line 1: no vCard (BEGIN:VCARD is missing)")
    read = read_blocks(raw, found, lambda component: _contact(raw, component))
    # With the given name as `known_as`, where no other contact of the file has it.
    given = Counter(entity_key(one.title.split()[0]) for one in read.documents)
    named: list[Document] = []
    for one in read.documents:
        first, *rest = one.title.split()
        alone = rest and given[entity_key(first)] == 1 and first[:1].isupper() and "." not in first
        if alone and one.metadata[TYPE] == "person":
            digest = text_digest(f"{one.sha256} {first}")
            one = replace(one, metadata={**one.metadata, "known_as": first}, sha256=digest)
        named.append(one)
    return replace(read, documents=tuple(named))


# --- version 2.1 -------------------------------------------------------------------------


def _joined(lines: list[str]) -> Iterator[str]:
    """The lines, with those that quoted-printable breaks made whole."""
    held: list[str] = []
    quoted = False
    for line in lines:
        quoted = quoted if held else _QUOTED in line.partition(":")[0].upper()
        goes_on = quoted and line.endswith("=")
        held.append(line[:-1] if goes_on else line)
        if not goes_on:
            yield "".join(held)
            held = []
    yield from held


def _modern_line(line: str) -> str:
    """Parameters that are words alone are types; values are decoded."""
    head, colon, value = line.partition(":")
    name, *parameters = head.split(";")
    if not parameters or not colon:
        return line
    told = {key.upper(): word for key, _, word in (p.partition("=") for p in parameters)}
    if _QUOTED in head.upper():
        found = quopri.decodestring(value.encode())
        try:
            text = found.decode(told.get("CHARSET", "utf-8"), "replace")
        except LookupError:
            text = found.decode("utf-8", "replace")
        value = "\\n".join(text.splitlines())
    types = [told.get("TYPE", ""), *(key for key, word in told.items() if not word)]
    kept = [f"TYPE={one}" for one in types if one and one != _QUOTED]
    return f"{';'.join([name, *kept])}:{value}"


# --- all versions ------------------------------------------------------------------------


def _contact(raw: RawFile, card: Component) -> Document:
    emails = [one.lower().removeprefix("mailto:") for one in _values(card, "EMAIL")]
    organisation = next(_values(card, "ORG"), "").split(";")[0].strip()
    # A name from its parts: `Lopez;Maria;;Dr.;` is Dr. Maria Lopez.
    family, given, more, before, after = [*next(_values(card, "N"), "").split(";"), *[""] * 5][:5]
    parts = filter(None, map(str.strip, (before, given, more, family, after)))
    name = next(_values(card, "FN"), "") or " ".join(parts) or organisation
    if not name:
        raise ValueError("names nobody (FN and N are missing)")
    # ISO 8601; "--02-29" where the year is not said.
    found = _BIRTHDAY.match(next(_values(card, "BDAY"), ""))
    fields = {
        "emails": emails[:_MOST] or None,
        "phones": [one.removeprefix("tel:") for one in _values(card, "TEL")][:_MOST] or None,
        "organisation": organisation if organisation != name else "",
        "role": next(_values(card, "TITLE"), "") or next(_values(card, "ROLE"), ""),
        "birthday": (f"{found[1] or '-'}-{found[2]}-{found[3]}" if found else ""),
        "nicknames": [n for one in _values(card, "NICKNAME") for n in one.split(",")][:_MOST]
        or None,
        "address": ", ".join(p for p in next(_values(card, "ADR"), "").split(";") if p.strip()),
    }
    labels = {
        "nickname": fields["nicknames"],
        "organisation": fields["organisation"],
        "role": fields["role"],
        "e-mail": fields["emails"],
        "telephone": fields["phones"],
        "birthday": fields["birthday"],
        "address": fields["address"],
    }
    told = {k: ", ".join(v) if isinstance(v, list) else v for k, v in labels.items() if v}
    said = [name, *(f"{label}: {value}" for label, value in told.items())]
    note = next(_values(card, "NOTE"), "")
    uid = next(_values(card, "UID"), "") or text_digest("\n".join([name, *emails]))[:12]
    return record(
        raw,
        uid,
        "\n".join([*said, *(["", note] if note else [])]),
        title=name,
        media_type=MEDIA_TYPE,
        entity_type="person" if fields["organisation"] or name != organisation else "organisation",
        fields=fields,
    )


def _values(card: Component, name: str) -> Iterator[str]:
    """The values of a property, those of groups such as `item1.EMAIL` among them."""
    for key, given in card.items():
        if _GROUP.sub("", key.upper()) == name:
            for value in given if isinstance(given, list) else [given]:
                text = value.to_ical().decode() if hasattr(value, "to_ical") else str(value)
                yield _ESCAPED.sub(lambda m: "\n" if m[1] in "nN" else m[1], text).strip()


_ESCAPED = re.compile(r"\\([,;\\nN])")


# The components of an iCalendar or vCard file, each parsed alone, so that a bad one is one.


_NEEDED = ("DTSTART", "RECURRENCE-ID")
"""Without these an event would be another."""
_BEGIN = re.compile(r"BEGIN:(\w{1,40})\s*", re.IGNORECASE)


Component: TypeAlias = Any
"""One of icalendar's, whose properties have many types."""


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
) -> ReadResult:
    """A document a component; what cannot be read is named by its line, and nothing else lost.

    Of two versions of one component, the later one counts.
    """
    documents, skipped = list[Document](), list[Skipped]()
    for block in found:
        try:
            component, faults = parsed(block)
            documents.append(make(component))
            skipped += [Skipped(source=raw.source, reason=fault) for fault in faults]
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            said = str(error)[:200] or type(error).__name__
            lines = (line.partition(":") for line in block.text.split("\r\n"))
            names = (one_line(v) for n, _, v in lines if n[:7].upper() in ("SUMMARY", "FN"))
            called = next((f"{name[:60]!r} " for name in names if name), "")
            reason = f"line {block.line}: {block.name} {called}is left out: {said}"
            skipped.append(Skipped(source=raw.source, reason=reason))
    check_limit(raw.limits, "elements", len(documents), raw.source)
    by_source = {document.source: document for document in documents}
    return ReadResult(documents=tuple(by_source.values()), skipped=tuple(skipped))


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
        # The component of those properties that can be read alone.
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


def _component(text: str) -> Component:
    from icalendar import Component as AnyComponent

    component = AnyComponent.from_ical(text)
    for name, error in component.errors:
        raise ValueError(f"{name} cannot be read ({error})")
    return cast("Component", component)


# People as calendars and task lists name them.


def person(address: vCalAddress) -> Person:
    """An attendee or organiser."""
    text = str(address)
    email = text[7:] if text.lower().startswith("mailto:") else text
    name = str(address.params.get("CN", "")).strip(' "')
    return Person("" if "@" in name else name, email.lower() if "@" in email else "")


def name_of(one: Person) -> str:
    """The name by which texts know somebody."""
    return one.name or one.address


def fitting(people: Iterable[Person]) -> list[str]:
    """Names and addresses as one list, of as many of the people as metadata have room for."""
    kept: list[str] = []
    room = LONGEST_VALUE - 2
    for one in people:
        parts = flat([one])
        room -= len(json.dumps(parts))
        if room < 0:
            break
        kept += parts
    return kept
