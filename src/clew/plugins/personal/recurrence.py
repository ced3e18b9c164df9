"""When a series happens: its rule expanded within a window, in the wall-clock time of its zone.

A series is kept as what its file says: first start and end, rule, further and excepted starts. So
any window can be asked, however far, and costs what it holds: a rule that does not count is moved
forward by whole periods to where the window begins, and none is looked at behind its end. What that
takes is counted (`Work`): whatever a rule says, nobody waits for more.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import chain, islice, takewhile
from math import prod
from types import FunctionType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from clew.errors import InputError
from clew.request_end import go_on

ENDLESS = "9999-12-31"
"""The last day of a series without end."""
MOST = 10_000
"""Occurrences of one series in a window, and the largest COUNT of a series by the minute."""
_DAYS = {"DAILY": 1, "WEEKLY": 7, "MONTHLY": 31, "YEARLY": 366}
_SECONDS = {"SECONDLY": 1, "MINUTELY": 60, "HOURLY": 3600}
_DAY = timedelta(days=1)
MOST_WORK = 1_000_000
"""Days and occurrences that are looked at for one answer: a second or two."""
_FIRST, _ALL = 50_000, 200_000
"""The same until a rule is met first, or never is: 130 years; and until one that counts ends."""
_BREATH = 1000
"""The same between two looks at whether the request has ended."""
_TIMES = 1440
"""Times of a day that a rule may name."""
_RARE = 8
"""Periods of which one has an occurrence, at least: 29 February after a century without."""


class Work:
    """How many more days and occurrences are looked at for one answer; raises `InputError`."""

    def __init__(self, left: int = MOST_WORK) -> None:
        self.left = left

    def spend(self, number: int) -> None:
        """Count what is looked at next."""
        if self.left // _BREATH != (self.left - number) // _BREATH:
            go_on()
        self.left -= number
        if self.left < 0:
            raise InputError(
                "finding when these series happen takes too long; ask for a shorter range, or less"
            )


class Rule(NamedTuple):
    """One rule of a series."""

    text: str
    """RRULE without its UNTIL."""
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """One event or many. Times are wall-clock times of the zone, without it."""

    start: datetime
    duration: timedelta
    zone: ZoneInfo
    all_day: bool = False
    rules: tuple[Rule, ...] = ()
    """What any of them meets happens."""
    further: frozenset[datetime] = frozenset()
    excepted: frozenset[datetime] = frozenset()
    excepted_days: frozenset[date] = frozenset()
    since: datetime | None = None
    """The first that is held to happen; those before it are described elsewhere."""
    before: datetime | None = None
    """The first that is described elsewhere again."""
    shift: timedelta = timedelta()
    """By how much all of them are moved from where the rules have them."""

    def between(
        self, since: datetime, until: datetime, work: Work | None = None
    ) -> Iterator[tuple[datetime, datetime]]:
        """Starts and ends of what overlaps `[since, until)`, in order, aware, in the zone.

        Raises `InputError` where that takes more than `work`.
        """
        low = self._wall(since) - self.duration - _DAY
        high = self._wall(until) + _DAY
        for unmoved in sorted(
            s for s in self._starts(low, high, work or Work()) if low <= s <= high
        ):
            start = unmoved + self.shift
            begun = start.replace(tzinfo=self.zone)
            ended = (start + self.duration).replace(tzinfo=self.zone)
            if begun < until and (ended > since or begun == ended >= since):
                yield begun, ended

    def _wall(self, moment: datetime) -> datetime:
        """A moment in the time in which the rules have the starts."""
        return moment.astimezone(self.zone).replace(tzinfo=None) - self.shift

    def _starts(self, low: datetime, high: datetime, work: Work) -> Iterator[datetime]:
        """Starts of this part of the series, as the rules have them, once each."""
        first = self.since or self.start
        found = {*self.further} if self.rules and not self.since else {first, *self.further}
        for rule in self.rules:
            found.update(self._expanded(rule, low, high, work))
        for start in found:
            is_elsewhere = (self.since and start < self.since) or (
                self.before and start >= self.before
            )
            is_excepted = start in self.excepted or start.date() in self.excepted_days
            if not is_elsewhere and not is_excepted:
                yield start

    def _expanded(
        self, rule: Rule, low: datetime, high: datetime, work: Work
    ) -> Iterator[datetime]:
        last = min(high, rule.until) if rule.until else high
        forward = self._moved_to(low, rule.text)
        found = takewhile(lambda s: s <= last, _met(rule.text, forward.start, last, work))
        # A start that its own rule does not meet happens all the same.
        first = [self.start] if forward.start == self.start else []
        return chain(first, islice((s for s in found if s >= low), MOST))

    def _moved_to(self, low: datetime, rule: str) -> Series:
        """The series from a later period on, with the same occurrences after `low`."""
        parts = rule_parts(rule)
        unit = _SECONDS.get(parts["FREQ"]) or {"DAILY": 86400, "WEEKLY": 604800}.get(parts["FREQ"])
        interval = int(parts.get("INTERVAL", 1))
        if "COUNT" in parts or low <= self.start:
            return self
        if unit is not None:
            step = timedelta(seconds=unit * interval)
            return replace(self, start=self.start + step * max(0, (low - self.start) // step - 1))
        # So many years are whole periods of months, too. A leap day stays one.
        year = low.year - 1 - (low.year - 1 - self.start.year) % interval
        is_leap_day = (self.start.month, self.start.day) == (2, 29)
        while year > self.start.year and is_leap_day and not isleap(year):
            year -= interval
        return replace(self, start=self.start.replace(year=max(year, self.start.year)))


def rule_parts(rule: str) -> dict[str, str]:
    """The parts of a rule by name."""
    return dict(part.split("=", 1) for part in rule.upper().split(";") if "=" in part)


class _BehindError(Exception):
    """The months that are asked for were looked at."""


@cache
def _counting() -> Any:  # noqa: ANN401 - imported late
    """Dateutil's rules, with what they look at counted.

    By themselves they end behind the year 9999, or where they are met: one that never is takes
    seconds. They take the days of each of their steps from one class of the module; everything else
    of theirs stays as it is.
    """
    from dateutil import rrule

    base: Any = rrule._iterinfo

    def counted(name: str, days: int) -> Callable[[Any, int, int, int], object]:
        inner = getattr(base, name)

        def dayset(self: Any, year: int, month: int, day: int) -> object:  # noqa: ANN401
            last, work = self.rrule.bounds
            if (year, month if days < 366 else 1) > (last.year, last.month):
                raise _BehindError
            work.spend(days)
            return inner(self, year, month, day)

        return dayset

    steps = {"ydayset": 366, "mdayset": 31, "wdayset": 7, "ddayset": 1}
    looking = type("Days", (base,), {name: counted(name, days) for name, days in steps.items()})
    iterate = rrule.rrule._iter  # type: ignore[attr-defined]

    class Counting(rrule.rrule):
        bounds: tuple[datetime, Work]
        _iter = FunctionType(iterate.__code__, {**vars(rrule), "_iterinfo": looking}, "_iter")

    return Counting


def _met(text: str, start: datetime, last: datetime, work: Work) -> Iterator[datetime]:
    """When a rule is met, to the end of the month of `last`."""
    from dateutil.rrule import rrulestr

    rule: Any = rrulestr(text, dtstart=start)
    rule.__class__ = _counting()
    rule.bounds = last, work
    try:
        for moment in rule:
            work.spend(1)
            yield moment
    except _BehindError:
        return


def check_rule(rule: str, start: datetime, until: datetime | None) -> None:
    """Raise `ValueError` for a rule that cannot be, never happens, or is too much to follow."""
    parts = rule_parts(rule)
    filtered = any(name.startswith("BY") for name in parts)
    named = (parts.get(name, "").count(",") + 1 for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if prod(named) > _TIMES:
        raise ValueError(f"names more than {_TIMES:,} times of a day")
    bounded = until is not None or int(parts.get("COUNT", MOST + 1)) <= MOST
    if parts.get("FREQ") in ("SECONDLY", "MINUTELY") and (filtered or not bounded):
        raise ValueError(
            f"recurs {parts['FREQ'].lower()} without an end; expected UNTIL, or a COUNT of"
            f" {MOST:,} at most, and no BY parts"
        )
    try:
        first = next(_met(rule, start, datetime.max, Work(_FIRST)), None)
    except InputError:
        first = None
    if first is None:
        raise ValueError("never happens")
    if "COUNT" in parts:
        try:
            deque(_met(rule, start, datetime.max, Work(_ALL)), maxlen=0)
        except InputError as error:
            raise ValueError("counts further than can be followed; expected UNTIL") from error


def last_day(rule: str, start: datetime, until: datetime | None, duration: timedelta) -> str:
    """A day after which nothing of a series happens, ISO 8601."""
    parts = rule_parts(rule)
    if until is not None:
        return (until + duration + _DAY).date().isoformat()
    if "COUNT" not in parts:
        return ENDLESS
    periods = int(parts["COUNT"]) * int(parts.get("INTERVAL", 1)) * _RARE
    days = periods * _DAYS.get(parts["FREQ"], 1)
    try:
        return (start + timedelta(days=days + 1) + duration).date().isoformat()
    except OverflowError:
        return ENDLESS


_UNTIL = re.compile(r";?UNTIL=([^;]{1,40})")


def without_until(rule: str, zone: ZoneInfo) -> tuple[str, datetime | None]:
    """A rule without its UNTIL, and that in wall-clock time of the zone.

    Whether it is in UTC, local or a day, it must not lose what happens at that very moment.
    """
    found = _UNTIL.search(rule)
    if found is None:
        return rule, None
    rest = _UNTIL.sub("", rule).strip(";")
    text = found[1]
    if len(text) == 8:
        return rest, datetime.combine(datetime.strptime(text, "%Y%m%d").date(), time.max)
    moment = datetime.strptime(text.rstrip("Zz"), "%Y%m%dT%H%M%S")
    if text[-1] in "Zz":
        return rest, moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
    return rest, moment


def series_of(fields: Mapping[str, Any], home: ZoneInfo) -> Series:
    """The series that a document's metadata describe; `home` is the zone of days and free times."""
    zone = ZoneInfo(fields["zone"]) if fields.get("zone") else home
    all_day = bool(fields.get("all_day"))
    start, end = (_local(fields[name], zone) for name in ("start", "end"))
    since, before, first = (
        _local(fields[name], zone) if name in fields else None
        for name in ("series_from", "series_before", "series_start")
    )
    excepted = _listed(fields, "excepted")
    return Series(
        start=first or start,
        duration=max(end - start, timedelta()),
        zone=zone,
        all_day=all_day,
        rules=tuple(
            Rule(*without_until(one, zone)) for one in str(fields.get("rrule", "")).split()
        ),
        further=frozenset(_local(one, zone) for one in _listed(fields, "further")),
        excepted=frozenset(_local(one, zone) for one in excepted if "T" in one or all_day),
        excepted_days=frozenset(date.fromisoformat(one) for one in excepted if "T" not in one),
        since=since,
        before=before,
        shift=start - since if since else timedelta(),
    )


def _local(text: str, zone: ZoneInfo) -> datetime:
    """A stored time in wall-clock time of a zone; one without an offset is that already."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone(zone).replace(tzinfo=None) if moment.tzinfo else moment


_PART = 90
"""Times in one value of metadata, which is bounded in length."""


def listed(name: str, times: list[str]) -> dict[str, str]:
    """Many times as values of metadata: `name`, `name_2` and so on."""
    parts = [times[i : i + _PART] for i in range(0, len(times), _PART)]
    return {f"{name}_{i}" if i > 1 else name: " ".join(part) for i, part in enumerate(parts, 1)}


def _listed(fields: Mapping[str, Any], name: str) -> list[str]:
    """What `listed` kept."""
    pattern = re.compile(rf"{name}(?:_\d{{1,6}})?")
    return [one for key, text in fields.items() if pattern.fullmatch(key) for one in text.split()]
