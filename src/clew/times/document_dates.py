"""The date that a title, a heading or the path of a file states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import NamedTuple

from clew.languages import read_word_lists
from clew.times.names import MONTH, day_comes_first, find_names
from clew.times.ranges import find_yearless
from clew.types import DatePrecision, Metadata, PartialDate, in_utc

_LONGEST = 300
"""Characters of a title, at most."""
_NUMERIC = re.compile(
    r"(?<!\d)(?:\d{1,2}([./-])\d{1,2}\1[12]\d{3}|[12]\d{3}([./_-])\d\d\2\d\d)(?!\d)"
)

# In a path, of a file named last and without its ending.
_FOLDERS = 3
"""Folders above a file that may say its date."""
_YEAR = r"(?P<year>19[89]\d|20\d\d)"
_MONTH = r"(?P<month>0[1-9]|1[0-2])"
_DAY = r"(?P<day>0[1-9]|[12]\d|3[01])"
_OTHER = r"(?:[-_. ].*)?"
_SPLIT = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        rf"{_YEAR}/{_MONTH}/{_DAY}{_OTHER}(?:/[^/]*)?",
        rf"{_YEAR}[-_.]{_MONTH}/{_DAY}{_OTHER}",
        rf"{_YEAR}/{_MONTH}[-_.]{_DAY}{_OTHER}(?:/[^/]*)?",
        rf"{_YEAR}/{_MONTH}(?:/[^/]*)?",
    )
)
"""Dates that folders and a file state together."""
_COMPACT = re.compile(rf"(?<!\d){_YEAR}(?P<mark>[-_.]?){_MONTH}(?P=mark){_DAY}(?!\d)")
_YEAR_MONTH = re.compile(rf"(?<![\d.-]){_YEAR}[-_]{_MONTH}(?![\d.-])")
_BARE_YEAR = re.compile(r"(?P<year>199\d|20\d\d)(?:[-_ ]++[^\W\d].*)?", re.DOTALL)
_SEPARATORS = re.compile(r"[-_. ]+")


def find_date(text: str, *, day_first: bool | None = None) -> PartialDate | None:
    """The one day that a title states, else its one month; None where it states none or several.

    A year alone is mostly what a text is about.
    """
    text = text[:_LONGEST]
    found: list[PartialDate] = []
    for _, _, period in find_names(text):
        assert period.start is not None
        assert period.end is not None
        month = PartialDate(period.start, "month")
        if period.end - period.start == timedelta(days=1):
            found.append(PartialDate(period.start, "day"))
        elif period.start.day == 1 and month.end == period.end:
            found.append(month)
    written = (match.group().replace("_", "-") for match in _NUMERIC.finditer(text))
    found += filter(None, (to_date(words, day_first=day_first) for words in written))
    return _only(date for date in found if date.precision == "day") or (
        None
        if any(date.precision == "day" for date in found)
        else _only(date for date in found if date.precision == "month")
    )


def _only(dates: Iterable[PartialDate]) -> PartialDate | None:
    distinct = set(dates)
    return distinct.pop() if len(distinct) == 1 else None


def path_date(path: str) -> PartialDate | None:
    """The date that the name of a file or the folders above it state; what is nearest counts.

    `2019-03-02.md`, `20190302_notes.txt`, `2019/03/02.md`, `2019-03/march-2.md`, `2019/report.md`.
    """
    *folders, name = [part for part in path.rstrip("/").split("/") if part][-_FOLDERS - 1 :] or [""]
    parts = [*folders, name.rpartition(".")[0] or name]
    tails = ["/".join(parts[at:]) for at in reversed(range(len(parts)))]
    return (
        _part_date(parts[-1])
        or next(filter(None, (_matched(f.fullmatch(t)) for f in _SPLIT for t in tails)), None)
        or _yearless(parts)
        or next(filter(None, map(_part_date, reversed(parts[:-1]))), None)
        or _matched(_BARE_YEAR.fullmatch(parts[-1]))
        or next(filter(None, (_matched(re.fullmatch(_YEAR, p)) for p in reversed(folders))), None)
    )


def _part_date(part: str) -> PartialDate | None:
    """The day or month that one name states."""
    return (
        _matched(_COMPACT.search(part))
        or find_date(_SEPARATORS.sub(" ", part))
        or _matched(_YEAR_MONTH.search(part))
    )


def _yearless(parts: list[str]) -> PartialDate | None:
    """A day or month without a year, in a folder that says the year."""
    for depth in range(len(parts) - 1, 0, -1):
        words = _SEPARATORS.sub(" ", parts[depth])
        found = [one for one in find_yearless(words) if one.day or len(words) == one.end]
        years = (re.match(_YEAR, folder) for folder in reversed(parts[:depth]))
        year = next(filter(None, years), None)
        if year and len(found) == 1:
            return _date(int(year["year"]), found[0].month, found[0].day)
    return None


def _matched(match: re.Match[str] | None) -> PartialDate | None:
    if match is None:
        return None
    said = match.groupdict()
    return _date(*(int(said.get(name) or 0) for name in ("year", "month", "day")))


def _date(year: int, month: int, day: int | None) -> PartialDate | None:
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    except ValueError:  # 30 February
        return None
    return PartialDate(start, "day" if day else "month" if month else "year")


# The date that the first lines of a text state of the text itself.


_BEGINNING = 4000
"""Characters that are read, at most."""
_LINES = 12
"""Lines with words that are the first ones."""
_LONGEST_OPENING = 160
"""Characters of a line or paragraph in which a date may stand."""
_SHORT = 60
"""Characters of lines that stand for themselves without blank lines between them, at most."""
_MARKUP = "*_#>(){}[]~`:.| \t"
_WEEKDAY = re.compile(
    r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? |[^\W\d_]{4,12}(?:tag|woch|di|dag),? ",
    re.IGNORECASE,
)
_THIS = (
    r"(?:(?:(?:this|the) )?(?:document|page|article|text|version|edition|revision|draft|report"
    r"|policy|paper|post|memo|minutes|agreement|contract|lease|invoice|letter|certificate|offer)"
    r"(?: v?\d[\w.]{0,11})?[ ,]+)?"
    r"(?:(?:was|is|were) )?(?:(?:first|last|lastly|originally|initially|most recently) )?"
)
_NAMED = r"[^\W\d_a-z][\w.'’-]{1,30}"
_PLACE = rf"(?-i: (?:in|at|à|a|en|i|zu|te) {_NAMED}(?: {_NAMED})?,?)?"
_AT = (
    rf"{_PLACE}(?: ?[:;]| on| in| at| as of| am| vom| le| el| il| em| den| du| del| av| fra| the)?"
    r" (?:the |den |le |el )?"
)
_CHANGED = re.compile(
    rf"{_THIS}(?:updated|revised|modified|changed|edited|amended|reviewed|update|revision"
    rf"|modification|change){_AT}",
    re.IGNORECASE,
)
_LETTERHEAD = re.compile(
    rf"{_NAMED}(?: {_NAMED}){{0,3}} ?(?:\([\w ]{{1,30}}\))?,? (?:the |den |le |el |il |am |an? )?"
)
"""A place before the date of a letter: "Lund, 8 January 2026", "Stockholm den 6 juni 2017"."""
_LONGEST_LABEL = 30
_CLOSING = 1000
"""Characters of the end of a text, in which it may be signed."""
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
"""Markdown's, which needs no blank line after it."""
_SEPARATOR = re.compile(r" [|·•—–-] |; ")
_RANGE = re.compile(
    rf"\d{{1,2}} ?[-–] ?(?P<a>\d{{1,2}},? (?:{MONTH})\.?,? [12]\d{{3}})"
    rf"|(?P<b>(?:{MONTH})\.? \d{{1,2}}) ?[-–] ?\d{{1,2}}(?P<year>,? [12]\d{{3}})",
    re.IGNORECASE,
)
"""Days of one month: what they have in common is the month."""
_NUMERIC_OPENING = re.compile(
    r"[12]\d{3}-\d\d-\d\d(?!\d)|\d{1,2}([./-])\d{1,2}\1(?P<year>[12]\d{3}|[4-9]\d)(?!\d)"
)


