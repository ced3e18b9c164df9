"""People as calendars and contacts name them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.formats.common import LONGEST_VALUE
from clew.indexing.reading.formats.mail.people import Person, flat, from_flat
from clew.types import AliasEvidence

if TYPE_CHECKING:
    from icalendar import vCalAddress

__all__ = ["Person", "alias", "fitting", "from_flat", "name_of", "person", "type_of"]

_ALIAS_SCORE = 0.95


def person(address: vCalAddress) -> Person:
    """An attendee or organiser."""
    text = str(address)
    email = text[7:] if text.lower().startswith("mailto:") else text
    name = str(address.params.get("CN", "")).strip(' "')
    return Person("" if "@" in name else name, email.lower() if "@" in email else "")


def name_of(one: Person) -> str:
    """The name by which texts know somebody."""
    return one.name or one.address


def type_of(one: Person) -> str:
    """A person where the name has the shape of one's."""
    return "person" if is_person_shaped(one.name) else "name"


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


def aliases(people: Iterable[Person]) -> Iterator[AliasEvidence]:
    """The address of each as another name."""
    for one in people:
        if one.name and one.address:
            yield alias(one.address, one.name, f'"{one.name}" <{one.address}>')


def alias(other: str, name: str, evidence: str) -> AliasEvidence:
    """Another name of somebody, and what says so."""
    return AliasEvidence(
        alias=other, name=name, method="exact", score=_ALIAS_SCORE, evidence=evidence
    )
