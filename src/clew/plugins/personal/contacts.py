"""Contacts of vCard files, 2.1 to 4: a document each."""

from __future__ import annotations

import json
import quopri
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from clew.indexing.reading.common import (
    LONGEST_VALUE,
    Person,
    RawFile,
    ReadResult,
    check_limit,
    decode,
    flat,
    person,
    record,
)
from clew.indexing.structure import snake_case
from clew.text import entity_key, one_line, text_digest
from clew.types import Document, Skipped

if TYPE_CHECKING:
    from icalendar import vCalAddress


MEDIA_TYPE = "text/vcard"
_GROUP = re.compile(r"^\w{1,40}\.")
_BIRTHDAY = re.compile(r"(?:(\d{4})|--)-?(\d{2})-?(\d{2})")
_QUOTED = "QUOTED-PRINTABLE"
_OLD = re.compile(r"(?im)^VERSION:2\.1\s*$")
_BROKEN = re.compile(rf"(?im)^(?=[^:\r\n]*{_QUOTED})[^:\r\n]*+:(?:[^\r\n]*=\r\n)+")
_MOST = 20
"""Addresses, numbers and nicknames of one contact."""


def read_contacts(raw: RawFile) -> ReadResult:
    """The contacts of a `.vcf` file."""
    found = []
    for card in blocks(decode(raw), ("VCARD",)):
        if _OLD.search(card.text):
            # As later versions write it, with the lines that quoted-printable breaks made whole.
            whole = _BROKEN.sub(lambda value: value[0].replace("=\r\n", ""), card.text)
            card = card._replace(text="\r\n".join(map(_modern_line, whole.split("\r\n"))))
        found.append(card)
    if not found:
        raise raw.unreadable("line 1: no vCard (BEGIN:VCARD is missing)")
    # What the cards say of each other: whom a UID names, and how many have a given name.
    stated = [
        {
            key.partition(";")[0]: value
            for key, _, value in (line.partition(":") for line in one.text.split("\r\n"))
        }
        for one in found
    ]
    names = {_bare(one.get("UID", "")): one.get("FN", "") for one in stated}
    given = Counter(_given(name) for name in {one.get("FN", "") for one in stated})
    return read_blocks(raw, found, lambda component: _contact(raw, component, names, given))


# --- version 2.1 -------------------------------------------------------------------------


def _modern_line(line: str) -> str:
    """Parameters that are words alone are types; values are decoded."""
    head, colon, value = line.partition(":")
    name, *parameters = head.split(";")
    if not colon:
        return line
    if name.upper() == "N":  # of which parts at the end may be missing
        value += ";" * (4 - value.count(";"))
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


def _contact(
    raw: RawFile, card: Component, names: Mapping[str, str], given_names: Mapping[str, int]
) -> Document:
    emails = [one.lower().removeprefix("mailto:") for one in _values(card, "EMAIL")]
    organisation, *units = map(str.strip, next(_values(card, "ORG"), "").split(";"))
    # A name from its parts: `Lopez;Maria;;Dr.;` is Dr. Maria Lopez.
    family, given, more, before, after = [*next(_values(card, "N"), "").split(";"), *[""] * 5][:5]
    parts = filter(None, map(str.strip, (before, given, more, family, after)))
    name = next(_values(card, "FN"), "") or " ".join(parts) or organisation
    if not name:
        raise ValueError("names nobody (FN and N are missing)")
    roles = iter(dict.fromkeys(one for p in ("TITLE", "ROLE") for one in _values(card, p) if one))
    # ISO 8601; "--02-29" where the year is not said.
    found = _BIRTHDAY.match(next(_values(card, "BDAY"), ""))
    kind = "person" if organisation != name else "organisation"
    first, *rest = name.split()
    plain = f"{given} {family}" if given and family else ""  # no "Dr." before it
    is_known = rest and given_names[_given(name)] < 2 and first[0].isupper() and "." not in first
    nicknames = map(str.strip, ",".join(_values(card, "NICKNAME")).split(","))
    note = next(_values(card, "NOTE"), "")
    fields = {
        "nicknames": list(filter(None, nicknames))[:_MOST] or None,
        "organisation": organisation if organisation != name else "",
        "department": ", ".join(filter(None, units)),
        "role": next(roles, ""),
        "occupation": next(roles, ""),
        "emails": emails[:_MOST] or None,
        "phones": [one.removeprefix("tel:") for one in _values(card, "TEL")][:_MOST] or None,
        "birthday": (f"{found[1] or '-'}-{found[2]}-{found[3]}" if found else ""),
        "address": ", ".join(p for p in next(_values(card, "ADR"), "").split(";") if p.strip()),
        "related": [part for pair in islice(_related(card, names), _MOST) for part in pair] or None,
        "note": note,
        "spelled": [plain] if kind == "person" and plain not in ("", name) else None,
        "known_as": first if is_known and kind == "person" else "",
    }
    told = {k: ", ".join(v) if isinstance(v, list) else v for k, v in fields.items() if v}
    said = [name, *(f"{label}: {told[k]}" for k, label in _LABELS.items() if k in told)]
    said += [f"{tie}: {other}" for tie, other in pairs(fields["related"])]
    uid = next(_values(card, "UID"), "") or text_digest("\n".join([name, *emails]))[:12]
    return record(
        raw,
        uid,
        "\n".join([*said, *(["", note] if note else [])]),
        title=name,
        media_type=MEDIA_TYPE,
        entity_type=kind,
        fields=fields,
    )


