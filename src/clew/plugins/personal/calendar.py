"""Events of iCalendar files: a document each, a series as one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, date, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from typing import Any, cast
from zoneinfo import ZoneInfo, available_timezones

from clew.indexing.reading.common import (
    RawFile,
    ReadResult,
    check_limit,
    decode,
    record,
)
from clew.indexing.reading.text import read_markdown
from clew.plugins.personal.contacts import (
    Block,
    Component,
    blocks,
    fitting,
    name_of,
    parsed,
    person_of,
    read_blocks,
)
from clew.plugins.personal.recurrence import (
    ENDLESS,
    check_rule,
    last_day,
    listed,
    rule_parts,
    without_until,
)
from clew.settings.place import zone_of
from clew.text import text_digest
from clew.times import in_utc, to_date
from clew.types import Document

MEDIA_TYPE = "text/calendar"
_KINDS = ("VEVENT", "VTODO", "VJOURNAL")
_FREQUENCIES = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}


def read_calendar(raw: RawFile) -> ReadResult | None:
    """The events, tasks and journal entries of an `.ics` file."""
    text = decode(raw)
    if "BEGIN:V" not in text.upper():
        raise raw.unreadable("line 1: no iCalendar (BEGIN:VCALENDAR is missing)")
    found = list(blocks(text, (*_KINDS, "VTIMEZONE")))
    # Those of the file before: programs give zones of their own the same name in every file.
    from icalendar import Component as AnyComponent
    from icalendar.timezone import tzp

    tzp.use_default()
    for block in found:
        if block.name == "VTIMEZONE" and block.closed:
            # Remembered by its TZID; else its events say that they are in a zone of that name.
            with suppress(ValueError, KeyError, TypeError, IndexError):
                AnyComponent.from_ical(block.text)
    wanted = [block for block in found if block.name in _KINDS]
    changes = changes_in(wanted)

    def make(component: Component) -> Document:
        if component.name == "VTODO":
            return todo(raw, component)
        return _event(raw, component, changes.get(str(component.get("UID", "")), Changes()))

    return read_blocks(raw, wanted, make)


def _event(raw: RawFile, component: Component, changes: Changes) -> Document:
    if "DTSTART" not in component:
        raise ValueError("says no start (DTSTART)")
    start: date = component["DTSTART"].dt
    end = ends(component, start)
    title = " ".join(str(component.get("SUMMARY", "")).split()) or "(untitled event)"
    people = [
        person_of(one)
        for one in all_of(component, "ATTENDEE")
        if str(one.params.get("PARTSTAT", "")).upper() != "DECLINED"
    ]
    organiser = [person_of(one) for one in all_of(component, "ORGANIZER")[:1]]
    again = as_text(component["RECURRENCE-ID"].dt) if "RECURRENCE-ID" in component else ""
    found = [str(one) for many in all_of(component, "CATEGORIES") for one in many.cats]
    fields = {
        **when(component, start, end, changes),
        "place": str(component.get("LOCATION", "")).strip(),
        "attendees": fitting(people) or None,
        "attendee_count": len(people) or None,
        "organiser": fitting(organiser) or None,
        "categories": [one.strip() for one in found if one.strip()][:20] or None,
        "status": str(component.get("STATUS", "")).lower(),
        "uid": str(component.get("UID", ""))[:200],
    }
    uid = fields["uid"] or f"{title}/{as_text(start)}"
    every = ""
    if "rrule" in fields:
        said = []
        for rule in map(rule_parts, fields["rrule"].split()):
            unit, interval = _FREQUENCIES.get(rule["FREQ"]), rule.get("INTERVAL", "1")
            often = f"every {unit}" if interval == "1" else f"every {interval} {unit}s"
            said.append(often if unit else "repeated")
        every = f", {' and '.join(said)}"
    told = {
        "When: ": f"{_told(start, end, zone_of(raw.settings.time_zone))}{every}",
        "at ": fields["place"],
        "organised by ": ", ".join(map(name_of, organiser)),
        "with ": ", ".join(map(name_of, people)),
        "categories: ": ", ".join(fields["categories"] or ()),
        "cancelled": " " if fields["status"] == "cancelled" else "",
    }
    lines = [title, *(f"{name}{value}".strip() for name, value in told.items() if value)]
    description = str(component.get("DESCRIPTION", "")).replace("\r\n", "\n").strip()
    return record(
        raw,
        f"{uid}/{again}" if again else uid,
        "\n".join([*lines, *(["", description] if description else [])]),
        title=title,
        media_type=MEDIA_TYPE,
        entity_type="event",
        fields=fields,
        date=as_text(start),
    )


def _told(start: date, end: date, home: tzinfo) -> str:
    """Such as "Friday 1 March 2024, 09:00 to 10:00 CET", and beside it the time of its own place.

    A time that holds wherever one is has no zone, nor has a day.
    """
    if not isinstance(start, datetime):
        return " to ".join(dict.fromkeys(map(_day, (start, max(start, end - timedelta(days=1))))))
    own, found = _zone(start), []
    for zone in (home, ZoneInfo(own or "UTC")):
        begins, ends = (m.astimezone(zone) if own else m for m in (start, cast("datetime", end)))
        until = f"{ends:%H:%M}" if _day(ends) == _day(begins) else f"{_day(ends)}, {ends:%H:%M}"
        until = f" to {until}" if ends > begins else ""
        found.append(f"{_day(begins)}, {begins:%H:%M}{until} {begins:%Z}".strip())
    # UTC is nobody's place.
    return found[0] if own in ("", "UTC") or found[0] == found[1] else f"{found[0]} ({found[1]})"


def _day(moment: date) -> str:
    return f"{moment:%A} {moment.day} {moment:%B} {moment.year}"


# Series of an iCalendar file: their rules, and what other components of the file change in them.
#
# A component with RANGE=THISANDFUTURE describes all that follow, too. It is a series of its own,
# with
# the rules of the first, moved as its own start is; the first ends before it.


@dataclass(slots=True)
class Changes:
    """What other components of a file say of a series."""

    moved: list[str] = field(default_factory=list)
    """Occurrences that are described on their own: none of the series any more."""
    ranges: list[str] = field(default_factory=list)
    """Occurrences from which on all are described by another component."""
    series: Component | None = None
    """The one that has the rules, where there are ranges."""

    def after(self, occurrence: str) -> str:
        """Where the next range begins; empty where none does."""
        later = [one for one in self.ranges if _moment(one) > _moment(occurrence)]
        return min(later, key=_moment, default="")


def changes_in(blocks: Sequence[Block]) -> Mapping[str, Changes]:
    """Changes of series by UID. What cannot be read is named when it is read as an event."""
    found: defaultdict[str, Changes] = defaultdict(Changes)
    others: list[Block] = []
    for block in blocks:
        if "RECURRENCE-ID" not in block.text.upper():
            others.append(block)
        elif component := _sound(block):
            again = component["RECURRENCE-ID"]
            known = found[str(component.get("UID", ""))]
            # Where days and times are mixed it changes one.
            kinds = {isinstance(one.dt, datetime) for one in (again, component["DTSTART"])}
            is_range = str(again.params.get("RANGE", "")).upper() == "THISANDFUTURE"
            changed = known.ranges if is_range and len(kinds) == 1 else known.moved
            changed.append(as_text(again.dt))
    if any(one.ranges for one in found.values()):
        for component in filter(None, map(_sound, others)):
            if (uid := str(component.get("UID", ""))) in found:
                found[uid].series = component
    return found


def _sound(block: Block) -> Component | None:
    with suppress(ValueError, KeyError, AttributeError, TypeError, IndexError):
        component, _ = parsed(block)
        if "RECURRENCE-ID" in component:
            _ = component["RECURRENCE-ID"].dt
        return component if "DTSTART" in component else None
    return None


def _moment(text: str) -> datetime:
    return in_utc(datetime.fromisoformat(text))


def when(component: Component, start: date, end: date, changes: Changes) -> dict[str, Any]:
    """First start and end, zone, and what makes a series of them, as metadata."""
    if "RECURRENCE-ID" not in component:
        first = min(changes.ranges, key=_moment, default="")
        found = _times_of(component, start, end, changes.moved)
        return {**found, "series_before": first} if first else found
    again = as_text(component["RECURRENCE-ID"].dt)
    series = changes.series
    if again not in changes.ranges or series is None:
        return _times_of(component, start, end, [])
    begun: date = series["DTSTART"].dt
    known = _times_of(series, begun, ends(series, begun), changes.moved)
    last = known["last"]
    with suppress(OverflowError):  # it stays without an end
        later = _moment(as_text(end)) - _moment(again)
        moved = date.fromisoformat(last) + max(later, timedelta()) + timedelta(days=1)
        last = last if last == ENDLESS else moved.isoformat()
    return {
        **known,
        "start": as_text(start),
        "end": as_text(end),
        "last": last,
        "series_start": known["start"],
        "series_from": again,
        "series_before": changes.after(again),
    }


def _times_of(component: Component, start: date, end: date, moved: list[str]) -> dict[str, Any]:
    timed = isinstance(start, datetime)
    zone = _zone(start) if isinstance(start, datetime) else ""
    fields: dict[str, Any] = {
        "start": as_text(start),
        "end": as_text(end),
        "all_day": not timed,
        "zone": zone,
    }
    here = ZoneInfo(zone or "UTC")
    midnight = datetime.min.time()
    moments = (
        m if isinstance(m, datetime) else datetime.combine(m, midnight) for m in (start, end)
    )
    local, local_end = (m.astimezone(here).replace(tzinfo=None) if m.tzinfo else m for m in moments)
    days = [(local_end + timedelta(days=1)).date().isoformat()]
    rules = [one.to_ical().decode() for one in all_of(component, "RRULE")]
    for stated in rules:
        rule, until = without_until(stated, here)
        check_rule(rule, local, until)
        days.append(last_day(rule, local, until, local_end - local))
    if rules:
        fields["rrule"] = " ".join(rules)
    further = _times(component, "RDATE")
    fields["last"] = max([*days, *(one[:10] for one in further)])
    fields |= listed("further", further)
    return fields | listed("excepted", [*_times(component, "EXDATE"), *moved])


def _times(component: Component, name: str) -> list[str]:
    found = [one.dt for many in all_of(component, name) for one in many.dts]
    return [as_text(one[0] if isinstance(one, tuple) else one) for one in found]


def ends(component: Component, start: date) -> date:
    """When it ends first; raises `ValueError` for a day that ends at a time."""
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
    if key := getattr(moment.tzinfo, "key", ""):
        return str(key)
    from icalendar.timezone import tzids_from_tzinfo

    known = (name for name in tzids_from_tzinfo(moment.tzinfo) if name in _zones())
    return next(known, "") or _alike(moment.tzinfo, moment.year)


@cache
def _zones() -> list[str]:
    return sorted(available_timezones())


@lru_cache(64)
def _alike(own: tzinfo, year: int) -> str:
    """The first zone whose clocks show the same through a year and the next; UTC for none."""
    first = min(year, MAXYEAR - 1)
    days = [(month, day) for month in range(1, 13) for day in (1, 15)]
    moments = [datetime(y, *day, 12) for y in (first, first + 1) for day in days]
    wanted = [moment.replace(tzinfo=own).utcoffset() for moment in moments]
    for name in (name for name in _zones() if "/" in name):
        zone = ZoneInfo(name)
        pairs = zip(moments, wanted, strict=True)
        if all(moment.replace(tzinfo=zone).utcoffset() == offset for moment, offset in pairs):
            return name
    return "UTC"


def as_text(moment: date) -> str:
    """A day, a time in UTC, or a time that holds wherever one is."""
    if isinstance(moment, datetime) and moment.tzinfo:
        moment = in_utc(moment)
    return moment.isoformat()


def all_of(component: Component, name: str) -> list[Any]:
    """The values of a property, which may be there once or more."""
    found = component.get(name, [])
    return found if isinstance(found, list) else [found]


# Tasks: of `todo.txt`, of VTODO, and of the task lists in Markdown notes.
#
# A line of `todo.txt` and a VTODO are documents. A task of a note stays in the note: the note's
# metadata say how many it has, and its lines are read when tasks are asked for.


MEDIA_TYPE_TASKS = "text/x-task"
OPEN, DOING, DONE, CANCELLED = "open", "in_progress", "done", "cancelled"
STATUSES = (OPEN, DOING, DONE, CANCELLED)
_OF_TODO = {"COMPLETED": DONE, "IN-PROCESS": DOING, "CANCELLED": CANCELLED}
_OF_MARK = {" ": OPEN, "x": DONE, "X": DONE, "/": DOING, "-": CANCELLED}
MARKS = {OPEN: " ", DONE: "x", DOING: "/", CANCELLED: "-"}
ITEM = re.compile(
    r"^(?P<before>[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}\[)(?P<mark>[ xX/-])\][ \t]{1,4}"
    r"(?P<text>\S[^\n]{0,1000})$",
    re.MULTILINE,
)
"""A line of a task list in Markdown."""
_DATE = r"(\d{4}-\d{2}-\d{2})"
DUE = re.compile(rf" ?(?:\bdue:|@due\(|📅[ ]?|\(due[ ]|\bdue[ ]){_DATE}\)?", re.IGNORECASE)
_PROJECT = re.compile(r"(?:(?<=\s)|^)\+([\w-]{1,80})")
_WHO = re.compile(r"(?:(?<=\s)|^)@([^\W\d][\w.-]{0,80})(?![\w(])")
PRIORITY = re.compile(r"^\(([A-Z])\) ")
FINISHED = re.compile(rf"^x (?:{_DATE} )?(?:{_DATE} )?")
_MADE = re.compile(rf"^{_DATE} ")
_PAIR = re.compile(r"(?:(?<=\s)|^)[a-z]{1,20}:\S{1,80}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Something to do."""

    title: str
    status: str = OPEN
    due: str = ""
    """ISO 8601 day; empty for none."""
    priority: str = ""
    """A to Z; empty for none."""
    project: str = ""
    people: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    """Of `todo.txt`, where `@` says a place or a tool as often as a person."""
    line: str = ""
    """The line of the file that says it."""


