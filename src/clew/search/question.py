"""What a question asks for: its terms, the entities, sections and period that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from clew.graph.snapshot import term_hashes
from clew.languages import read_word_lists
from clew.text import STOP_WORDS, entity_keys, fold, folded, question_terms, question_words, words
from clew.times.ranges import FoundRange, find_dates, find_ranges, hull
from clew.types import Period

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Protocol

    from clew.graph.snapshot import Floats, Ints, Snapshot
    from clew.types import Vector

    class Names(Protocol):
        """What analysis needs of a graph store."""

        def resolve(self, keys: Sequence[str]) -> Mapping[str, int]:
            """Entity id by key."""
            ...


MAX_TERMS = 64
"""Terms of a question that count; the rarest where there are more (a bit of a mask each)."""
MAX_WORDS = 400
"""Words of a question in which names are looked for."""
LONGEST_NAME = 10
"""Words of a name, at most."""

_MOST_PARTS = 5
"""Words that may be the parts of one identifier."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOKEN = re.compile(r"[^\W_]+")
_PLAIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9 ]*)([?!]?)")
_POSSESSIVE = re.compile(r"['’]s\b")
_PLURAL = re.compile(r"[a-z]{3}[^\W\dsui]s$")
_SIGN = re.compile(r"[^\w\s]")
_SIGNS_BEFORE = re.compile(r"(?<!\S)[^\w\s]+(?=\w)")
_SIGNS_AFTER = re.compile(r"[^\w\s]+(?!\w)|[^\w\s]*[^\w\s,.:;/&@'’\"()\[\]{}–—-]")
_SOFT_END = re.compile(r"[!?*]\Z")
_SOFT_SIGNS = re.compile("[!?*\u2032†‡§]+")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
"""A character of a script without spaces between words."""


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that the question names."""

    entity_id: int
    key: str
    row: int
    """Row in the snapshot."""
    idf: float
    """The entity's idf, or that of its words where these are more common."""
    weight: float
    """The idf times the trust (0 to 1) that the question means this entity by these words."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question as the later steps see it."""

    text: str
    terms: tuple[str, ...]
    """Search terms, each once."""
    term_rows: Ints
    """(t,) the terms that the store holds, as rows of the snapshot; at most `MAX_TERMS`."""
    term_idf: Floats
    """(t,)"""
    seeds: tuple[Seed, ...]
    vector: Vector
    words: int = 0
    """Words of the question, stop words aside."""
    unknown: int = 0
    """Those of them that no text of the store holds, in whatever form."""
    languages: frozenset[str] = frozenset()
    """Those of the store's texts; see `clew.text.question_terms`."""


def analyse(
    question: str,
    vector: Vector,
    snapshot: Snapshot,
    names: Names,
    languages: frozenset[str] = frozenset(),
) -> Analysis:
    """The question's terms and seeds; none of either is a legal outcome."""
    found = tuple(question_terms(question, languages))
    words = question_words(question, languages)
    rows = snapshot.term_rows(found)
    if len(rows) > MAX_TERMS:
        rows = rows[np.argsort(-snapshot.term_idf[rows], kind="stable")[:MAX_TERMS]]
    # Words of which the store holds no term.
    places = [place for place, word in enumerate(words) for _ in word]
    _, held = snapshot.find_terms(term_hashes([term for word in words for term in word]))
    known = {place for place, hit in zip(places, held.tolist(), strict=True) if hit}
    return Analysis(
        text=question,
        terms=found,
        term_rows=rows,
        term_idf=snapshot.term_idf[rows],
        seeds=find_seeds(question, snapshot, names, languages),
        vector=vector,
        words=len(words),
        unknown=len(words) - len(known),
        languages=languages,
    )


