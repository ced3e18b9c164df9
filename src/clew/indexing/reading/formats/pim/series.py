"""Series of an iCalendar file: their rules, and what other components of the file change in them.

A component with RANGE=THISANDFUTURE describes all that follow, too. It is a series of its own, with
the rules of the first, moved as its own start is; the first ends before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from clew.indexing.reading.formats.pim.components import Block, parsed
from clew.times.recurrence import ENDLESS, check_rule, last_day, listed, without_until

if TYPE_CHECKING:
    from clew.indexing.reading.formats.pim.components import Component


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
            (known.ranges if _is_range(component) else known.moved).append(as_text(again.dt))
    if any(one.ranges for one in found.values()):
        for component in filter(None, map(_sound, others)):
            if (uid := str(component.get("UID", ""))) in found:
                found[uid].series = component
    return found


def _sound(block: Block) -> Component | None:
    try:
        component, _ = parsed(block)
        if "RECURRENCE-ID" in component:
            _ = component["RECURRENCE-ID"].dt
    except (ValueError, KeyError, AttributeError, TypeError, IndexError):
        return None
    return component if "DTSTART" in component else None


def _is_range(component: Component) -> bool:
    """Whether it changes all that follow; where days and times are mixed it changes one."""
    again = component["RECURRENCE-ID"]
    kinds = {isinstance(one.dt, datetime) for one in (again, component["DTSTART"])}
    return str(again.params.get("RANGE", "")).upper() == "THISANDFUTURE" and len(kinds) == 1


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


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
    return {
        **known,
        "start": as_text(start),
        "end": as_text(end),
        "last": _later(known["last"], _moment(as_text(end)) - _moment(again)),
        "series_start": known["start"],
        "series_from": again,
        "series_before": changes.after(again),
    }


def _later(day: str, by: timedelta) -> str:
    try:
        moved = date.fromisoformat(day) + max(by, timedelta()) + timedelta(days=1)
    except OverflowError:
        return ENDLESS
    return ENDLESS if day == ENDLESS else moved.isoformat()


def _times_of(component: Component, start: date, end: date, moved: list[str]) -> dict[str, Any]:
    timed = isinstance(start, datetime)
    zone = _zone(start) if isinstance(start, datetime) else ""
    fields: dict[str, Any] = {"start": as_text(start), "end": as_text(end), "all_day": not timed}
    fields["zone"] = zone
    here = ZoneInfo(zone or "UTC")
    local, local_end = (_wall(moment, here) for moment in (start, end))
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
    key = getattr(moment.tzinfo, "key", "")
    if not key:
        from icalendar.timezone import tzids_from_tzinfo

        known = [name for name in tzids_from_tzinfo(moment.tzinfo) if _is_zone(name)]
        key = known[0] if known else _alike(moment.tzinfo, moment.year)
    return str(key)


@lru_cache(64)
def _alike(own: tzinfo, year: int) -> str:
    """The first zone whose clocks show the same through a year and the next; UTC for none."""
    first = min(year, MAXYEAR - 1)
    days = [(month, day) for month in range(1, 13) for day in (1, 15)]
    moments = [datetime(y, *day, 12) for y in (first, first + 1) for day in days]
    wanted = [moment.replace(tzinfo=own).utcoffset() for moment in moments]
    for name in sorted(name for name in available_timezones() if "/" in name):
        zone = ZoneInfo(name)
        pairs = zip(moments, wanted, strict=True)
        if all(moment.replace(tzinfo=zone).utcoffset() == offset for moment, offset in pairs):
            return name
    return "UTC"


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


def as_text(moment: date) -> str:
    """A day, a time in UTC, or a time that holds wherever one is."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).isoformat()
    return moment.isoformat()


def all_of(component: Component, name: str) -> list[Any]:
    """The values of a property, which may be there once or more."""
    found = component.get(name, [])
    return found if isinstance(found, list) else [found]
