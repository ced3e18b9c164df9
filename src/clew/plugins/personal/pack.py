"""Calendar, contacts and tasks, beside the mail and the notes that every store reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.hookspecs import EntityType, Field, Pack, RelationType
from clew.plugins.personal.calendar import (
    STATUSES,
    read_calendar,
    read_notes,
    read_todo_txt,
)
from clew.plugins.personal.contacts import read_contacts
from clew.plugins.personal.structure import personal_structure


def tools() -> Sequence[object]:
    """See `Pack.tools`."""
    from clew.plugins.personal.tools import TOOLS

    return TOOLS


PACK = Pack(
    name="personal",
    title="Calendar, contacts and tasks",
    version=2,
    description="iCalendar, vCard, todo.txt and task lists, beside mail and notes.",
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
                Field(name="role"),
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
    structures=(personal_structure,),
    tools=tools,
    questions=Path(__file__).parent / "questions.jsonl",
)
