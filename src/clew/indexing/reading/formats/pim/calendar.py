"""Events of iCalendar files: a document each, a series as one."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from clew.indexing.reading.formats.common import ReadResult
from clew.indexing.reading.formats.encoding import decode
from clew.indexing.reading.formats.entity_document import record
from clew.indexing.reading.formats.pim.components import Block, blocks, parsed, read_blocks
from clew.indexing.reading.formats.pim.people import fitting, name_of, person
from clew.indexing.reading.formats.pim.tasks import todo
from clew.times.recurrence import (
    check_rule,
    last_day,
    listed,
    rule_parts,
    without_until,
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
    for block in found:
        if block.name == "VTIMEZONE" and block.closed:
            _learn_zone(block.text)
    moved: defaultdict[str, list[str]] = defaultdict(list)

    def make(component: Component) -> Document:
        if component.name == "VTODO":
            return todo(raw, component)
        uid = str(component.get("UID", ""))
        return _event(raw, component, moved[uid])

    wanted = [block for block in found if block.name in _KINDS]
    for block in wanted:
        if block.closed and "RECURRENCE-ID" in block.text.upper():
            _note_moved(block, moved)
    documents, skipped = read_blocks(raw, wanted, make)
    # Of two versions of one event, the later one counts.
    by_source = {document.source: document for document in documents}
    return ReadResult(documents=tuple(by_source.values()), skipped=tuple(skipped))


def _learn_zone(text: str) -> None:
    from icalendar import Component

    try:
        Component.from_ical(text)  # remembered by its TZID
    except (ValueError, KeyError, TypeError, IndexError):
        return  # its events say that they are in a zone of that name


def _note_moved(block: Block, moved: defaultdict[str, list[str]]) -> None:
    """An occurrence that is described on its own is none of the series any more."""
    try:
        component = parsed(block)
        moved[str(component["UID"])].append(_text(component["RECURRENCE-ID"].dt))
    except (ValueError, KeyError, AttributeError, TypeError, IndexError):
        return  # it is named when it is read


def _event(raw: RawFile, component: Component, moved: list[str]) -> Document:
    if "DTSTART" not in component:
        raise ValueError("says no start (DTSTART)")
    start: date = component["DTSTART"].dt
    end = _end(component, start)
    title = " ".join(str(component.get("SUMMARY", "")).split()) or "(untitled event)"
    people = [person(one) for one in _all(component, "ATTENDEE") if _comes(one)]
    organiser = [person(one) for one in _all(component, "ORGANIZER")[:1]]
    again = _text(component["RECURRENCE-ID"].dt) if "RECURRENCE-ID" in component else ""
    fields = {
        **_when(component, start, end, [] if again else moved),
        "place": str(component.get("LOCATION", "")).strip(),
        "attendees": fitting(people) or None,
        "attendee_count": len(people) or None,
        "organiser": fitting(organiser) or None,
        "categories": _categories(component) or None,
        "status": str(component.get("STATUS", "")).lower(),
        "uid": str(component.get("UID", ""))[:200],
    }
    uid = fields["uid"] or f"{title}/{_text(start)}"
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


def _when(component: Component, start: date, end: date, moved: list[str]) -> dict[str, Any]:
    """First start and end, zone, and what makes a series of them."""
    timed = isinstance(start, datetime)
    zone = _zone(start) if isinstance(start, datetime) else ""
    fields: dict[str, Any] = {"start": _text(start), "end": _text(end), "all_day": not timed}
    fields["zone"] = zone
    here = ZoneInfo(zone or "UTC")
    local, local_end = (_wall(moment, here) for moment in (start, end))
    last = (local_end + timedelta(days=1)).date().isoformat()
    if "RRULE" in component:
        stated = _all(component, "RRULE")[0].to_ical().decode()
        rule, until = without_until(stated, here)
        check_rule(rule, local, until)
        fields["rrule"] = stated
        last = last_day(rule, local, until, local_end - local)
    further = _times(component, "RDATE")
    fields["last"] = max([last, *(one[:10] for one in further)])
    fields |= listed("further", further)
    return fields | listed("excepted", [*_times(component, "EXDATE"), *moved])


def _times(component: Component, name: str) -> list[str]:
    found = [one.dt for many in _all(component, name) for one in many.dts]
    return [_text(one[0] if isinstance(one, tuple) else one) for one in found]


def _end(component: Component, start: date) -> date:
    if "DTEND" in component:
        end: date = component["DTEND"].dt
        if isinstance(end, datetime) != isinstance(start, datetime):
            kinds = ("time", "day") if isinstance(start, datetime) else ("day", "time")
            raise ValueError(f"starts with a {kinds[0]} and ends with a {kinds[1]}")
        return end
    if "DURATION" in component:
        return start + component["DURATION"].dt
    return start if isinstance(start, datetime) else start + timedelta(days=1)


def _zone(moment: datetime) -> str:
    """The name of a time's zone; empty for a time that holds wherever one is."""
    if moment.tzinfo is None:
        return ""
    key = getattr(moment.tzinfo, "key", "")
    if not key:
        from icalendar.timezone import tzids_from_tzinfo

        known = [name for name in tzids_from_tzinfo(moment.tzinfo) if _is_zone(name)]
        key = known[0] if known else "UTC"
    return str(key)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _wall(moment: date, zone: ZoneInfo) -> datetime:
    if not isinstance(moment, datetime):
        return datetime.combine(moment, datetime.min.time())
    return moment.astimezone(zone).replace(tzinfo=None) if moment.tzinfo else moment


def _text(moment: date) -> str:
    """A day, a time in UTC, or a time that holds wherever one is."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).isoformat()
    return moment.isoformat()


def _date(start: date) -> PartialDate:
    if isinstance(start, datetime):
        moment = start if start.tzinfo else start.replace(tzinfo=UTC)
        return PartialDate(moment.astimezone(UTC), "time")
    return PartialDate(datetime(start.year, start.month, start.day, tzinfo=UTC), "day")


def _all(component: Component, name: str) -> list[Any]:
    found = component.get(name, [])
    return found if isinstance(found, list) else [found]


def _comes(attendee: Any) -> bool:  # noqa: ANN401 - icalendar's values have no common type
    return str(attendee.params.get("PARTSTAT", "")).upper() != _DECLINED


def _categories(component: Component) -> list[str]:
    found = [str(one) for many in _all(component, "CATEGORIES") for one in many.cats]
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
        f"When: {_said(component['DTSTART'].dt, _end(component, component['DTSTART'].dt))}",
    ]
    if "RRULE" in component:
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


def _repeats(rule: str) -> str:
    parts = rule_parts(rule)
    unit, interval = _FREQUENCIES.get(parts["FREQ"]), parts.get("INTERVAL", "1")
    if unit is None:
        return "repeated"
    return f"every {unit}" if interval == "1" else f"every {interval} {unit}s"
