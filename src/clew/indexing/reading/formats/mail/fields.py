"""Header fields: people, dates, message ids, in whatever encoding.

The library's parsers take time with the square of a field's length, so that each is cut first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32, default
from email.utils import getaddresses, parsedate_to_datetime

from clew.indexing.reading.formats.common import clean_text
from clew.indexing.reading.formats.mail.people import Person
from clew.text import one_line
from clew.times import in_utc

LONGEST_FIELD = 16_000
"""Characters of a field that are read: some three hundred recipients."""
_MAILBOX_DATE = "mailbox date"
_LONGEST_MALFORMED = 1_000
_MOST_FIELDS = 2_000
_MOST_IDS = 100
_ID = re.compile(r"<([^<>\s]{1,250})>")
_FOLD = re.compile(r"[\r\n]+")


class BoundedFields(Compat32):
    """The library's forgiving policy, with fields cut to what is bearable to parse."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """Name and value of a field."""
        name, value = super().header_source_parse(sourcelines)
        return name, value[:LONGEST_FIELD]


def fields_of(message: Message) -> dict[str, str]:
    """The first field of each name (lower case), unfolded, still encoded.

    Under `_MAILBOX_DATE` the date of the line that parts the messages of a mailbox.
    """
    found: dict[str, str] = {}
    for name, value in list(message.raw_items())[:_MOST_FIELDS]:
        found.setdefault(name.lower(), _FOLD.sub("", _unicode(str(value))).strip())
    if line := message.get_unixfrom():
        found[_MAILBOX_DATE] = " ".join(line[:_LONGEST_MALFORMED].split()[2:])
    return found


def _unicode(raw: str) -> str:
    """A value with bytes beyond ASCII, which were sent without saying their encoding."""
    data = raw.encode("utf-8", "surrogateescape")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def text_field(value: str) -> str:
    """A field's text with encoded words decoded, on one line."""
    text = value
    if "=?" in value:
        with suppress(LookupError):  # no such encoding
            text = _decoded(value)
    return one_line(clean_text(text))


def _decoded(value: str) -> str:
    parts = decode_header(value)
    try:
        return str(make_header(parts))
    except ValueError:  # not all of it is encoded so
        return "".join(
            part if isinstance(part, str) else part.decode(charset or "latin-1", "replace")
            for part, charset in parts
        )


def people(value: str) -> list[Person]:
    """Who a field names, each once."""
    if len(value) >= LONGEST_FIELD:
        value = value.rpartition(",")[0]  # the last one may be half a name
    if "@" not in value:
        value = value.replace(" at ", "@")  # as archives of mailing lists write it
    found = (_person(name, address) for name, address in _addresses(value))
    return list(dict.fromkeys(person for person in found if person.name or person.address))


def _addresses(value: str) -> list[tuple[str, str]]:
    """(name, address) pairs, names decoded after they are taken apart."""
    found = [(text_field(name), address) for name, address in getaddresses([value])]
    if any(name or address for name, address in found):
        return found
    # More patient with what is malformed, and slow.
    try:
        parsed = default.header_factory("to", value[:_LONGEST_MALFORMED]).addresses
    except Exception:  # noqa: BLE001 - it fails in many ways
        return []
    return [(address.display_name or "", address.addr_spec) for address in parsed]


def _person(name: str, address: str) -> Person:
    name = one_line(clean_text(name)).strip("'\" ")
    name = re.sub(r" \(?via [^()]*\)?$", "", name)
    address = one_line(clean_text(address)).casefold()
    family, comma, given = name.partition(", ")
    if comma and "," not in given and " " not in family:
        name = f"{given} {family}"
    if "@" in name:
        name = ""
    if "@" not in address or " " in address:
        name, address = name or address, ""
    return Person(name, address)


def message_ids(value: str) -> list[str]:
    """The ids in a field, without their brackets."""
    return _ID.findall(value)[:_MOST_IDS]


def date_field(fields: Mapping[str, str]) -> datetime | None:
    """When a message was sent, in its own zone; where it does not say, when it was received."""
    received = fields.get("received", "").rpartition(";")[2]
    told = (fields.get(name, "") for name in ("date", "resent-date", "delivery-date"))
    for value in (*told, received, fields.get(_MAILBOX_DATE, "")):
        try:
            date = parsedate_to_datetime(text_field(value)[:100])
            in_utc(date)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return date if date.tzinfo else in_utc(date)
    return None