def task_of(words: str, status: str, line: str) -> Task:
    """A task from its words: `due:2024-05-01`, `+project`, `@somebody` are read and stay."""
    due, project = DUE.search(words), _PROJECT.search(words)
    urgent = PRIORITY.match(words)
    title = words
    for told in (PRIORITY, DUE, _PROJECT, _WHO, _PAIR):
        title = told.sub("", title)
    return Task(
        title=" ".join(title.split()) or words,
        status=status,
        due=due[1] if due and to_date(due[1]) else "",
        priority=urgent[1] if urgent else "",
        project=project[1] if project else "",
        people=tuple(match[1].strip(".") for match in _WHO.finditer(words)),
        line=line,
    )


# --- Markdown ----------------------------------------------------------------------------


def markdown_tasks(text: str) -> Iterator[Task]:
    """The tasks of a note, in order."""
    for match in ITEM.finditer(text):
        yield task_of(match["text"].strip(), _OF_MARK[match["mark"]], match[0])


def read_notes(raw: RawFile) -> ReadResult:
    """A note as ever, with the number of its tasks in its metadata."""
    found = read_markdown(raw)
    documents = tuple(
        replace(one, metadata={**one.metadata, "tasks": count})
        if (count := len(ITEM.findall(one.text)))
        else one
        for one in found.documents
    )
    return replace(found, documents=documents)


