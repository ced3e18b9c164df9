"""The date that the first lines of a text state of the text itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.times.found import find_date
from clew.times.names import MONTH, find_names
from clew.times.written import to_date
from clew.types import PartialDate

_BEGINNING = 4000
"""Characters that are read, at most."""
_LINES = 12
"""Lines with words that are the first ones."""
_LONGEST = 160
"""Characters of a line or paragraph in which a date may stand."""
_SHORT = 60
"""Characters of lines that stand for themselves without blank lines between them, at most."""
_MARKUP = "*_#>(){}[]~`:. \t"
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day,? ", re.IGNORECASE)
_THIS = (
    r"(?:(?:(?:this|the) )?(?:document|page|article|text|version|edition|revision|draft|report"
    r"|policy|paper|post|memo|minutes)(?: v?\d[\w.]{0,11})?[ ,]+)?"
    r"(?:(?:was|is|were) )?(?:(?:first|last|lastly|originally|initially|most recently) )?"
)
_AT = r"(?: ?:| on| in| at| as of| am| vom| le| el| il| em| den)? (?:the |den )?"
_MADE_ELSEWHERE = (
    r"(?:datum|stand|fecha|data)(?= ?:| vom)|geschrieben|erstellt|verfasst|veröffentlicht"
    r"|rédigée?|publiée?|écrite?|escrit[oa]|publicad[oa]|scritt[oa]|pubblicat[oa]|geschreven|gepubliceerd"
    r"|skrivet|publicerat"
)
"""The same in German, French, Spanish and Portuguese, Italian, Dutch and Swedish."""
_MADE = re.compile(
    rf"(?:{_THIS}(?:ratified|published|adopted|approved|accepted|released|issued|written|dated"
    r"|posted|created|enacted|signed|presented|submitted|drafted|effective|prepared|printed"
    r"|recorded)|(?:(?:publication|release|issue) )?date|(?:meeting|session|call)(?: was)?"
    rf" (?:started|held|opened|took place)(?: by [\w.-]{{1,40}})?|{_MADE_ELSEWHERE}){_AT}",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    rf"{_THIS}(?:updated|revised|modified|changed|edited|amended|reviewed|update|revision"
    rf"|modification|change){_AT}",
    re.IGNORECASE,
)
_OF_A_DAY = re.compile(
    r"(?:minutes|(?:meeting )?notes (?:from|of)|meeting notes|agenda|transcript"
    r"|(?:ergebnis)?protokoll|niederschrift|compte[- ]rendu|procès[- ]verbal|verbale|acta"
    r"|notulen)\b",
    re.IGNORECASE,
)
"""What a text begins with that is of one day: "Minutes of the meeting held on 14 March 2024"."""
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


def opening_date(text: str, *, day_first: bool | None = None) -> PartialDate | None:
    """The date that stands alone on one of the first lines, or that one states with a verb.

    "June 1992", "Version 1.0 ratified on December 2nd, 1998.", "Last updated: 2020-05-06",
    "Minutes of the meeting on 2 May 2020". What was made goes before what was changed. None where
    several lines are dates: each heads an entry.
    """
    alone = set[PartialDate]()
    changed: PartialDate | None = None
    for words in _statements(text[:_BEGINNING]):
        made, change = _MADE.match(words), _CHANGED.match(words)
        verb = made or change
        date, end = _leading_date(words, verb.end() if verb else 0, day_first)
        if not date and _OF_A_DAY.match(words):
            made, date = _OF_A_DAY.match(words), find_date(words, day_first=day_first)
        if date and made:
            return date
        if date and change:
            changed = changed or date
        elif date and end == len(words):
            alone.add(date)
    return changed or (alone.pop() if len(alone) == 1 else None)


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
