"""People as calendars and task lists name them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from clew.indexing.reading.formats.common import LONGEST_VALUE
from clew.indexing.reading.formats.mail.people import Person, flat

if TYPE_CHECKING:
    from icalendar import vCalAddress


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
