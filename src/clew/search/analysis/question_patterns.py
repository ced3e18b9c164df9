"""How questions are worded: their form, the names in them, and what asks for a strategy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from clew.search.analysis.analyse import UNSPACED
from clew.text import fold
from clew.word_lists import read_word_lists

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Form = Literal[
    "who", "what", "when", "where", "which", "why", "how", "yes_no", "imperative", "keywords"
]

_QUESTION_WORDS: dict[str, Form] = {
    "who": "who", "whom": "who", "whose": "who", "what": "what", "when": "when",
    "where": "where", "which": "which", "why": "why", "how": "how",
}  # fmt: skip
_SHORT_FORMS = {"what's": "what", "who's": "who", "where's": "where", "how's": "how"}
_AUXILIARIES = frozenset(
    """am are can could did do does had has have is may might must shall should was were will
    would""".split()
)
_IMPERATIVES = frozenset(
    """compare define describe explain find give identify introduce list name outline paint please
    read show summarise summarize tell trace""".split()
)
_PREPOSITIONS = frozenset("about at by for from in on through to under until with".split())
_OPENERS = frozenset(_QUESTION_WORDS) | _AUXILIARIES | _IMPERATIVES | _PREPOSITIONS

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
LOOK_UP_WORDS = 3
"""Words of a string that is looked up rather than asked, at most."""
LOOK_UP_CHARACTERS = 100
"""Characters of a file's name, a name in code or a quotation that is looked up, at most."""
_INNER = frozenset("al da de del der di du ibn la le of van von".split())


def question_form(question: str) -> Form:
    """Its question word; else whether it asks yes or no, orders something, or only names it.

    Words in front decide: "Did he say who …" asks yes or no, "In which town …" asks which. Further
    back a question word counts where there is a question mark.
    """
    words = [fold(word) for word in _TOKEN.findall(question)]
    if words and words[0] in _AUXILIARIES:
        return "yes_no"
    if words and words[0] in _IMPERATIVES:
        return "imperative"
    behind_preposition = words[:1] and words[0] in _PREPOSITIONS
    for word in words if "?" in question else words[: 2 if behind_preposition else 1]:
        known = _QUESTION_WORDS.get(_SHORT_FORMS.get(word.replace("’", "'"), word))
        if known:
            return known
    return "yes_no" if "?" in question else "keywords"


def count_words(question: str) -> int:
    """Words; in scripts without spaces two characters count as one."""
    found = [word for word in question.split() if _TOKEN.search(word)]
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
    tokens = [(m.start(), m.end(), m.group()) for m in _TOKEN.finditer(question)]
    folded = [fold(_POSSESSIVE.sub("", word)) for _, _, word in tokens]
    taken: set[int] = set()
    known: list[tuple[int, str]] = []
    for key in keys:
        parts = _TOKEN.findall(key)
        starts = range(len(folded) - len(parts) + 1)
        at = next((at for at in starts if folded[at : at + len(parts)] == parts), None)
        if at is None:
            known.append((len(tokens), key))
            continue
        taken.update(range(at, at + len(parts)))
        written = question[tokens[at][0] : tokens[at + len(parts) - 1][1]]
        known.append((at, _POSSESSIVE.sub("", written)))
    runs = _capitalised_runs([word for _, _, word in tokens], taken)
    unknown = [question[tokens[a][0] : tokens[b][1]] for a, b in runs]
    return [name for _, name in sorted(known)], [_POSSESSIVE.sub("", name) for name in unknown]


def opens_question(name: str) -> bool:
    """Whether a name begins as questions do, "Give me": its capital says nothing."""
    first = _TOKEN.match(name)
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
    return at > 0 or of == 1 or _POSSESSIVE.sub("", fold(word)) not in _OPENERS


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
