"""The headings of a text and where each one's part begins: Markdown, Setext, reStructuredText."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from clew.text import one_line, sentences
from clew.times import DAY, MONTH, find_date, find_yearless, is_of_something_else, to_date
from clew.types import Document, PartialDate

Trail = tuple[str, ...]

_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*[|+][^\n]*(?:\n[ \t]*[|+][^\n]*)+", re.MULTILINE)
_ATX = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>[^\s][^\n]*)", re.MULTILINE)
_UNDERLINED = re.compile(
    r"""(?:\A|(?<=\n\n)|(?<=\n[ \t]\n)|(?P<over>^(?P<rule>[=\-~^"'`*+#<>_:.])(?P=rule){2,})\n)
    [ ]{0,3}(?P<title>[^\s|#][^\n]*)\n
    (?P<under>[=\-~^"'`*+#<>_:.])(?P=under){2,}[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\([^)]{0,300}+\)|\[[^\[\]]*+\])")
_ANCHOR = re.compile(r"(?<!\s)\s*+\{[#.][^{}]*+\}$")
_LONGEST_TITLE = 300
_RESTRUCTURED = frozenset({"text/x-rst", "text/prs.fallenstein.rst"})
_MARKDOWN_UNDERLINES = "=-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading; `level` 1 is outermost."""

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Outline:
    """From `starts[i]` on, `trails[i]` holds; starts ascend, the first is 0."""

    starts: tuple[int, ...]
    trails: tuple[Trail, ...]

    def trail(self, start: int, end: int) -> Trail:
        """The headings that all of `[start, end)` lies under."""
        return common_trail(self.trails_within(start, end))

    def trails_within(self, start: int, end: int) -> list[Trail]:
        """The trails that hold within `[start, end)`, in order."""
        first = bisect_right(self.starts, start) - 1
        return list(self.trails[first : max(bisect_left(self.starts, end), first + 1)])


class Cut(NamedTuple):
    """Where a document that is no prose may be cut."""

    outline: Outline
    """What each part of it lies in, as under headings."""
    units: Iterable[Unit]
    """In order; asked for only where the document is not one passage."""
    always: Break | None = None
    """A border of this strength ends a passage however short it is; None: what fits is one."""


def common_trail(trails: Sequence[Trail]) -> Trail:
    """The headings that all of the trails (at least one) begin with."""
    first, last = min(trails), max(trails)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first if length is None else first[:length]


def fences(text: str) -> list[tuple[int, int]]:
    """Ranges of fenced code blocks, fences included; an open fence runs to the end."""
    found: list[tuple[int, int]] = []
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        if opening is None:
            # Tildes do so after a blank line only: elsewhere they underline a heading.
            start, end = line.span()
            ticks = line["mark"][0] == "`"
            opening = (
                line
                if (end < len(text) and (ticks or start == 0 or text.endswith("\n\n", 0, start)))
                else None
            )
        elif line["mark"].startswith(opening["mark"]) and not line["rest"].strip("`~ \t"):
            found.append((opening.start(), line.end()))
            opening = None
    if opening is not None:
        found.append((opening.start(), len(text)))
    return found


def tables(text: str) -> list[tuple[int, int]]:
    """Ranges of tables drawn with bars: two or more lines in a row that begin with `|` or `+`."""
    if "\n|" not in text and "\n+" not in text and "\n " not in text:
        return []
    return [match.span() for match in _TABLE.finditer(text)]


def headings(text: str, media_type: str) -> list[Heading]:
    """Headings in order; lines of fenced code are none.

    Setext underlines count in any text (`=` above `-`). In reStructuredText every adornment
    does, and levels follow the order in which adornments first appear.
    """
    found = []
    marked = media_type not in _RESTRUCTURED and "#" in text
    for match in _ATX.finditer(text) if marked else ():
        # Without the marks that may close it; the `#` of a word stays.
        whole, level = match["title"].rstrip(), len(match["marks"])
        title = whole.rstrip("#")
        title = _plain(title.rstrip() if title[-1:] in {"", " ", "\t"} else whole)
        found.append(Heading(start=match.start(), end=match.end(), level=level, title=title))
    found += _underlined(text, media_type)
    if not found:
        return []
    fenced = [] if media_type in _RESTRUCTURED else fences(text)
    starts = [start for start, _ in fenced]
    outside = [
        one
        for one in found
        if not (before := bisect_right(starts, one.start)) or one.start >= fenced[before - 1][1]
    ]
    return sorted(outside, key=lambda heading: heading.start)


def outline(found: Iterable[Heading]) -> Outline:
    """The trails that headings, given in order, make."""
    starts: list[int] = [0]
    trails: list[Trail] = [()]
    above: list[Heading] = []
    for heading in found:
        above = [h for h in above if h.level < heading.level] + [heading]
        trail = tuple(h.title for h in above)
        if heading.start == 0:
            trails[0] = trail
        else:
            starts.append(heading.start)
            trails.append(trail)
    return Outline(tuple(starts), tuple(trails))


def _underlined(text: str, media_type: str) -> list[Heading]:
    restructured = media_type in _RESTRUCTURED
    if not restructured and "\n===" not in text and "\n---" not in text:
        return []
    found = []
    order: list[tuple[str, bool]] = []
    for match in _UNDERLINED.finditer(text):
        style = (match["under"], bool(match["over"]) and restructured)
        if not restructured and style[0] not in _MARKDOWN_UNDERLINES:
            continue
        if style not in order:
            order.append(style)
        level = order.index(style) + 1 if restructured else 1 + _MARKDOWN_UNDERLINES.index(style[0])
        title = _plain(match["title"].rstrip())
        found.append(Heading(start=match.start(), end=match.end(), level=level, title=title))
    return found


def _plain(title: str) -> str:
    """The words of a heading without links, anchors and emphasis."""
    words = _LINK.sub(r"\1", title[:_LONGEST_TITLE])
    return _ANCHOR.sub("", words).replace("**", "").replace("`", "").strip(" *_")


# Parts of a text that have dates of their own: entries of change logs, journals and minutes.


_ENTRY = re.compile(r"(?:\A|(?<=\n\n)|(?<=\n[ \t]\n))\S[^\n]{5,120}(?=\n|\Z)")
"""A line behind a blank one that nothing indents; lines of a log follow each other."""
_HAS_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_AT_START = re.compile(
    r"[\[(]?[12]\d{3}[-/.]\d\d[-/.]\d\d|\w{3},? \w{3} +\d{1,2} \d\d:"
    r"|\d{1,2}\.? \w{3,9} [12]\d{3}"
)
_AT_END = re.compile(r"[(\[][^()\[\]]{6,40}[)\]]:?$|[-–—] ?[12]\d{3}-\d\d-\d\d$")
_NAMED_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_OPENING = re.compile(
    r"^(?:(?P<apart>(?<=\n\n)|\A|[ \t]{0,3}(?:[-*+•] +|#{1,6} +)[*_\[(]{0,3}|[*_\[(]{1,3})|)"
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? )?"
    rf"(?P<date>{DAY}(?: of)? (?:{MONTH})|(?:{MONTH})\.? {DAY})(?!\w|\.?,? ?[12]\d{{3}})"
    # A sign behind it; a full stop or nothing may end a sentence that began on the line before.
    r"(?=\.?(?:[*_\])\t]| ?[:–—|-]|  )|(?(apart)(?:\. |\.?[ \t]*$)|(?!)))",
    re.MULTILINE | re.IGNORECASE,
)
"""The day, without its year, that opens an entry of a diary: "**4 Oct** …", "- 12 March – …"."""
_MOST_OF_A_YEAR = 9
"""Months."""
_LABELLED = re.compile(
    r"\s{1,4}[*_]{0,2}(?:\w{1,12} )?[Dd]ated?[*_]{0,2} ?:[*_]{0,2} ?(?P<date>[^\n*_]{6,40})"
)
"""What may stand below a heading: "*Release date: 2022-12-06*"."""
_TRAILER = re.compile(r"^ -- [^\n]{1,200}>,? {1,2}(?P<date>[^\n]{10,60})$", re.MULTILINE)
"""The end of an entry of Debian's change logs, which dates what stands above it."""
_FEWEST = 2
"""Dated parts of a text, at least: one alone may date all of it."""


class DatedSection(NamedTuple):
    """A part of a text that is of a day or a month, up to the next one."""

    start: int
    date: PartialDate | None
    """None for what stands between dated parts and is under none of them."""


def dated_sections(document: Document) -> list[DatedSection]:
    """The parts of a text that are dated apart, in order; none where its parts have no dates.

    Headings that name one day or month date what stands below them, up to the next heading of
    their level; so do lines that open with a day whose year is named above them, and in plain text
    lines that begin or end with a date.
    """
    text = document.text
    if document.pieces or not any(map(_HAS_YEAR.search, (document.title, document.source, text))):
        return []
    start = 0
    sections = []
    for match in _TRAILER.finditer(text) if " -- " in text else ():
        sections.append(DatedSection(start, find_date(match["date"])))
        start = match.end()
    is_plain = document.media_type == "text/plain"
    lines = (
        line for line in _ENTRY.finditer(text if is_plain else "") if _HAS_YEAR.search(line[0])
    )
    by_lines = [
        DatedSection(line.start(), date)
        for line in lines
        if (_AT_START.match(line[0]) or _AT_END.search(line[0]))
        and not is_of_something_else(line[0])
        and (date := find_date(line[0]))
    ]
    # Days go before the months that head them.
    apart = sorted(
        (_by_headings(document), _by_openings(document)),
        key=lambda found: not any(one.date and one.date.precision == "day" for one in found),
    )
    for found in (sections, *apart, by_lines):
        if len({section.date for section in found if section.date}) >= _FEWEST:
            return found
    return []


def _by_openings(document: Document) -> list[DatedSection]:
    """The entries that lines open with a day without a year, where something above names the year.

    The nearest heading that does, else the title, else the name of the file. Below one heading an
    entry that goes back by most of a year is of the next: January behind December.
    """
    text, tops = document.text, headings(document.text, document.media_type)
    starts = [top.start for top in tops]
    names = (PurePosixPath(document.source).name, document.title, *(top.title for top in tops))
    named = [next(map(int, _NAMED_YEAR.findall(name)), 0) for name in names]
    sections: list[DatedSection] = []
    year = month = turns = 0
    for opening in _OPENING.finditer(text):
        above, one = bisect_right(starts, opening.start()), next(find_yearless(opening["date"]))
        before, year = year, next(filter(None, named[above + 1 :: -1]), 0)
        turns = turns + (month - one.month >= _MOST_OF_A_YEAR) if year == before else 0
        month = one.month
        date = to_date(f"{year + turns}-{one.month:02}-{one.day:02}") if year else None
        # A heading with nothing below it but the entry belongs to it.
        heads = above and not text[tops[above - 1].end : opening.start()].strip()
        sections.append(DatedSection(starts[above - 1] if heads else opening.start(), date))
    # Any other heading ends the entry above it.
    begun = {section.start for section in sections}
    ends = [start for start in starts if start not in begun and start > min(begun, default=start)]
    return sorted([*sections, *(DatedSection(start, None) for start in ends)], key=itemgetter(0))


def _by_headings(document: Document) -> list[DatedSection]:
    sections: list[DatedSection] = []
    level = None
    for heading in headings(document.text, document.media_type):
        date = None if is_of_something_else(heading.title) else find_date(heading.title)
        if below := None if date else _LABELLED.match(document.text, heading.end):
            date = None if is_of_something_else(below.group()) else find_date(below["date"])
        if date and (level is None or heading.level <= level):
            level = heading.level
        if date and heading.level == level:
            sections.append(DatedSection(heading.start, date))
        elif level is not None and heading.level <= level:
            sections.append(DatedSection(heading.start, None))
    return sections


def date_within(sections: list[DatedSection], start: int, end: int) -> PartialDate | None:
    """The date of `[start, end)`: the day, else the month, else the year of all that it reaches.

    What stands above the first entry belongs to it, where one passage holds both.
    """
    first = max(0, bisect_right(sections, start, key=lambda section: section.start) - 1)
    last = bisect_right(sections, end - 1, key=lambda section: section.start)
    dates = [section.date for section in sections[first:last]]
    if end <= sections[0].start or None in dates:
        return None
    for length in map(len, ("2024-03-05", "2024-03", "2024")):
        shared = {date.iso[:length] for date in dates if date}
        if len(shared) == 1 and len(min(shared)) == length:
            return to_date(shared.pop())
    return None


# The smallest parts that splitting puts together: sentences, blocks, groups of words.


Weigh = Callable[[str], int]
"""The tokens of a text, or a little more where the tokenizer makes light of it."""

# A tokenizer that meets a run that it does not know (a base64 blob) may call it one token.
CHARACTERS_A_TOKEN = 12
"""A text of more characters a token than this counts as more tokens."""
_WORDS = re.compile(r"(?:\S+[^\S\n]*){1,8}\s*")
_BLANK_LINE = re.compile(r"\n\s*\n")
_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z])[.)]")
_BLANKS = re.compile(r"\s+")
_CLAUSE_END = re.compile(r"[,;:、，；：]")
_ZERO_WIDTH_JOINER = "\u200d"


class Break(IntEnum):
    """How good a place the start of a unit is to split at."""

    GLUE = 0
    """It belongs to what stands before: a heading's first sentence, a closing brace."""
    WORD = 1
    LINE = 2
    SENTENCE = 3
    PARAGRAPH = 4
    MEMBER = 5
    """A function within a class."""
    PAGE = 6
    TOPIC = 7
    HEADING = 8
    """A heading, or a definition at the top level of code. Nothing overlaps across it."""
    PIECE = 9
    """A ready-split piece of a document."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A range that is never cut again, blank edges left out."""

    start: int
    end: int
    weight: int
    strength: Break
    """Of the border before it."""


def meter(count_tokens: Callable[[str], int]) -> Weigh:
    """Tokens of a text, at least one for every 12 characters begun."""

    def weigh(text: str) -> int:
        return max(count_tokens(text), -(-len(text) // CHARACTERS_A_TOKEN))

    return weigh


def prose_units(
    text: str, start: int, end: int, weigh: Weigh, limit: int, language: str = ""
) -> list[Unit]:
    """Sentences, fenced code and tables of `text[start:end]`, each of at most `limit` tokens.

    What is too long is divided into lines or groups of words. `language` is the text's.
    """
    found: list[Unit] = []
    for left, right, whole in _blocks(text, start, end):
        parts = [stripped(text, left, right)] if whole else []
        for a, b in () if whole else sentences(text[left:right], language):
            # The number of a list's item together with its first sentence.
            if parts and _LIST_NUMBER.fullmatch(text, *parts[-1]):
                parts[-1] = (parts[-1][0], left + b)
            else:
                parts.append((left + a, left + b))
        for a, b in parts:
            strength = (
                Break.PARAGRAPH
                if _BLANK_LINE.search(text[found[-1].end if found else start : a])
                else Break.SENTENCE
            )
            found.extend(divide(text, a, b, weigh, limit, strength))
    return found


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without its blank edges; empty where all of it is blank."""
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    return left, max(left, start + len(part.rstrip()))


def divide(
    text: str, start: int, end: int, weigh: Weigh, limit: int, strength: Break
) -> Iterator[Unit]:
    """The range itself where it has at most `limit` tokens, else its groups of words."""
    if end - start <= limit * CHARACTERS_A_TOKEN:
        weight = weigh(text[start:end])
        if weight <= limit:
            yield Unit(start, end, weight, strength)
            return
    for unit in word_units(text, start, end, weigh, limit):
        yield replace(unit, strength=strength) if unit.start == start else unit


def word_units(text: str, start: int, end: int, weigh: Weigh, limit: int) -> Iterator[Unit]:
    """Groups of up to eight words of one line, fine enough to fill a chunk well and to overlap.

    A group over an eighth of `limit` is halved; a single word only where it is over `limit`.
    """
    for match in _WORDS.finditer(text, start, end):
        left, right = stripped(text, *match.span())
        at_line = left == 0 or text[left - 1] == "\n"
        strength = Break.LINE if at_line else Break.WORD
        yield from _halve(text, left, right, weigh, limit, strength)


def _halve(
    text: str, start: int, end: int, weigh: Weigh, limit: int, strength: Break
) -> Iterator[Unit]:
    between_words = [m.end() for m in _BLANKS.finditer(text, start, end)]
    most = max(1, limit // 8) if between_words else limit
    if end - start <= most * CHARACTERS_A_TOKEN or end - start == 1:
        weight = weigh(text[start:end])
        if weight <= most or end - start == 1:
            yield Unit(start, end, weight, strength)
            return
    middle = _cut(text, start, end, between_words)
    yield from _halve(text, *stripped(text, start, middle), weigh, limit, strength)
    yield from _halve(text, middle, end, weigh, limit, Break.WORD)


def _cut(text: str, start: int, end: int, between_words: Sequence[int]) -> int:
    """Where to halve: between words, else after a comma, else between two visible characters."""
    middle = (start + end) // 2
    borders = between_words or [
        match.end() for match in _CLAUSE_END.finditer(text, start, end) if match.end() < end
    ]
    if borders:
        return min(borders, key=lambda border: abs(border - middle))
    cut = middle
    # A character that is drawn as one with the character before it stays with that.
    while cut < end and (
        unicodedata.category(text[cut]) in {"Mn", "Mc", "Me"}
        or "\U0001f3fb" <= text[cut] <= "\U0001f3ff"
        or _ZERO_WIDTH_JOINER in text[cut - 1 : cut + 1]
    ):
        cut += 1
    return cut if cut < end else middle


def _blocks(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Ranges in order, and whether each is a block to be kept whole."""
    part = text[start:end]
    fenced = fences(part)
    # The spans that overlap none of the others; both in order and without overlap.
    whole = sorted(
        [
            *fenced,
            *[
                (a, b)
                for a, b in tables(part)
                if not (i := bisect_left(fenced, b, key=itemgetter(0))) or fenced[i - 1][1] <= a
            ],
        ]
    )
    at = 0
    for left, right in whole:
        if at < left:
            yield start + at, start + left, False
        yield start + left, start + right, True
        at = right
    if at < len(part):
        yield start + at, end, False


def mark(units: Iterable[Unit], strengths: dict[int, Break]) -> list[Unit]:
    """The units, those that start at one of the offsets with the strength given for it."""
    return [
        replace(unit, strength=strengths[unit.start]) if unit.start in strengths else unit
        for unit in units
    ]


MEDIA_TYPE = "text/markdown"
# What stands in a span of code is none of the others, and so comes first.
_MARK = re.compile(
    r"""(?P<code>`{1,9}+[^`\n]{1,500}+`{1,9}+)
    |(?P<comment>%%[^%]{1,2000}+%%)
    |(?P<wiki>!?\[\[(?P<note>[^\[\]|\#\n]{0,200}+)(?P<part>\#[^\[\]|\n]{0,200}+)?
        (?:\|(?P<alias>[^\[\]\n]{0,200}+))?\]\])
    |(?P<callout>^[ ]{0,3}(?:>[ ]?){1,9}+\[![A-Za-z-]{1,30}+\][+-]?)
    |(?P<link>!?\[(?P<label>[^\[\]]{0,300}+)\]
        \((?:<(?P<quoted>[^<>\n]{0,500}+)>|(?P<address>[^()<>\s]{0,500}+))
        (?:[ ]{1,9}"[^"\n]{0,300}+")?\))
    |(?P<block>[ ]\^[A-Za-z0-9-]{1,50}+$)
    |(?:(?<=\s)|^)\#(?P<tag>[^\W\d][\w/-]{0,99}+|\d[\w/-]{0,20}?[^\W\d][\w/-]{0,79}+)""",
    re.VERBOSE | re.MULTILINE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}+:|//")
_NO_TEXT = frozenset(
    ".apng .avif .bmp .css .gif .ico .jpeg .jpg .js .mov .mp3 .mp4 .ogg .png .svg .wav .webm .webp"
    " .zip".split()
)
_MOST_TAGS = 200
"""Tags of a document: filters read all of them, and every hit shows them."""
_SEPARATOR = re.compile(r"[,\s]+")


class Marked(NamedTuple):
    """A link to another document, or an inline tag."""

    start: int
    """Character range in the text: of the whole link, or of the tag with its `#`."""
    end: int
    name: str
    """The tag's; of a link the other document's: the title that a file of that name has."""


def links(text: str) -> Iterator[Marked]:
    """Links to other documents, embedded ones among them; not to addresses, images or itself."""
    for match in _marks(text):
        if match["wiki"]:
            target = _document_name(match["note"])
        elif match["link"]:
            address = match["quoted"] or match["address"] or ""
            path = unquote(address.partition("#")[0].partition("?")[0]).rstrip("/")
            target = "" if _SCHEME.match(address) else _document_name(path)
        else:
            continue
        if target:
            yield Marked(*match.span(), target)


def inline_tags(text: str) -> Iterator[Marked]:
    """`#tags` outside of code; a number alone is none."""
    for match in _marks(text):
        if match["tag"]:
            yield Marked(*match.span(), match["tag"].rstrip("/-"))


def masked(text: str) -> str:
    """The text with blanks for what no reader is shown: the same length, the words in place.

    Of a link the label stays, of an embedded note its name, of a callout its title. Comments and
    block ids go; code stays as it is.
    """
    pieces, at = [], 0
    for match in _marks(text):
        # The range of a mark that is shown; None where all of it is.
        if match["tag"]:
            shown = None
        elif match["wiki"]:
            name = next(
                (n for n in ("alias", "note", "part") if (match[n] or "").strip("# ")), "note"
            )
            shown = match.span(name)
        elif match["link"]:
            shown = match.span("label")
        elif match["callout"]:
            shown = match.end(), match.end()
        else:
            shown = match.start(), match.start()
        if shown is not None:
            start, end = shown
            pieces += [text[at : match.start()], _blank(text[match.start() : start])]
            pieces += [text[start:end], _blank(text[end : match.end()])]
            at = match.end()
    return "".join([*pieces, text[at:]]) if pieces else text


def listed_names(value: object) -> list[str]:
    """Tags or aliases of front matter: a list, or a text with commas; each once, without `#`."""
    values = value if isinstance(value, list) else str(value or "").split(",")
    names = (one_line(str(one)).lstrip("#") for one in values if one is not None)
    return list(dict.fromkeys(name for name in names if name))


def with_tags(metadata: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The metadata with all tags of a note in `tags`, those of its text among them."""
    stated = metadata.get("tags", metadata.get("tag"))
    if isinstance(stated, str) and "," not in stated:
        stated = _SEPARATOR.split(stated)
    tags = dict.fromkeys([*listed_names(stated), *(tag.name for tag in inline_tags(text))])
    return {**metadata, "tags": list(tags)[:_MOST_TAGS]} if tags else dict(metadata)


def title_from_name(name: str) -> str:
    """A file's name as a title: no ending, no underscores, hyphens kept between digits only."""
    stem = PurePosixPath(name).stem
    return one_line(re.sub(r"(?<!\d)-|-(?!\d)|_", " ", stem)) or stem


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Marks outside of code."""
    fenced = fences(text)
    starts = [start for start, _ in fenced]
    for match in _MARK.finditer(text):
        within = bisect_right(starts, match.start()) - 1
        is_code = within >= 0 and match.start() < fenced[within][1]
        if not is_code and not match["code"]:
            yield match


def _blank(text: str) -> str:
    return "".join("\n" if character == "\n" else " " for character in text)


def _document_name(path: str) -> str:
    name = path.strip().rsplit("/", 1)[-1]
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in _NO_TEXT or name.isdigit() or not name[:1].isalnum():
        return ""
    # "Version 1.5" has no ending.
    return title_from_name(name if suffix[1:].isalpha() and len(suffix) < 10 else f"{name}.md")