class _Roles(NamedTuple):
    """What words make of the date beside them."""

    made: re.Pattern[str]
    """Begins a statement of when the text was made."""
    label: re.Pattern[str]
    """The same within a line: "Invoice 1187, date: 5 March 2024"."""
    name: re.Pattern[str]
    """What the label says alone."""
    of: re.Pattern[str]
    """Begins a text that is of a day: "Minutes of the meeting held on 14 March 2024"."""
    held: re.Pattern[str]
    """Begins the line behind such a heading: "Held on 14 March 2024 in the hall"."""
    signed: re.Pattern[str]
    """The same as `made` at the end of a text, where its date follows a verb."""
    other: re.Pattern[str]
    """Says that a date is of something else."""


@cache
def _roles() -> _Roles:
    lists = read_word_lists("clew.times", "roles.toml").values()

    def every(name: str) -> str:
        words = dict.fromkeys(word for one in lists for word in one[name].split())
        return "|".join(re.escape(w).replace("\\-", " ") for w in sorted(words, key=len)[::-1])

    verbs, labels = every("made"), every("label")
    meeting = r"(?:meeting|session|call)(?: was)? (?:started|held|opened|took place)"
    return _Roles(
        made=re.compile(
            rf"(?:{_THIS}(?:{verbs})(?!\w)|(?:{labels})(?= ?:| vom)"
            rf"|{meeting}(?: by [\w.-]{{1,40}})?){_AT}",
            re.IGNORECASE,
        ),
        label=re.compile(
            rf"(?:[,;|\t]|\s[-–—·])\s*(?:{labels})(?: of \w{{1,20}})? ?:\s*", re.IGNORECASE
        ),
        name=re.compile(labels, re.IGNORECASE),
        of=re.compile(rf"(?:meeting )?(?:{every('of')})(?!\w)", re.IGNORECASE),
        held=re.compile(rf"(?:(?:{every('held')})(?: was)?(?!\w) ?){{1,2}}{_AT}", re.IGNORECASE),
        signed=re.compile(rf"{_THIS}(?:{verbs})(?!\w){_AT}", re.IGNORECASE),
        other=re.compile(rf"(?<!\w)(?:{every('other')})(?!\w)|[*†] ?\d", re.IGNORECASE),
    )