# --- todo.txt ----------------------------------------------------------------------------


def todo_line(line: str) -> Task:
    """The task of a line of `todo.txt`."""
    done = FINISHED.match(line)
    words = _MADE.sub("", line[done.end() :] if done else line)
    urgent = PRIORITY.match(words)
    if urgent:
        words = urgent[0] + _MADE.sub("", words[urgent.end() :])
    task = task_of(words, DONE if done else OPEN, line)
    return replace(task, people=(), contexts=task.people)


def read_todo_txt(raw: RawFile) -> ReadResult:
    """A document a line."""
    lines = [line.strip() for line in decode(raw).split("\n") if line.strip()]
    check_limit(raw.limits, "elements", len(lines), raw.source)
    seen: Counter[str] = Counter()
    documents = []
    for line in lines:
        task = todo_line(line)
        key = text_digest(task.title.casefold())[:12]
        seen[key] += 1
        again = f"-{seen[key]}" if seen[key] > 1 else ""
        documents.append(task_record(raw, f"{key}{again}", task, line, None))
    return ReadResult(documents=tuple(documents))


def task_record(
    raw: RawFile, key: str, task: Task, text: str, people: list[str] | None
) -> Document:
    """The document of a task; its date is the day on which it is due."""
    fields = {
        "status": task.status,
        "due": task.due,
        "priority": task.priority,
        "project": task.project,
        "people": people or list(task.people) or None,
        "contexts": list(task.contexts) or None,
        "line": task.line,
    }
    return record(
        raw,
        key,
        text,
        title=task.title[:200],
        media_type=MEDIA_TYPE_TASKS,
        entity_type="task",
        fields=fields,
        date=task.due or None,
    )