def find_seeds(
    question: str, snapshot: Snapshot, names: Names, languages: frozenset[str] = frozenset()
) -> tuple[Seed, ...]:
    """Entities whose key is one of the question's longest word sequences, in order of the text.

    A seed weighs its idf, but no more than its words do: "body" may be rare as an entity and yet a
    common word. One in small letters is trusted as far as its words are mostly that name here.
    """
    spans = list(_candidate_names(question))
    known = names.resolve(list(dict.fromkeys(span.key for span in spans)))
    rows = snapshot.entity_rows(list(known.values()))
    taken: set[int] = set()
    found: dict[int, _Span] = {}
    for span in sorted(spans, key=lambda s: (s.start - s.end, s.start)):
        row = rows.get(known.get(span.key, -1))
        if row is None or any(i in taken for i in range(span.start, span.end)):
            continue
        taken.update(range(span.start, span.end))
        found.setdefault(row, span)
    seeds = []
    for row, span in found.items():
        idf, trust = float(snapshot.entity_idf[row]), 1.0
        words = snapshot.term_rows(question_terms(span.key, languages))
        if len(words):
            idf = min(idf, float(snapshot.term_idf[words].sum()))
            if not span.named:
                holding = float(snapshot.term_frequency[words].min())
                trust = min(float(snapshot.entity_frequency[row]) / holding, 1.0)
        seeds.append(Seed(known[span.key], span.key, row, idf, idf * trust))
    return tuple(seeds)


def candidate_keys(question: str) -> list[str]:
    """The keys of every sequence of words that may be a name."""
    return list(dict.fromkeys(span.key for span in _candidate_names(question)))


class _Span(NamedTuple):
    """A sequence of words that may be a name."""

    start: int
    """First word."""
    end: int
    """Word after the last."""
    key: str
    named: bool
    """Whether a word of it is written as names are: not in small letters."""


class _Token(NamedTuple):
    """A word of a question."""

    word: str
    left: int
    """Where it starts, and the signs before it that stand at no other word."""
    right: int
    """Where it ends, and the signs after it."""


def _candidate_names(question: str) -> Iterator[_Span]:
    """Every sequence of words that may be a name."""
    for run in _runs_of_words(_POSSESSIVE.sub(" ", question)):
        start, end, written, named = run
        # A sign that tells names apart ("C++") is never left out; what may as well end the
        # sentence or stress the words ("Yahoo!") is tried without, too.
        if plain := _PLAIN.fullmatch(written):  # most are, and need no more to be told alike
            key = " ".join(plain[1].lower().split()).removeprefix("the ")
            keys = [f"{key}{plain[2]}", key]
        else:
            keys = entity_keys([written])
            if _SIGN.search(keys[0]):
                keys += entity_keys([_SOFT_END.sub("", keys[0]), _SOFT_SIGNS.sub(" ", keys[0])])
        for key in dict.fromkeys(keys):
            if len(key) < 2:
                continue
            yield _Span(start, end, key, named)
            if not named and _PLURAL.search(key):  # stored in the singular
                yield _Span(start, end, key[:-1], named)
            # An identifier by its parts: "read timeout" for `ReadTimeout`.
            if 1 < end - start <= _MOST_PARTS and key.isascii():
                yield _Span(start, end, key.replace(" ", ""), named)


def _runs_of_words(question: str) -> Iterator[_Span]:
    """Sequences of words, each as it is written in place of its key."""
    places = _tokens(question)[:MAX_WORDS]
    tokens = [token.word for token in places]
    words = folded(tokens)
    tells = [word not in STOP_WORDS for word in words]
    is_name = [not word.islower() for word in tokens]
    is_spaced = [not UNSPACED.search(word) for word in words]
    for start in range(len(words)):
        telling = named = spaced = False
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            telling |= tells[end - 1]
            named |= is_name[end - 1]
            spaced |= is_spaced[end - 1]
            if telling:
                written = question[places[start].left : places[end - 1].right]
                if not _SIGN.search(written):
                    written = (" " if spaced else "").join(tokens[start:end])
                yield _Span(start, end, written, named)
        # … and the other way round: `ReadTimeout` for `read_timeout`.
        parts = _HUMP.sub(" ", tokens[start]) if tokens[start].isascii() else ""
        if " " in parts:
            yield _Span(start, start + 1, parts, True)


def _tokens(question: str) -> list[_Token]:
    """The words; in scripts without spaces each character is a word."""
    before = {match.end(): match.start() for match in _SIGNS_BEFORE.finditer(question)}
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(question):
        start, end = match.span()
        after = _SIGNS_AFTER.match(question, end)
        token = _Token(match[0], before.get(start, start), after.end() if after else end)
        if UNSPACED.search(match[0]):
            tokens.extend(_Token(question[i], i, i + 1) for i in range(start, end))
        else:
            tokens.append(token)
    return tokens


