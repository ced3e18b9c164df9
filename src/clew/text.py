"""Words, keys and sentences of any script; the one analysis that indexing and asking share."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from Stemmer import Stemmer


# Scripts written without spaces between words: Han, kana, Thai, Lao, Khmer, Myanmar.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fa1f"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:['’][^\W_{_UNSPACED}]+)*|_")
# In prose "JavaScript" and "YouTube" are one word; where it is defined, a name has parts.
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_CAMEL = re.compile(
    r"(?<![A-Za-z0-9])(?:class|struct|interface|enum|trait|type|func|fn|def|function|impl) "
    r"(?P<named>[A-Za-z][A-Za-z0-9]{2,80}+)"
    r"|(?<=[\w>\]*&] )(?P<typed>[A-Za-z][A-Za-z0-9]{2,80}+)(?=\()"
)
_COMPOUND = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]{2,80}+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")
_LETTERS_OR_DIGITS = re.compile(r"[^\W_]+")
_WORD_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+")
_LONGEST_KEY = 300
_DIGITS = 18  # of the largest whole number that every store can hold

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has
    have having he her here hers him his how i if in into is it its itself just me more most my no
    nor not now of off on once only or other our out over own same she should so some such than that
    the their them then there these they this those through to too under until up very was we were
    what when where which while who whom whose why will with would you your yours""".split()
)

# What steers the reader's screen, or what a reader cannot see while a model can: controls but tab
# and line feed, line and paragraph separators, bidirectional embeddings, overrides and isolates,
# interlinear annotation, tag characters, and halves of surrogate pairs.
STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
_LINE_BREAK = re.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")


def fold(text: str) -> str:
    """Case-folded, compatibility forms and accents taken away, in any script."""
    if text.isascii():
        return text.lower()
    # Twice, since mathematical letters have a small form only once they are decomposed.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    kept = "".join(c for c in decomposed if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", kept)


@lru_cache(maxsize=200_000)
def entity_key(name: str) -> str:
    """The key under which names are the same: folded, without punctuation or a leading article."""
    words = _LETTERS_OR_DIGITS.findall(fold(name).replace("'s ", " ").replace("’s ", " "))
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    return " ".join(words)


def name_key(name: str) -> str:
    """The key of a title, an identifier or a file's stem: its words and its numbers, folded.

    "RFC 2616", "rfc2616" and "rfc-02616" have the same key. At most `_LONGEST_KEY` characters.
    """
    parts = _WORD_OR_NUMBER.findall(fold(name[:_LONGEST_KEY]))
    return " ".join(p.lstrip("0") or "0" if p.isdecimal() else p for p in parts)[:_LONGEST_KEY]


def split_file_name(path: str) -> tuple[str, str]:
    """Stem and ending, without the dot, of the file that a path or an address ends in.

    An ending has a letter and at most five characters; a name may have none.
    """
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    is_ending = ending.isalnum() and len(ending) <= 5 and any(c.isalpha() for c in ending)
    return (stem, ending.lower()) if stem and is_ending else (name, "")


def name_keys(title: str, source: str) -> dict[str, str]:
    """The keys by which a document is looked up, by column: of its title, and of its file."""
    return {"title_key": name_key(title), "file_key": name_key(split_file_name(source)[0])}


def written_otherwise(name: str, acronym: str) -> bool:
    """Whether a name is not meant by an acronym of the same letters: "Guido" and "GUIDO"."""
    return acronym.isupper() and not name.isupper() and name != acronym


def whole_number(text: str) -> int | None:
    """A number written in ASCII digits, small enough for an id of any store; None for others."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def words(text: str) -> list[str]:
    """Folded words in order; runs of unspaced scripts come whole."""
    return _WORD.findall(fold(text))


def terms(text: str) -> list[str]:
    """Search terms in order, repeats kept: stems of spaced words, bigrams of unspaced scripts.

    Stop words are left out. The parts of `ParseHTTPDate`, where that is defined, come last.
    Documents and questions are read alike; see `question_terms`.
    """
    found: list[str] = []
    for word in words(text):
        found.extend(_word_terms(word))
    if _HUMP.search(text):
        for match in _CAMEL.finditer(text):
            found.extend(_part_terms(match["named"] or match["typed"]))
    return found


def question_terms(text: str) -> list[str]:
    """`terms` of a question, each once, and the parts of every `ParseHTTPDate` in it."""
    compound = _COMPOUND.findall(text) if _HUMP.search(text) else ()
    return list(dict.fromkeys([*terms(text), *(t for one in compound for t in _part_terms(one))]))


def _part_terms(name: str) -> list[str]:
    parts = _PART.findall(name)
    return [t for part in parts for t in _word_terms(fold(part))] if len(parts) > 1 else []


@lru_cache(maxsize=500_000)
def _word_terms(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS or word == "_":
        return ()
    if _UNSPACED_RUN.match(word):
        return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)
    return (_stem(word.removesuffix("'s").removesuffix("’s").replace("'", "").replace("’", "")),)


def _stem(word: str) -> str:
    return _stemmer(_language(word[0])).stemWord(word)


def _language(letter: str) -> str:
    """The stemmer for a letter's script; English for Latin and for all that has none of its own."""
    code = ord(letter)
    if 0x400 <= code < 0x530:
        return "russian"
    if 0x370 <= code < 0x400:
        return "greek"
    if 0x600 <= code < 0x780:
        return "arabic"
    return "english"