# --- VTODO -------------------------------------------------------------------------------


def todo(raw: RawFile, component: Component) -> Document:
    """The document of a VTODO."""
    title = " ".join(str(component.get("SUMMARY", "")).split()) or "(untitled task)"
    status = _OF_TODO.get(str(component.get("STATUS", "")).upper(), OPEN)
    if "COMPLETED" in component:
        status = DONE
    people = [person_of(one) for one in all_of(component, "ATTENDEE")]
    projects = [str(one) for many in all_of(component, "CATEGORIES") for one in many.cats]
    description = str(component.get("DESCRIPTION", "")).strip()
    due: Any = component["DUE"].dt if "DUE" in component else ""
    if getattr(due, "tzinfo", None):
        due = due.astimezone(zone_of(raw.settings.time_zone))
    urgency = int(component.get("PRIORITY", 0))  # 1 is the highest, 9 the lowest, 0 none
    task = Task(
        title=title,
        status=status,
        due=str(due)[:10],
        priority="ABCDEFGHI"[urgency - 1 : urgency] if urgency > 0 else "",
        project=projects[0] if projects else "",
    )
    said = [title, *([f"Due: {task.due}"] if due else []), f"Status: {status.replace('_', ' ')}"]
    if people:
        said.append(f"For: {', '.join(map(name_of, people))}")
    text = "\n".join([*said, *(["", description] if description else [])])
    uid = str(component.get("UID", "")) or text_digest(text)[:12]
    return task_record(raw, f"todo/{uid}", task, text, fitting(people))