# How questions are worded: their form, the names in them, and what asks for a strategy.


Form = Literal[
    "who", "what", "when", "where", "which", "why", "how", "yes_no", "imperative", "keywords"
]

_QUESTION_WORDS: dict[str, Form] = {
    "who": "who", "whom": "who", "whose": "who", "what": "what", "when": "when",
    "where": "where", "which": "which", "why": "why", "how": "how",
}  # fmt: skip
_CONTRACTED = re.compile(r"(?:['’]\w*|s)$")
"""The rest of "what's" and "whens" behind the question word."""
AUXILIARIES = frozenset(
    """am are can could did do does had has have is may might must shall should was were will
    would""".split()
)
_IMPERATIVES = frozenset(
    """compare define describe explain find give identify introduce list name outline paint please
    read show summarise summarize tell trace""".split()
)
_PREPOSITIONS = frozenset("about at by for from in on through to under until with".split())
_OPENERS = frozenset(_QUESTION_WORDS) | AUXILIARIES | _IMPERATIVES | _PREPOSITIONS

_SPOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ENDING_S = re.compile(r"['’]s?$")
LOOK_UP_WORDS = 3
"""Words of a string that is looked up rather than asked, at most."""
LOOK_UP_CHARACTERS = 100
"""Characters of a file's name, a name in code or a quotation that is looked up, at most."""
_INNER = frozenset("al da de del der di du ibn la le of van von".split())


def question_form(question: str) -> Form:
    """Its question word; else whether it asks yes or no, orders something, or only names it.

    Words in front decide: "Did he say who …" asks yes or no, "In which town …" asks which, "Tell me
    who …" asks who. Further back a question word counts where there is a question mark. Without
    any, "The name of the dog?" asks what it is, and "It was built of stone?" whether it was.
    """
    said = words(WORDING["framed"].sub("", question))
    opening = said[0] if said else ""
    if opening in AUXILIARIES:
        return "yes_no"
    if opening in _IMPERATIVES and said[1:2] != ["of"]:
        return "imperative"
    for word in said if "?" in question else said[: 2 if opening in _PREPOSITIONS else 1]:
        known = _QUESTION_WORDS.get(_CONTRACTED.sub("", word))
        if known:
            return known
    if "?" not in question:
        return "keywords"
    return "what" if AUXILIARIES.isdisjoint(said) else "yes_no"