@lru_cache(maxsize=4)
def _stemmer(language: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(language)


def one_line(text: str) -> str:
    """The text on one line, each run of white space as a single space."""
    return " ".join(text.split())


def quoted(text: str) -> str:
    """The text with `> ` before each of its lines, `>` alone before an empty one, as in mail.

    So no text can write a line that is not quoted, and none holds an empty line. Without the marks
    it is the same text again.
    """
    pieces = _LINE_BREAK.split(text)  # lines, and between them what ends them
    pieces[::2] = [f"> {line}" if line else ">" for line in pieces[::2]]
    return "".join(pieces)


def json_text(value: object, *, indent: int | None = None, default: Callable[[Any], Any]) -> str:
    """A value as JSON in any script, its steering characters escaped: a reader gets them back.

    `default` says what is written for a value that JSON has no form for.
    """
    written = json.dumps(value, ensure_ascii=False, indent=indent, default=default)
    # All of them stand in strings: JSON's own marks and line ends are none.
    return STEERING.sub(lambda match: json.dumps(match.group())[1:-1], written)


_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“'])(?:[A-Z]|[A-Za-z](?:\.[A-Za-z])+"
    r"|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Sgt|Rev|Hon|Gov|Sen|Rep"
    r"|vs|etc|e\.g|i\.e|cf|al|No|Nos|Vol|pp|Fig|Inc|Ltd|Co|Corp|Bros|Mt|Ft"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|b|c|ca|d)\.$"
)
_BREAK = re.compile(
    r"(?P<stop>(?<![.!?…])[.!?…]++[\"”’'»)\]]*+)(?=\s)"
    r"|(?P<wide>[。！？｡؟۔।]+[”’」』）]*)"
    # Headings and rows of tables are lines of their own, and so is what underlines a heading.
    r"|(?P<line>^(?:[ ]{0,3}#{1,6}[ \t]|[ \t]*\|)[^\n]*(?:\n|\Z)"
    r"|^[ \t]*(?P<rule>[=\-~^\"'`*+#<>_:.])(?P=rule){2,}[ \t]*$)"
    # A blank line; before items of lists, quotations, rows and fields.
    r"|(?P<lines>\n\s*\n|\n(?=[ \t]*(?:[-*+•‣–][ \t]|[>|]|#{1,6}[ \t]|\(?(?:\d{1,3}|[a-z])[.)]\s"
    r"|:?[A-Z][\w-]{0,40}(?:[ ][\w-]{1,40}){0,3}:[ \t]|\*\*[^*\n]{1,60}(?::\*\*|\*\*:))))",
    re.MULTILINE,
)
_LABEL = re.compile(
    r"(?:[-*+•‣–]|\(?(?:\d{1,3}|[a-z])[.)])?[ \t]*\*\*[^*\n]{1,80}(?:\*\*[.:!?]|[.:!?]\*\*)"
)
"""The bold words that open a paragraph or an item: they name it and are no sentence."""


_LONGEST_LABEL = 120
"""Characters of a label, blanks before it among them."""
_LONGEST_NUMBER = 40
"""Characters of a list's number, blanks before it among them."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Ranges of the sentences, blank edges left out; every non-blank character lies in one."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.lastgroup == "stop" and not _ends_sentence(text, start, match):
            continue
        if match.lastgroup == "line" and match["rule"] is None:
            start = _add_range(text, start, match.start(), found)
        start = _add_range(text, start, match.end(), found)
    _add_range(text, start, len(text), found)
    return found


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """A full stop ends a sentence unless an abbreviation or a list's number stands before it.

    Nor does it where a small letter follows.
    """
    after = text[match.end() : match.end() + 40].lstrip()
    if match.group("stop")[0] in "!?…":
        return not after[:1].islower()
    if match.end() - start < _LONGEST_LABEL and _LABEL.fullmatch(text[start : match.end()].strip()):
        return False
    number = text[start : match.start()] if match.start() - start < _LONGEST_NUMBER else ""
    if after[:1].islower() or number.strip().isdecimal():
        return False
    return not _ABBREVIATION.search(text, max(start, match.start() - 12), match.start() + 1)


def _add_range(text: str, start: int, end: int, found: list[tuple[int, int]]) -> int:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        left = start + len(piece) - len(piece.lstrip())
        found.append((left, left + len(stripped)))
    return end
