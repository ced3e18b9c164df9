"""Calendar, contacts and tasks, beside the mail and the notes that every store reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from clew.hookspecs import EntityType, Field, Pack, RelationType
from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.reading.common import TYPE, Person, from_flat
from clew.indexing.structure import TAGGED
from clew.plugins.personal import calendar, contacts
from clew.plugins.personal.calendar import STATUSES, read_calendar, read_notes, read_todo_txt
from clew.plugins.personal.contacts import name_of, pairs, read_contacts
from clew.types import AliasEvidence, DeclaredEntity, Document, Statement, Structure

# What events, contacts and tasks state: who, where, with whom, and who is the same person.


_MOST = 50
"""People of an event; one with more ties nobody to anybody."""
_ALIAS_SCORE = 0.95


def personal_structure(document: Document) -> Structure:
    """The thing that a document describes, with its people, place and organisation."""
    read = _READERS.get(document.media_type)
    if read is None:
        return Structure()
    found = list(read(document))
    kind = str(document.metadata.get(TYPE, ""))
    return Structure(
        statements=tuple(one for one in found if isinstance(one, Statement)),
        aliases=tuple(one for one in found if isinstance(one, AliasEvidence)),
        entities=(DeclaredEntity(name=document.title, entity_type=kind),),
    )


def _event(document: Document) -> Iterator[Statement | AliasEvidence]:
    for field, relation in (("organiser", "organised"), ("attendees", "attended")):
        people = from_flat(document.metadata.get(field))
        for one in people if len(people) <= _MOST else []:
            yield _said(document, name_of(one), _type_of(one), relation, document.title, "event")
        for one in people:
            if one.name and one.address:
                yield _alias(one.address, one.name, f'"{one.name}" <{one.address}>')
    if place := document.metadata.get("place"):
        yield _said(document, document.title, "event", "takes_place_at", str(place)[:80], "place")


def _contact(document: Document) -> Iterator[Statement | AliasEvidence]:
    name, kind = document.title, str(document.metadata.get(TYPE))
    facts = (("works_at", "organisation", "organisation"), ("has_role", "role", "concept"))
    for relation, field, tail_type in (*facts, ("has_role", "occupation", "concept")):
        if tail := document.metadata.get(field):
            yield _said(document, name, kind, relation, str(tail), tail_type)
    for how, who in pairs(document.metadata.get("related")):
        yield _said(document, who, _type_of(Person(who, "")), f"{how}_of", name, kind)
    for field, what in (("emails", "address"), ("nicknames", "nickname"), ("spelled", "name")):
        for other in document.metadata.get(field) or []:
            if isinstance(other, str) and other.strip() and other != name:
                yield _alias(other.strip(), name, f"{what} in the contact {name!r}")
    if given := document.metadata.get("known_as"):
        yield _alias(str(given), name, f"the only contact with the given name {given!r}")


def _task(document: Document) -> Iterator[Statement | AliasEvidence]:
    people = from_flat(document.metadata.get("people"))
    told = [("assigned_to", name_of(one), _type_of(one)) for one in people]
    told += [(TAGGED, str(one), "name") for one in document.metadata.get("contexts") or []]
    if project := document.metadata.get("project"):
        told.append(("part_of", str(project), "name"))
    for relation, tail, tail_type in told:
        yield _said(document, document.title, "task", relation, tail, tail_type)


_READERS: Mapping[str, Callable[[Document], Iterator[Statement | AliasEvidence]]] = {
    calendar.MEDIA_TYPE: _event,
    contacts.MEDIA_TYPE: _contact,
    calendar.MEDIA_TYPE_TASKS: _task,
}


def _said(
    document: Document, head: str, head_type: str, relation: str, tail: str, tail_type: str
) -> Statement:
    other = tail if head == document.title else head
    start = max(document.text.find(other), 0)
    return Statement(
        head=head,
        head_type=head_type,
        relation_type=relation,
        tail=tail,
        tail_type=tail_type,
        start=start,
        end=start + len(other) if document.text.startswith(other, start) else start,
        valid_from=document.created_at,
    )


def _type_of(one: Person) -> str:
    """A person where the name has the shape of one's."""
    return "person" if is_person_shaped(one.name) else "name"


def _alias(other: str, name: str, evidence: str) -> AliasEvidence:
    """Another name of somebody, and what says so."""
    return AliasEvidence(
        alias=other, name=name, method="exact", score=_ALIAS_SCORE, evidence=evidence
    )


def tools() -> Sequence[object]:
    """See `Pack.tools`."""
    from clew.plugins.personal.tools import TOOLS

    return TOOLS


PACK = Pack(
    name="personal",
    title="Calendar, contacts and tasks",
    version=3,
    description="They find events by day, people by name, work and organisation, tasks by due day.",
    entity_types=(
        EntityType(
            name="event",
            fields=(
                Field(name="start", kind="time"),
                Field(name="end", kind="time"),
                Field(name="place"),
                Field(name="attendees", kind="list"),
                Field(name="organiser", kind="list"),
                Field(name="categories", kind="list"),
                Field(name="status"),
                Field(name="rrule", description="RRULEs of RFC 5545, where it is a series."),
            ),
        ),
        EntityType(
            name="person",
            label="Contact",
            fields=(
                Field(name="emails", kind="list"),
                Field(name="phones", kind="list"),
                Field(name="nicknames", kind="list"),
                Field(name="organisation"),
                Field(name="department"),
                Field(name="role"),
                Field(name="occupation"),
                Field(name="related", kind="list", description="As what, and who."),
                Field(name="note"),
                Field(name="birthday", kind="date"),
            ),
        ),
        EntityType(name="concept"),
        EntityType(
            name="task",
            fields=(
                Field(name="status", choices=STATUSES),
                Field(name="due", kind="date"),
                Field(name="priority", description="A (highest) to Z."),
                Field(name="project"),
                Field(name="people", kind="list"),
                Field(name="contexts", kind="list", description="Of todo.txt, such as @phone."),
            ),
        ),
    ),
    relation_types=(
        RelationType(name="attended", inverse="attended_by"),
        RelationType(name="organised", inverse="organised_by"),
        RelationType(name="takes_place_at"),
        RelationType(name="works_at", functional=True, inverse="employs"),
        RelationType(name="has_role"),
        RelationType(name="assigned_to"),
    ),
    readers={
        ".ics": read_calendar,
        ".ical": read_calendar,
        ".ifb": read_calendar,
        ".vcf": read_contacts,
        ".vcard": read_contacts,
        "todo.txt": read_todo_txt,
        "done.txt": read_todo_txt,
        ".md": read_notes,
        ".markdown": read_notes,
    },
    tools=tools,
    questions=Path(__file__).parent / "questions.jsonl",
)