def _values(card: Component, name: str) -> Iterator[str]:
    """The values of a property, those of groups such as `item1.EMAIL` among them."""
    for key, given in card.items():
        if _GROUP.sub("", key.upper()) == name:
            yield from map(_text, given if isinstance(given, list) else [given])


def _related(card: Component, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What somebody is to the contact, and who: by name, or by the UID of another card."""
    for key, given in card.items():
        group, _, name = key.upper().rpartition(".")
        if not (stated := _RELATED.fullmatch(name)):
            continue
        label = str(card.get(f"{group}.X-ABLABEL", "")).strip("_$!<>")
        for value in given if isinstance(given, list) else [given]:
            how = label or stated[1] or str(value.params.get("TYPE", "contact"))
            who = names.get(_bare(_text(value)), _text(value))
            if ":" not in who:
                yield snake_case(how), who


def _text(value: Component) -> str:
    """A value as it is meant."""
    text = value.to_ical().decode() if hasattr(value, "to_ical") else str(value)
    return _ESCAPED.sub(lambda m: "\n" if m[1] in "nN" else m[1], text).strip()


def _given(name: str) -> str:
    return entity_key(name.partition(" ")[0])


def _bare(uid: str) -> str:
    """A UID as cards of every program write it."""
    return uid.strip().lower().removeprefix("urn:uuid:")


def pairs(values: object) -> Iterator[tuple[str, str]]:
    """The pairs of a list that holds them one after the other."""
    return zip(*[iter(map(str, values if isinstance(values, list) else ()))] * 2, strict=False)


_ESCAPED = re.compile(r"\\([,;\\nN])")
_RELATED = re.compile(r"(?:RELATED|X-ABRELATEDNAMES|X-(?:\w+-)?(SPOUSE|MANAGER|ASSISTANT|CHILD))")
_LABELS = {
    "nicknames": "nickname",
    **{name: name for name in ("organisation", "department", "role", "occupation")},
    "emails": "e-mail",
    "phones": "telephone",
    **{name: name for name in ("birthday", "address")},
}
"""Fields as the text of a card calls them, in order."""


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


def person_of(address: vCalAddress) -> Person:
    """An attendee or organiser."""
    return person(str(address.params.get("CN", "")), str(address) if "@" in address else "")


def name_of(one: Person) -> str:
    """The name by which texts know somebody."""
    return one.name or one.address


def fitting(people: Sequence[Person]) -> list[str]:
    """Names and addresses as one list, of as many of the people as metadata have room for."""
    sizes = accumulate(len(json.dumps(flat([one]))) for one in people)
    return flat(one for one, size in zip(people, sizes, strict=True) if size <= LONGEST_VALUE - 2)