def is_of_something_else(words: str) -> bool:
    """Whether a date beside these words is of a birth, a deadline or a foundation."""
    return _roles().other.search(words) is not None


def title_date(title: str, *, day_first: bool | None = None) -> PartialDate | None:
    """The date of a text that its title states; None where it is that of something else."""
    return None if is_of_something_else(title) else find_date(title, day_first=day_first)


def opening_date(text: str, *, day_first: bool | None = None) -> PartialDate | None:
    """The date that the first lines of a text state of it, else the one with which it is signed.

    A date that stands alone on its line, behind a place ("Lund, 8 January 2026"), behind a label
    ("Invoice date: 2026-01-08") or a verb: "Version 1.0 ratified on December 2nd, 1998.", "Last
    updated: 2020-05-06", "Minutes of the meeting on 2 May 2020". What was made goes before what was
    changed. None where several lines are dates: each heads an entry. A birthday, a deadline and the
    date of a foundation are not the text's own.
    """
    roles = _roles()
    alone = set[PartialDate]()
    changed: PartialDate | None = None
    before, of_a_day = "", False
    for words in _statements(text[:_BEGINNING]):
        # A label in a cell or on a line of its own.
        labelled, of_else = roles.name.fullmatch(before), is_of_something_else(before)
        before = words if len(words) <= _LONGEST_LABEL else ""
        made, change = roles.made.match(words), _CHANGED.match(words)
        held = roles.held.match(words) if of_a_day else None
        verb = made or change or held or roles.label.search(words)
        date, end = _leading_date(words, verb.end() if verb else 0, day_first)
        if date and change and not made:
            changed = changed or date
        elif date and (verb or labelled):
            return date
        elif of_else or is_of_something_else(words):
            continue
        elif roles.of.match(words):
            of_a_day = True
            if found := find_date(words, day_first=day_first):
                return found
        elif date and end == len(words):
            alone.add(date)
        elif found := _letterhead(words, day_first):
            alone.add(found)
    return changed or (alone.pop() if len(alone) == 1 else None) or _signed(text, day_first)


