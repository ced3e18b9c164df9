"""Events of iCalendar files: a document each, a series as one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from clew.indexing.reading.formats.common import ReadResult
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.entity_document import record
from clew.indexing.reading.formats.pim.components import blocks, read_blocks
from clew.indexing.reading.formats.pim.people import fitting, name_of, person
from clew.indexing.reading.formats.pim.series import (
    Changes,
    all_of,
    as_text,
    changes_in,
    ends,
    when,
)
from clew.indexing.reading.formats.pim.tasks import todo
from clew.times.recurrence import (
    rule_parts,
)
from clew.types import Document, PartialDate

if TYPE_CHECKING:
    from clew.indexing.reading.formats.common import RawFile
    from clew.indexing.reading.formats.mail.people import Person
    from clew.indexing.reading.formats.pim.components import Component

MEDIA_TYPE = "text/calendar"
_KINDS = ("VEVENT", "VTODO", "VJOURNAL")
_DECLINED = "DECLINED"
_FREQUENCIES = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}


def read_calendar(raw: RawFile) -> ReadResult | None:
    """The events, tasks and journal entries of an `.ics` file."""
    text = decode(raw)
    if "BEGIN:V" not in text.upper():
        raise raw.unreadable("line 1: no iCalendar (BEGIN:VCALENDAR is missing)")
    found = list(blocks(text, (*_KINDS, "VTIMEZONE")))
    _forget_zones()
    for block in found:
        if block.name == "VTIMEZONE" and block.closed:
            _learn_zone(block.text)
    wanted = [block for block in found if block.name in _KINDS]
    changes = changes_in(wanted)

    def make(component: Component) -> Document:
        if component.name == "VTODO":
            return todo(raw, component)
        uid = str(component.get("UID", ""))
        return _event(raw, component, changes.get(uid, Changes()))

    documents, skipped = read_blocks(raw, wanted, make)
    # Of two versions of one event, the later one counts.
    by_source = {document.source: document for document in documents}
    return ReadResult(documents=tuple(by_source.values()), skipped=tuple(skipped))


def _forget_zones() -> None:
    """Those of the file before: programs give zones of their own the same name in every file."""
    from icalendar.timezone import tzp

    tzp.use_default()


def _learn_zone(text: str) -> None:
    from icalendar import Component

    try:
        Component.from_ical(text)  # remembered by its TZID
    except (ValueError, KeyError, TypeError, IndexError):
        return  # its events say that they are in a zone of that name


def _event(raw: RawFile, component: Component, changes: Changes) -> Document:
    if "DTSTART" not in component:
        raise ValueError("says no start (DTSTART)")
    start: date = component["DTSTART"].dt
    end = ends(component, start)
    title = " ".join(str(component.get("SUMMARY", "")).split()) or "(untitled event)"
    people = [person(one) for one in all_of(component, "ATTENDEE") if _comes(one)]
    organiser = [person(one) for one in all_of(component, "ORGANIZER")[:1]]
    again = as_text(component["RECURRENCE-ID"].dt) if "RECURRENCE-ID" in component else ""
    fields = {
        **when(component, start, end, changes),
        "place": str(component.get("LOCATION", "")).strip(),
        "attendees": fitting(people) or None,
        "attendee_count": len(people) or None,
        "organiser": fitting(organiser) or None,
        "categories": _categories(component) or None,
        "status": str(component.get("STATUS", "")).lower(),
        "uid": str(component.get("UID", ""))[:200],
    }
    uid = fields["uid"] or f"{title}/{as_text(start)}"
    return record(
        raw,
        f"{uid}/{again}" if again else uid,
        _words(title, component, fields, people, organiser),
        title=title,
        media_type=MEDIA_TYPE,
        entity_type="event",
        fields=fields,
        date=_date(start),
    )


def _date(start: date) -> PartialDate:
    if isinstance(start, datetime):
        moment = start if start.tzinfo else start.replace(tzinfo=UTC)
        return PartialDate(moment.astimezone(UTC), "time")
    return PartialDate(datetime(start.year, start.month, start.day, tzinfo=UTC), "day")


def _comes(attendee: Any) -> bool:  # noqa: ANN401 - icalendar's values have no common type
    return str(attendee.params.get("PARTSTAT", "")).upper() != _DECLINED


def _categories(component: Component) -> list[str]:
    found = [str(one) for many in all_of(component, "CATEGORIES") for one in many.cats]
    return [one.strip() for one in found if one.strip()][:20]


# --- as words ----------------------------------------------------------------------------


def _words(
    title: str,
    component: Component,
    fields: dict[str, Any],
    people: list[Person],
    organiser: list[Person],
) -> str:
    lines = [
        title,
        f"When: {_said(component['DTSTART'].dt, ends(component, component['DTSTART'].dt))}",
    ]
    if "rrule" in fields:
        lines[-1] += f", {_repeats(fields['rrule'])}"
    if fields["place"]:
        lines.append(f"at {fields['place']}")
    if organiser:
        lines.append(f"organised by {name_of(organiser[0])}")
    if people:
        lines.append(f"with {', '.join(map(name_of, people))}")
    if fields["categories"]:
        lines.append(f"categories: {', '.join(fields['categories'])}")
    if fields["status"] == "cancelled":
        lines.append("cancelled")
    description = str(component.get("DESCRIPTION", "")).replace("\r\n", "\n").strip()
    return "\n".join([*lines, *(["", description] if description else [])])


def _said(start: date, end: date) -> str:
    """Such as "Friday 1 March 2024, 09:00 to 10:00", in the time of its own place."""
    day = f"{start:%A} {start.day} {start:%B} {start.year}"
    if not isinstance(start, datetime):
        last = end - timedelta(days=1)
        return day if last <= start else f"{day} to {last:%A} {last.day} {last:%B} {last.year}"
    until = f" to {end:%H:%M}" if end > start else ""
    return f"{day}, {start:%H:%M}{until}"


def _repeats(rules: str) -> str:
    said = []
    for parts in map(rule_parts, rules.split()):
        unit, interval = _FREQUENCIES.get(parts["FREQ"]), parts.get("INTERVAL", "1")
        every = f"every {unit}" if interval == "1" else f"every {interval} {unit}s"
        said.append(every if unit else "repeated")
    return " and ".join(said)
