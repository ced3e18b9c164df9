"""What events, contacts and tasks state: who, where, with whom, and who is the same person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.formats.common import TYPE, Person, from_flat
from clew.indexing.structure.document import TAGGED
from clew.plugins.personal import calendar, contacts
from clew.plugins.personal import calendar as tasks
from clew.plugins.personal.contacts import name_of
from clew.types import AliasEvidence, DeclaredEntity, Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document


_MOST = 50
"""People of an event; one with more ties nobody to anybody."""


def personal_structure(document: Document) -> Structure:
    """The thing that a document describes, with its people, place and organisation."""
    kind = str(document.metadata.get(TYPE, ""))
    if document.media_type == calendar.MEDIA_TYPE:
        statements, names = list(_event(document)), list(_event_names(document))
    elif document.media_type == contacts.MEDIA_TYPE:
        statements, names = list(_contact(document)), list(_contact_names(document))
    elif document.media_type == tasks.MEDIA_TYPE_TASKS:
        statements, names = list(_task(document)), []
    else:
        return Structure()
    return Structure(
        statements=tuple(statements),
        aliases=tuple(names),
        entities=(DeclaredEntity(name=document.title, entity_type=kind),),
    )


def _people(document: Document, field: str) -> list[Person]:
    return from_flat(document.metadata.get(field))


def _event(document: Document) -> Iterator[Statement]:
    for field, relation in (("organiser", "organised"), ("attendees", "attended")):
        people = _people(document, field)
        for one in people if len(people) <= _MOST else []:
            yield _said(document, name_of(one), type_of(one), relation, document.title, "event")
    if place := document.metadata.get("place"):
        yield _said(document, document.title, "event", "takes_place_at", str(place)[:80], "place")


def _event_names(document: Document) -> Iterator[AliasEvidence]:
    yield from aliases([*_people(document, "organiser"), *_people(document, "attendees")])


def _contact(document: Document) -> Iterator[Statement]:
    kind = str(document.metadata.get(TYPE))
    if organisation := document.metadata.get("organisation"):
        yield _said(document, document.title, kind, "works_at", str(organisation), "organisation")


def _contact_names(document: Document) -> Iterator[AliasEvidence]:
    name = document.title
    for field, what in (("emails", "address"), ("nicknames", "nickname")):
        for other in document.metadata.get(field) or []:
            if isinstance(other, str) and other.strip() and other != name:
                yield alias(other.strip(), name, f"{what} in the contact {name!r}")
    if given := document.metadata.get("known_as"):
        yield alias(str(given), name, f"the only contact with the given name {given!r}")


def _task(document: Document) -> Iterator[Statement]:
    for one in from_flat(document.metadata.get("people")):
        yield _said(document, document.title, "task", "assigned_to", name_of(one), type_of(one))
    for context in document.metadata.get("contexts") or []:
        yield _said(document, document.title, "task", TAGGED, str(context), "name")
    if project := document.metadata.get("project"):
        yield _said(document, document.title, "task", "part_of", str(project), "name")


def _said(
    document: Document, head: str, head_type: str, relation: str, tail: str, tail_type: str
) -> Statement:
    other = tail if head == document.title else head
    start = max(document.text.find(other), 0)
    moment: datetime | None = document.created_at
    return Statement(
        head=head,
        head_type=head_type,
        relation_type=relation,
        tail=tail,
        tail_type=tail_type,
        start=start,
        end=start + len(other) if document.text.startswith(other, start) else start,
        valid_from=moment if relation != "works_at" else None,
    )


# Who a person is, and by which other names.


_ALIAS_SCORE = 0.95


def type_of(one: Person) -> str:
    """A person where the name has the shape of one's."""
    return "person" if is_person_shaped(one.name) else "name"


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