def _letterhead(words: str, day_first: bool | None) -> PartialDate | None:
    """The day that ends a line, or a first sentence, which begins with a place."""
    place = _LETTERHEAD.match(words)
    for start in {place.end(), words.rfind(",") + 2} if place else ():
        date, end = _leading_date(words, start, day_first)
        whole = end == len(words) <= _SHORT
        dateline = place and start == place.end() and words.startswith(". ", end)
        if date and date.precision == "day" and (whole or dateline):
            return date
    return None


def _signed(text: str, day_first: bool | None) -> PartialDate | None:
    """The date with which a text is signed: "Drawn up in Lund on 8 January 2026"."""
    found = set()
    for words in _statements(text[-_CLOSING:].partition("\n")[2]):
        if verb := _roles().signed.match(words):
            found.add(_leading_date(words, verb.end(), day_first)[0])
    found.discard(None)
    return found.pop() if len(found) == 1 else None


def _statements(text: str) -> Iterator[str]:
    """The first lines, without markup, and the paragraphs that are sentences over several lines."""
    left = _LINES
    text = _HEADING.sub(lambda heading: f"\n{heading.group()}\n", text)
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = [words for line in paragraph.split("\n") if (words := _bare(line))]
        # Among lines that fill the page's width, one goes on with the sentence of the other.
        if len(lines) == 1 or max(map(len, lines), default=0) <= _SHORT:
            for line in lines[:left]:
                yield from map(_bare, _SEPARATOR.split(line[:_LONGEST_OPENING]))
        if len(lines) > 1:
            yield " ".join(lines)[:_LONGEST_OPENING]
        left -= len(lines)
        if left <= 0:
            return


def _bare(line: str) -> str:
    return " ".join(line.split()).strip(_MARKUP)


def _leading_date(words: str, start: int, day_first: bool | None) -> tuple[PartialDate | None, int]:
    """The date that begins there, and where it ends."""
    weekday = _WEEKDAY.match(words, start)
    start = weekday.end() if weekday else start
    if match := _RANGE.match(words, start):
        day = find_date(match["a"] or match["b"] + match["year"])
        return (PartialDate(day.start.replace(day=1), "month") if day else None), match.end()
    if match := _NUMERIC_OPENING.match(words, start):
        date, year = to_date(match.group(), day_first=day_first), match["year"]
        if date is None and year:  # nobody knows which number is the month
            date = to_date(int(year) + (1900 if len(year) == 2 else 0))
        return date, match.end()
    named = [(end, at) for at, end, _ in find_names(words[start:]) if at == 0]
    end = start + max(named)[0] if named else start
    return find_date(words[start:end]), end


# When a text was written, from what its metadata says.


_WRITTEN = (
    *("created_at", "created", "date", "timestamp", "ts", "time", "sent_at", "sent"),
    *("published_at", "published", "date_published", "publication_date"),
)
_SEPARATORS_WRITTEN = re.compile(r"[\s_-]+")
_LONGEST_WRITTEN = 100
"""Characters of a written date, at most."""
_DIGITS = re.compile(r"[+-]?\d+(?:\.\d+)?")
_KEYWORD = re.compile(r"\$(?:Date|LastChangedDate): ([^($]+?) ?(?:\([^()$]*\) ?)?\$")
"""Of RCS, CVS and Subversion."""
_ISO_MONTH = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])")
_YEAR_WRITTEN = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|(?<!\d)[12]\d{7}(?!\d)")
"""What a date must hold: two digits may be a year, a month or a day."""
_NUMERIC_WRITTEN = re.compile(r"(?<!\d)(\d{1,2})([./-])(\d{1,2})\2([12]\d{3})(?!\d)")
_YEAR_FIRST = re.compile(r"[12]\d{3}[./-]")
_APART: tuple[tuple[str, DatePrecision], ...] = (
    ("month", "year"),
    ("day", "month"),
    ("hour", "day"),
)
"""A field that a text leaves out, and the precision that it then has."""


