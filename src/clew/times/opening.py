"""The date that the first lines of a text state of the text itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from clew.times.found import find_date
from clew.times.names import MONTH, find_names
from clew.times.written import to_date
from clew.types import PartialDate
from clew.word_lists import read_word_lists

_BEGINNING = 4000
"""Characters that are read, at most."""
_LINES = 12
"""Lines with words that are the first ones."""
_LONGEST = 160
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
_NUMERIC = re.compile(
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
                yield from map(_bare, _SEPARATOR.split(line[:_LONGEST]))
        if len(lines) > 1:
            yield " ".join(lines)[:_LONGEST]
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
    if match := _NUMERIC.match(words, start):
        return _numeric_date(match, day_first), match.end()
    named = [(end, at) for at, end, _ in find_names(words[start:]) if at == 0]
    end = start + max(named)[0] if named else start
    return find_date(words[start:end]), end


def _numeric_date(match: re.Match[str], day_first: bool | None) -> PartialDate | None:
    """A date in numbers; its year where nobody knows which of them is the month."""
    date = to_date(match.group(), day_first=day_first)
    if date is None and (year := match["year"]):
        return to_date(int(year) + (1900 if len(year) == 2 else 0))
    return date
