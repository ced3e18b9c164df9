"""Contacts of vCard files, 2.1 to 4: a document each."""

from __future__ import annotations

import quopri
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from clew.indexing.reading.formats.common import ReadResult, text_digest
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.entity_document import TYPE, record
from clew.indexing.reading.formats.pim.components import blocks, read_blocks
from clew.text import entity_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.indexing.reading.formats.common import RawFile
    from clew.indexing.reading.formats.pim.components import Block, Component
    from clew.types import Document

MEDIA_TYPE = "text/vcard"
_GROUP = re.compile(r"^\w{1,40}\.")
_BIRTHDAY = re.compile(r"(?:(\d{4})|--)-?(\d{2})-?(\d{2})")
_QUOTED = "QUOTED-PRINTABLE"
_MOST = 20
"""Addresses, numbers and nicknames of one contact."""


def read_contacts(raw: RawFile) -> ReadResult:
    """The contacts of a `.vcf` file."""
    found = [_modern(block) for block in blocks(decode(raw), ("VCARD",))]
    if not found:
        raise raw.unreadable("line 1: no vCard (BEGIN:VCARD is missing)")
    documents, skipped = read_blocks(raw, found, lambda component: _contact(raw, component))
    by_source = {document.source: document for document in documents}
    known = _with_given_names(list(by_source.values()))
    return ReadResult(documents=tuple(known), skipped=tuple(skipped))


# --- version 2.1 -------------------------------------------------------------------------


def _modern(card: Block) -> Block:
    """A card of version 2.1 as later versions write it."""
    lines = card.text.split("\r\n")
    if not any(line.strip().upper() == "VERSION:2.1" for line in lines):
        return card
    return card._replace(text="\r\n".join(map(_modern_line, _joined(lines))))


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
        value = _unquoted(value, told.get("CHARSET", "utf-8"))
    types = [told.get("TYPE", ""), *(key for key, word in told.items() if not word)]
    kept = [f"TYPE={one}" for one in types if one and one != _QUOTED]
    return f"{';'.join([name, *kept])}:{value}"


def _unquoted(value: str, charset: str) -> str:
    found = quopri.decodestring(value.encode())
    try:
        text = found.decode(charset, "replace")
    except LookupError:
        text = found.decode("utf-8", "replace")
    return "\\n".join(text.splitlines())


# --- all versions ------------------------------------------------------------------------


def _with_given_names(cards: list[Document]) -> Iterator[Document]:
    """Contacts with the given name as `known_as`, where no other contact of the file has it."""
    given = Counter(entity_key(card.title.split()[0]) for card in cards)
    for card in cards:
        first, *rest = card.title.split()
        alone = rest and given[entity_key(first)] == 1 and first[:1].isupper() and "." not in first
        if alone and card.metadata[TYPE] == "person":
            digest = text_digest(f"{card.sha256} {first}")
            yield replace(card, metadata={**card.metadata, "known_as": first}, sha256=digest)
        else:
            yield card


def _contact(raw: RawFile, card: Component) -> Document:
    emails = [one.lower().removeprefix("mailto:") for one in _values(card, "EMAIL")]
    organisation = next(_values(card, "ORG"), "").split(";")[0].strip()
    name = next(_values(card, "FN"), "") or _assembled(next(_values(card, "N"), "")) or organisation
    if not name:
        raise ValueError("names nobody (FN and N are missing)")
    fields = {
        "emails": emails[:_MOST] or None,
        "phones": [one.removeprefix("tel:") for one in _values(card, "TEL")][:_MOST] or None,
        "organisation": organisation if organisation != name else "",
        "role": next(_values(card, "TITLE"), "") or next(_values(card, "ROLE"), ""),
        "birthday": _birthday(next(_values(card, "BDAY"), "")),
        "nicknames": [n for one in _values(card, "NICKNAME") for n in one.split(",")][:_MOST]
        or None,
        "address": ", ".join(p for p in next(_values(card, "ADR"), "").split(";") if p.strip()),
    }
    said = [name]
    for label, key in (
        ("nickname", "nicknames"),
        ("organisation", "organisation"),
        ("role", "role"),
        ("e-mail", "emails"),
        ("telephone", "phones"),
        ("birthday", "birthday"),
        ("address", "address"),
    ):
        value = fields[key]
        if value:
            said.append(f"{label}: {', '.join(value) if isinstance(value, list) else value}")
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
                yield _unescaped(text).strip()


_ESCAPED = re.compile(r"\\([,;\\nN])")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda m: "\n" if m[1] in "nN" else m[1], text)


def _assembled(name: str) -> str:
    """A name from its parts: `Lopez;Maria;;Dr.;` is Dr. Maria Lopez."""
    family, given, more, before, after = [*name.split(";"), *[""] * 5][:5]
    return " ".join(part.strip() for part in (before, given, more, family, after) if part.strip())


def _birthday(text: str) -> str:
    """ISO 8601; "--02-29" where the year is not said."""
    found = _BIRTHDAY.match(text)
    return f"{found[1] or '-'}-{found[2]}-{found[3]}" if found else ""