def date_of(metadata: Metadata, default: PartialDate | None = None) -> PartialDate | None:
    """When a document or a passage with this metadata was written.

    The first of `created_at`, `created`, `date`, `timestamp`, `ts`, `time`, `sent_at`, `sent`,
    `published_at`, `published`, `date_published` and `publication_date` (in any case, words joined
    by anything) that `to_date` understands; else the default.
    """
    if metadata:
        named = {_SEPARATORS_WRITTEN.sub("_", name.strip().casefold()): name for name in metadata}
        for name in _WRITTEN:
            found = to_date(metadata[named[name]]) if name in named else None
            if found is not None:
                return found
    return default


def to_time(value: object) -> datetime | None:
    """The first moment, in UTC, of the date that `to_date` understands; None for none."""
    found = to_date(value)
    return None if found is None else found.start


def to_date(value: object, *, day_first: bool | None = None) -> PartialDate | None:
    """The date that a value of metadata names, with its precision; None where it names none.

    Understood are ISO 8601, the usual written forms with a year ("5 May 2021", "2-Mar-2019"), bare
    years, and seconds or milliseconds since 1970. A time without a zone is taken for UTC. Of
    `03/04/2019` nobody knows the month: it is no date unless `day_first` says how to read it. What
    a version control system fills in (`$Date: 2024-08-15 23:39:34 +0200 (…) $`) counts as well.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _number_date(value)
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_WRITTEN:
        return None
    text = value.strip()
    if keyword := _KEYWORD.fullmatch(text):
        text = keyword[1]
    if month := _ISO_MONTH.fullmatch(text):
        return PartialDate(datetime(int(month[1]), int(month[2]), 1, tzinfo=UTC), "month")
    try:
        time = in_utc(datetime.fromisoformat(text))
    except ValueError:
        number = _DIGITS.fullmatch(text)
        return _number_date(float(text)) if number else _written_date(text, day_first)
    return PartialDate(time, "day" if len(text) <= len("2019-03-02") else "time")


def day_order(text: str) -> bool | None:
    """Whether numeric dates of a text ("25/04/2019") put the day first; None where none tells."""
    # "05/05/2019" tells nothing, and full stops are a custom of their own.
    telling = (m for m in _NUMERIC_WRITTEN.finditer(text) if m[2] != "." and int(m[1]) != int(m[3]))
    orders = set(map(_order, telling)) - {None}
    return orders.pop() if len(orders) == 1 else None


def _order(match: re.Match[str]) -> bool | None:
    """Whether the day comes first in a numeric date; None where both orders are possible."""
    return day_comes_first(int(match[1]), int(match[3]), match[2])


def _number_date(value: float) -> PartialDate | None:
    if 1000 <= value <= 9999 and value == int(value):
        return PartialDate(datetime(int(value), 1, 1, tzinfo=UTC), "year")
    seconds = value / 1000 if value >= 1e11 else value
    if not 1e8 <= seconds < 1e11:
        return None
    return PartialDate(datetime.fromtimestamp(seconds, UTC), "time")


def _written_date(text: str, day_first: bool | None) -> PartialDate | None:
    """A date in words. What differs under two defaults is what the text leaves out."""
    from dateutil import parser

    numeric = _NUMERIC_WRITTEN.search(text)
    order = _order(numeric) if numeric else None
    order = day_first if order is None else order
    if not _YEAR_WRITTEN.search(text) or (numeric and order is None):
        return None
    is_day_first = bool(order) and not _YEAR_FIRST.match(text)
    try:
        one, other = (
            parser.parse(text, default=default, tzinfos=_zone, dayfirst=is_day_first)
            for default in (datetime(1, 1, 1), datetime(4, 2, 2, 1))
        )
    except (ValueError, OverflowError):
        return None
    if one.year != other.year:
        return None
    left_out = (p for name, p in _APART if getattr(one, name) != getattr(other, name))
    precision: DatePrecision = next(left_out, "time")
    # A zone says nothing of a date without a time.
    start = in_utc(one if precision == "time" else one.replace(tzinfo=UTC))
    return PartialDate(start, precision)


def _zone(_name: str | None, offset: int | None) -> tzinfo:
    """Zones by their offset; a name alone ("CST") is ambiguous and is taken as UTC."""
    if offset is None or abs(offset) >= 86_400:
        return UTC
    return timezone(timedelta(seconds=offset))