def count_words(question: str) -> int:
    """Words; in scripts without spaces two characters count as one."""
    found = [word for word in question.split() if _SPOKEN.search(word)]
    return sum((len(word) + 1) // 2 if UNSPACED.search(word) else 1 for word in found)


def is_look_up(question: str) -> bool:
    """Whether it asks nothing: a few words, a file, a name in code, a quotation."""
    text = question.strip()
    if question_form(text) == "keywords" and 0 < count_words(text) <= LOOK_UP_WORDS:
        return True
    return len(text) <= LOOK_UP_CHARACTERS and bool(IDENTIFIER.fullmatch(text))


def find_names(question: str, keys: Sequence[str]) -> tuple[list[str], list[str]]:
    """(known, unknown) names in order: `keys` as the question writes them; other capitalised words.

    `keys` are those of entities (`clew.text.entity_key`). A key that no words of the question have
    (in scripts without spaces, say) stands for itself.
    """
    tokens = [(m.start(), m.end(), m.group()) for m in _SPOKEN.finditer(question)]
    spoken = folded([_ENDING_S.sub("", word) for _, _, word in tokens])
    taken: set[int] = set()
    known: list[tuple[int, str]] = []
    for key in keys:
        parts = _SPOKEN.findall(key)
        starts = range(len(spoken) - len(parts) + 1)
        at = next((at for at in starts if spoken[at : at + len(parts)] == parts), None)
        if at is None:
            known.append((len(tokens), key))
            continue
        taken.update(range(at, at + len(parts)))
        written = question[tokens[at][0] : tokens[at + len(parts) - 1][1]]
        known.append((at, _ENDING_S.sub("", written)))
    runs = _capitalised_runs([word for _, _, word in tokens], taken)
    unknown = [question[tokens[a][0] : tokens[b][1]] for a, b in runs]
    return [name for _, name in sorted(known)], [_ENDING_S.sub("", name) for name in unknown]


def opens_question(name: str) -> bool:
    """Whether a name begins as questions do, "Give me": its capital says nothing."""
    first = _SPOKEN.match(name)
    return first is not None and fold(first.group()) in _OPENERS


def _capitalised_runs(words: Sequence[str], taken: set[int]) -> Iterator[tuple[int, int]]:
    """(first, last) of each run of capitalised words, inner "of" and the like included."""
    first = last = -1
    for at, word in enumerate(words):
        if at not in taken and _is_capitalised(word, at, len(words)):
            first = at if first < 0 else first
            last = at
        elif first >= 0 and (at in taken or word not in _INNER):
            yield first, last
            first = -1
    if first >= 0:
        yield first, last


def _is_capitalised(word: str, at: int, of: int) -> bool:
    """The first word of several says little: only openers are certain not to be names."""
    if not word[0].isupper() or len(word) < 2:
        return False
    return at > 0 or of == 1 or _ENDING_S.sub("", fold(word)) not in _OPENERS


# --- wording that asks for a strategy ----------------------------------------------------------


def _read_wording() -> dict[str, re.Pattern[str]]:
    """The patterns of `questions.toml`, compiled."""
    table = read_word_lists(__package__, "questions.toml")
    parts: dict[str, str] = {}

    def filled(pattern: str) -> str:
        whole = re.sub(r"\{([a-z_]+)\}", lambda match: parts[match[1]], pattern)
        return re.sub(r"\s+", "", whole).replace("_", r"\s++")

    for name, part in table["parts"].items():
        parts[name] = filled(part)
    return {
        name: re.compile(filled(pattern), re.IGNORECASE)
        for name, pattern in table["patterns"].items()
    }


WORDING = _read_wording()
"""How questions are worded that ask for a strategy, by what they ask for."""
IDENTIFIER = re.compile(
    r"[\"“„«'`][^\"”“„«»`]+[\"”»'`]"  # a quotation
    r"|(?<![\w./\\-])[\w./\\-]+\.[A-Za-z][A-Za-z0-9]{0,4}"  # a file
    # a name in code
    r"|(?<!\S)(?=[^\sA-Za-z]*+[A-Za-z]\S*?(?:_|::|\(\)|->|\.\w++\())\S++"
)
"""A string that is looked up as it stands."""


def wishes_overview(question: str) -> bool:
    """Whether the whole is asked for, and nothing else."""
    asked = " ".join(question.split()).rstrip(" .?!")
    return WORDING["overview"].fullmatch(asked) is not None


_LINKS = frozenset("of in by at for from on".split())
"""What stands before the name that a side of a comparison ends with."""


def compared_sides(question: str) -> tuple[str, ...]:
    """The two sides of a comparison, each as a question of its own; empty where it is none.

    What stands behind both is asked of each, and so is what only the first side says: "the fees of
    Vell and Ostby" are "the fees of Vell" and "the fees of Ostby".
    """
    found = WORDING["compared"].search(question)
    if found is None:
        return ()
    first, second = (side.split() for side in found.groups() if side)
    links = [place for place, word in enumerate(first) if word.lower() in _LINKS]
    if links and not _LINKS.intersection(second):
        second = [*first[: links[-1] + 1], *second]
    behind = question[found.end() :].strip(" ?.!,")
    return tuple(" ".join([*side, behind]).strip() for side in (first, second))


# Sections that a question names: by their number, or by what their heading says.


SECTION_KIND = r"(?:(?:sub)?sections?|chapters?|articles?|appendix|clause|paragraph|§)"
_NUMBERED = re.compile(
    rf"(?<!\w){SECTION_KIND} ?(?P<number>(?:[A-Z]\.)?\d{{1,4}}(?:\.\d{{1,4}}){{0,5}}"
    r"|(?-i:[A-Z])(?:\.\d{1,4}){0,5}|(?-i:[IVXLC]){1,8})(?![\w]|\.\w)",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf"\b{SECTION_KIND} (?:on|about|called|titled|entitled|named|concerning|dealing with) "
    r"[\"“'‘]?(?P<title>[^\"”'’,;:?!\n]{2,80})",
    re.IGNORECASE,
)
_ENDING = re.compile(r" (?:say|tell|contain|cover|discuss|describe|state)s?\b.*", re.IGNORECASE)
"""What follows the title in a question."""


class SectionName(NamedTuple):
    """How a question names a section: one of both is empty."""

    number: str
    """"4.2", "A.5.2", "IV"."""
    title: str


def section_name(question: str) -> SectionName | None:
    """The section that a question names; None where it names none."""
    if found := _NUMBERED.search(question):
        return SectionName(found["number"], "")
    if found := _TITLED.search(question):
        return SectionName("", _ENDING.sub("", found["title"]))
    return None


# What a question says about time: the period that it asks for.


Bound = Literal["within", "since", "until", "before", "after"]


@dataclass(frozen=True, slots=True)
class AskedTime:
    """What a question says about time."""

    period: Period | None
    """The period that it names; `text` is its phrase. None where it names none."""
    phrase: str
    """The words that name the period, with their preposition; empty where there is none."""
    evolution: bool
    """Whether it asks how something came to be: "how did X evolve", "history of X"."""
    explicit: bool
    """Whether it wants answers from the period alone: by a preposition ("in 2019"), a relative
    phrase ("last week"), a range or a full date. A bare year may be part of a name ("the 2008
    financial crisis")."""
    compared: tuple[Period, ...] = ()
    """The periods that it compares, two or more: "2020 versus 2024"."""
    newest: bool = False
    """Whether it asks for what holds now: "latest", "currently", "still"; and names no period."""
    yearless: bool = False
    """Whether the period is a month or a day whose year it leaves out."""


_NEWEST = re.compile(
    r"\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|presently|nowadays|these days|at present"
    r"|now|still|to this day|as of (?:today|this (?:day|week|month|year))"
    # "At the moment of the crash" was another one.
    r"|(?:at|for) (?:the (?:(?:present|current) )?moment|(?:this|the (?:present|current)) time"
    r"|this (?:moment|point))(?! (?:of|that|when|where)\b))\b",
    re.IGNORECASE,
)
"""Words for what is new and for what is so now; a day that stands in them is no period."""
_COMPARING = re.compile(
    r"\b(?:compar(?:e[ds]?|ing|ison)|versus|vs|differ(?:s|ed|ent|ence|ences)?|contrast(?:ed)?"
    r"|as opposed to|rather than|than (?:in|on|during|back in))\b",
    re.IGNORECASE,
)
_EVOLUTION = re.compile(
    # "How do I change my password?" asks for no history.
    r"\bhow (?:did|has|have|had)\b.{0,120}?\b(?:evolv|chang|develop|progress|grow|shift)"
    r"|\b(?:evolution|history|timeline|chronology|development) of\b|\bover (?:the (?:years|decades"
    r"|centuries|months|weeks|course of)|time)\b|\b(?:timeline|chronological(?:ly)?)\b"
    r"|\bthrough(?:out)? (?:the (?:years|decades|centuries|ages)|time|history)\b",
    re.IGNORECASE | re.DOTALL,
)
# Nothing between quotation marks, or set as a title, names a time.
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|(?<!\w)['‘][^'‘’]+['’](?!\w)"
    r"|(?<![\w*])\*{1,3}[^*\n]+\*{1,3}(?![\w*])|(?<!\w)_{1,2}[^_\n]+_{1,2}(?!\w)"
)
_TITLE = re.compile(r"\b[12]\d{3}: (?=[A-Z])")
"""A year that opens a title: "2001: A Space Odyssey"."""

_BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(("since", "starting in", "starting from", "beginning in"), "since"),
    **dict.fromkeys(("until", "till", "up to", "up until", "through", "by"), "until"),
    **dict.fromkeys(("before", "prior to", "earlier than"), "before"),
    **dict.fromkeys(("after", "later than"), "after"),
    **dict.fromkeys(("in", "on", "at", "during", "within", "throughout"), "within"),
    **dict.fromkeys(("between", "from", "as of"), "within"),
}
_PREPOSITION = re.compile(
    rf"\b(?P<word>{'|'.join(sorted(_BOUNDS, key=len, reverse=True))})"
    r"(?: (?:the )?(?:early|late|mid|years?|(?:month|beginning|start|middle|end) of))?"
    r"(?P<article> (?:the|an?|his|her|its|their|this|that))?[ -]$",
    re.IGNORECASE,
)
_LONGEST_PREPOSITION = 50
"""Characters before a date in which its preposition stands."""
_ONWARDS = re.compile(r" (?:on|onwards?)\b", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")
_NO_MONTH_AFTER = frozenset(("by", "from", "at", "as of"))
"""Prepositions that stand before persons and places as often as before months: "by June"."""


def read_time(question: str, now: datetime, newest: datetime | None = None) -> AskedTime:
    """What the question says about time, as asked at `now`, an aware time in the asker's zone.

    "Before 2019" and "after 2019" leave the year out; "since", "until", "from … to …" and
    "between … and …" take it in. A month or day without a year is the latest that has begun at
    `newest`, the newest date of what is asked, or else now.
    """
    text = question
    for pattern in (_QUOTED, _TITLE):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    now_words = [match.span() for match in _NEWEST.finditer(text)]
    mentions = [
        one
        for found in find_ranges(text, now, newest)
        if (one := _read_mention(text, found))
        and not any(start <= one.start and one.end <= end for start, end in now_words)
    ]
    # The periods of a comparison, in the question's order, where two stand apart.
    compared: tuple[Period, ...] = ()
    if mentions and _COMPARING.search(text):
        compared = tuple(find_dates(text, now, newest))
        if len(compared) < 2 or any(a.overlaps(b) for a, b in combinations(compared, 2)):
            compared = ()
    asked = _together([one for one in mentions if one.explicit or compared] or mentions[:1])
    phrase = question[asked.start : asked.end] if asked else ""
    return AskedTime(
        period=replace(asked.period, text=phrase) if asked else None,
        phrase=phrase,
        evolution=bool(_EVOLUTION.search(text)),
        explicit=asked is not None and (asked.explicit or bool(compared)),
        compared=compared,
        newest=asked is None and bool(now_words),
        yearless=any(one.yearless for one in mentions),
    )


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    period: Period
    explicit: bool
    yearless: bool = False


def _read_mention(text: str, found: FoundRange) -> _Mention | None:
    """What the words before dates make of them; None where they turn out to be no dates."""
    start, end = found.start, found.end
    before = _PREPOSITION.search(text, max(0, start - _LONGEST_PREPOSITION), start)
    word = before["word"].lower() if before else ""
    if not found.has_year and (not before or (found.dates == 1 and word in _NO_MONTH_AFTER)):
        return None
    if before is None or (before["article"] and _YEAR.fullmatch(text, start, end)):
        # "Ada Lee (1815–1852)": years in brackets describe a name.
        in_brackets = text.startswith("(", start - 1) if start else False
        return _Mention(start, end, found.period, found.is_sure and not in_brackets)
    onwards = _ONWARDS.match(text, end) if word == "from" else None
    bound = "since" if onwards else _BOUNDS[word]
    period = found.period
    bounded = {
        "within": period,
        "since": Period(start=period.start, end=None),
        "until": Period(start=None, end=period.end),
        "before": Period(start=None, end=period.start),
        "after": Period(start=period.end, end=None),
    }
    return _Mention(
        before.start(),
        onwards.end() if onwards else end,
        bounded[bound],
        explicit=True,
        yearless=not found.has_year,
    )


def _together(mentions: Sequence[_Mention]) -> _Mention | None:
    """What several dates leave together ("after 2017 but before 2020"), else all that they span."""
    if not mentions:
        return None
    period = mentions[0].period
    for one in mentions[1:]:
        if period.overlaps(one.period):
            starts = [time for time in (period.start, one.period.start) if time]
            ends = [time for time in (period.end, one.period.end) if time]
            period = Period(start=max(starts, default=None), end=min(ends, default=None))
        else:
            period = hull(period, one.period)
    return replace(mentions[0], end=mentions[-1].end, period=period)
