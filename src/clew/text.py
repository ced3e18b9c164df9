"""Words and keys of any script; the one analysis that indexing and asking share."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import chain, filterfalse, groupby, pairwise, repeat
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from clew.languages import (
    LanguageWords,
    english_words,
    language_words,
    listed_languages,
    recognise,
    script_of,
    spoken,
)

if TYPE_CHECKING:
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
_WORD_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+")
_LONGEST_KEY = 300

# --- what of a name is typography, see `entity_key`
_LEGAL_MARKS = frozenset("©®™℠℗")
_ONE_SIGN = {
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212\ufe63"), "-"),
    **dict.fromkeys(map(ord, "`‘’‚‛‹›"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»"), '"'),
}
_PUNCTUATION_IN_NAMES = frozenset("#%*!?′†‡§‰")
_BESIDE_WORDS = re.compile(r"[^\w\s]|_")
_QUOTED = re.compile(r"(?<!\w)(['\"])(.{1,400}?)\1(?!\w)", re.DOTALL)
_EMPHASISED = re.compile(r"(?<!\w)(\*{1,3}|_{1,2})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_PRIME = re.compile(r"(?<=\w)['\"]+(?!\w)")
_UNIT = re.compile(r"(?<=\d)\s+(?=[°%‰′])")
# Over the kinds of characters (`_kind`).
_PIECE = re.compile(
    r"(?P<word>[wd]+)|(?P<and>&)|(?P<sign>s+)|(?P<joint>(?<=d)[-.,:/](?=d)|(?<=[wd])/(?=d)|(?<=d)/(?=w))"
    r"|(?P<first>(?<![wds.-])(?:-+\.?|\.|@)(?=[wds]))|(?P<last>(?<=[wds])-+(?![wds-]))"
)
_NESTED = 4
"""How often what stands around what is left is taken off."""
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
_INDEFINITE = re.compile(
    r"\b(?:any|some)(?:body|one|thing)\b|\A\W{0,9}Any(?:body|one|thing)\b", re.ASCII
)
# A word with a capital within a question, and a single letter: "is Die Hard on", "is E free".
_LIKE_A_NAME = re.compile(r"(?<=[\w,] )[A-ZÀ-Þ](?![A-Z])\w*|\b\w\b")
_LINE_BREAK = re.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")


def fold(text: str) -> str:
    """Case-folded, compatibility forms and accents taken away, in any script."""
    if text.isascii():
        return text.lower()
    # Twice, since mathematical letters have a small form only once they are decomposed.
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    kept = "".join(filterfalse(unicodedata.combining, decomposed))
    return unicodedata.normalize("NFC", kept)


Texts = TypeVar("Texts", bound="str | tuple[str | None, ...]")
R = TypeVar("R")
_ENTRY = 400
"""Bytes of an entry without its texts, at most: links, a place in the table, tuples."""
_CHARACTER = 4
"""Bytes of a character at most."""


class _Kept(dict[Texts, R]):
    """What a function returned, by its texts: looking up one that is known calls nothing."""

    def __init__(self, function: Callable[[Texts], R], entries: int, longest: int) -> None:
        self._function, self._entries, self._longest = function, entries, longest

    def __missing__(self, texts: Texts) -> R:
        found = self._function(texts)
        length = len(texts) if isinstance(texts, str) else sum(map(len, filter(None, texts)))
        if length <= self._longest:
            if len(self) >= self._entries:
                self.clear()
            self[texts] = found
        return found


def cached(
    megabytes: float, longest: int = 48
) -> Callable[[Callable[[Texts], R]], Callable[[Texts], R]]:
    """Keep what a function of a text, or of a tuple of texts, returned, in so many megabytes.

    What it returns is no longer than its texts, about. Texts of more than `longest` characters
    together are not kept: words and names are short, and whoever sends long ones gets no memory.
    """
    entries = int(megabytes * 1e6) // (_ENTRY + 2 * _CHARACTER * longest)

    def kept(function: Callable[[Texts], R]) -> Callable[[Texts], R]:
        return _Kept(function, entries, longest).__getitem__

    return kept


def folded(texts: Iterable[str]) -> list[str]:
    """Each of the texts folded; see `fold`."""
    return [fold(text) for text in texts]


def entity_keys(names: Iterable[str]) -> list[str]:
    """The key of each of the names; see `entity_key`."""
    return [entity_key(name) for name in names]


@cached(16)
def entity_key(name: str) -> str:
    """The key under which names are the same; empty for one without a letter or a digit.

    What is typography alone makes no difference: case, accents, spaces, width, quotation marks,
    brackets, and what joins or parts words (hyphens, commas, colons, full stops). A sign that
    tells things apart is part of the key: "C" and "C++", "A+" and "A-", ".NET" and "Net", "-5" and
    "5", "3.11" and "3 11", "x²" and "x2". A leading article is left out.
    """
    key = key_words(name)
    # What is dropped can bring signs side by side that were apart: a key is its own key.
    for _ in range(_NESTED):
        key, before = key_words(key), key
        if key == before:
            break
    return key.removeprefix("the ") if any(map(str.isalnum, key)) else ""


def key_words(text: str) -> str:
    """The folded words of a text with their signs: it holds the key of every name that it holds."""
    text = _fold_typography(text).replace("'s ", " ")
    if not _BESIDE_WORDS.search(text):
        return one_line(text)
    for _ in range(_NESTED):
        text = _QUOTED.sub(r"\2", _EMPHASISED.sub(r"\2", text))
    text = _UNIT.sub("", _PRIME.sub(lambda m: "\u2032" * len(m[0].replace('"', "''")), text))
    key, end, joins = "", 0, True  # whether what comes next is written without a space
    for match in _PIECE.finditer("".join(map(_kind, text))):
        # What is dropped between two signs parts them no more than in the key itself.
        kind, touches = match.lastgroup, joins or match.start() == end
        stands = not match.end() < len(text) or _kind(text[match.end()]) not in "wd"
        clings = kind in ("joint", "last") or (kind == "sign" and (touches or stands))
        part = "" if joins or clings else " "
        key += f"{part}{text[match.start() : match.end()]}"
        joins = kind in ("joint", "first") or (kind == "sign" and (not clings or not key[:-1]))
        end = match.end()
    return key


def _fold_typography(text: str) -> str:
    """Small letters without accents, one sign of each kind; what a reader cannot see is gone."""
    if text.isascii():
        return text.lower().replace("`", "'")
    shown = (c for c in text if c not in _LEGAL_MARKS and unicodedata.category(c) != "Cf")
    folded = "".join(
        # Small and raised digits, fractions: "x²" is not "x2", nor "1½" "11/2".
        c if unicodedata.category(c) == "No" else unicodedata.normalize("NFKD", c.casefold())
        for c in shown
    ).casefold()
    kept = ""
    for c in folded:
        # A mark that stands on a letter, and is no part of it as vowels of Hindi and Thai are.
        place = unicodedata.combining(c)
        if not (place >= 200 or 10 <= place <= 36 or "\ufe00" <= c <= "\ufe0f"):
            kept += c
    return unicodedata.normalize("NFC", kept.translate(_ONE_SIGN))


@cache
def _kind(character: str) -> str:
    """One letter for what a character is to a name: w and d for words, s for a sign of its own."""
    category = unicodedata.category(character)
    if character.isalnum() or category[0] == "M":
        return "d" if character.isdecimal() else "w"
    if character in "-.,:/&@":
        return character
    is_sign = character in _PUNCTUATION_IN_NAMES or category[0] == "S"
    return "s" if is_sign and character != "|" else " "


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


def terms(text: str, language: str = "") -> list[str]:
    """Search terms in order, repeats kept: stems of spaced words, bigrams of unspaced scripts.

    Stop words are left out. The parts of `ParseHTTPDate`, where that is defined, come last.
    `language` is the code of the text's; English, unknown ones and those without a list are read
    alike. For questions see `question_terms`.
    """
    if not language or language_words(language) is None:
        of_words = map(_word_terms, words(text))
    else:
        of_words = map(_terms_in, zip(repeat(language), _accented_words(text)))
    found = list(chain.from_iterable(of_words))
    if _HUMP.search(text):
        for match in _CAMEL.finditer(text):
            found.extend(_part_terms(match["named"] or match["typed"]))
    return found


def sentence_terms(sentences: Iterable[str], language: str = "") -> list[list[str]]:
    """`terms` of each of some sentences of one text."""
    return [terms(sentence, language) for sentence in sentences]


def question_terms(text: str, languages: Iterable[str] = ()) -> list[str]:
    """`terms` of a question, each once, and the parts of every `ParseHTTPDate` in it.

    `languages` are those of the texts that are searched. A question is read in its own, where its
    function words tell it, and as English for its names; else in each of them.
    """
    text = _without_indefinite(text)
    others = [code for code in sorted(languages) if language_words(code)]
    # Terms of a question over texts in these languages and in English, word by word.
    found = (
        ((term for readings in _readings(text, others) for one in readings for term in one))
        if others
        else terms(text)
    )
    compound = _COMPOUND.findall(text) if _HUMP.search(text) else ()
    return list(dict.fromkeys([*found, *(t for one in compound for t in _part_terms(one))]))


def question_words(text: str, languages: Iterable[str] = ()) -> list[frozenset[str]]:
    """The terms that each word of a question may be meant as, as `question_terms` reads them.

    A word is left out that is a stop word in one of the languages that the question may be in. Of
    unspaced scripts every bigram counts as a word.
    """
    text = _without_indefinite(text)
    others = [code for code in sorted(languages) if language_words(code)]
    if not others:
        return [frozenset((term,)) for term in dict.fromkeys(terms(text))]
    words = [readings for readings in _readings(text, others) if all(readings)]
    found = (map(frozenset, zip(*readings, strict=False)) for readings in words)
    return list(dict.fromkeys(word for one in found for word in one))


def _without_indefinite(question: str) -> str:
    """The question without "anything" and the like, which no text has to say; but for its names."""
    rest = _INDEFINITE.sub(" ", question)
    return rest if rest != question and terms(rest) else question


def question_language(text: str, languages: Iterable[str]) -> str:
    """The code of a question's language: English or one of those given; "en" where none is told."""
    return _spoken(text, languages) or "en"


def is_english(text: str) -> bool:
    """Whether its function words are those of English, or at least of no other language listed."""
    return _spoken(text, listed_languages()) in ("en", None)


def _spoken(question: str, among: Iterable[str]) -> str | None:
    """The language of a question's function words; what is written like a name is none of them."""
    return spoken(_accented_words(_LIKE_A_NAME.sub(" ", question)), STOP_WORDS, among)


def text_language(text: str) -> str:
    """The code of the language of a text; empty where it is too short or nothing tells it."""
    return recognise(text, STOP_WORDS)


def _readings(text: str, languages: Sequence[str]) -> Iterator[list[tuple[str, ...]]]:
    """The terms of each word of a question, read as English and in each language it may be in."""
    found = _accented_words(text)
    own = _spoken(text, languages)
    read_as = languages if own is None else [own]
    known = language_words(own or "")
    stop_words = known.stop_words if known else STOP_WORDS
    for word in found:
        if own is None or word not in stop_words:
            yield [_word_terms(fold(word)), *(_terms_in((language, word)) for language in read_as)]


def _accented_words(text: str) -> list[str]:
    """Words in small letters with their accents, which stemmers go by."""
    return _WORD.findall(unicodedata.normalize("NFKC", text.casefold()))


def _part_terms(name: str) -> list[str]:
    parts = _PART.findall(name)
    return [t for part in parts for t in _word_terms(fold(part))] if len(parts) > 1 else []


@cached(32)
def _word_terms(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS or word == "_":
        return ()
    if _UNSPACED_RUN.match(word):
        return tuple(word[i : i + 2] for i in range(len(word) - 1)) or (word,)
    word = word.removesuffix("'s").removesuffix("’s").replace("'", "").replace("’", "")
    code = ord(word[0])
    algorithm = next((name for name, letters in _STEMMERS.items() if code in letters), "english")
    return (_stemmer(algorithm).stemWord(word),)


@cached(16)
def _terms_in(spoken: tuple[str, str]) -> tuple[str, ...]:
    """Terms of a language's word in a text; what is in another script is read as such."""
    language, word = spoken
    known = language_words(language)
    if known is None or script_of(word) != known.script:
        return _word_terms(fold(word))
    if known.elision and (elided := known.elision.match(word)):
        word = word[elided.end() :]
    if not word or word in known.stop_words:
        return ()
    return (fold(_stemmer(known.stemmer).stemWord(word)).replace("'", "").replace("’", ""),)


_STEMMERS = {
    "russian": range(0x400, 0x530),
    "greek": range(0x370, 0x400),
    "arabic": range(0x600, 0x780),
}
"""Letters of scripts with a stemmer of their own; Latin and all others have that of English."""


@cache
def _stemmer(algorithm: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(algorithm, 0)  # without its cache: what was stemmed is kept by word here


def text_digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, as hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def encodable(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 has, as `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def one_line(text: str) -> str:
    """The text on one line, each run of white space as a single space."""
    return " ".join(text.split())


def counted(number: int, one: str, several: str = "") -> str:
    """How many there are, in words: `1 document`, `2 documents`, with `several` where no `s` does.

    The words may go on with a verb: `counted(1, "text is gone", "texts are gone")`.
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def plain(text: str) -> str:
    """The same, without what steers a reader's screen or is seen by machines alone."""
    return one_line(STEERING.sub(" ", text))


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


# Sentences of a text in any script.


_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“'])(?:[A-Z]|[A-Za-z](?:\.[A-Za-z])+"
    r"|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Cllr|Sgt|Rev|Hon|Gov|Sen|Rep"
    r"|vs|etc|approx|e\.g|i\.e|cf|al|No|Nos|Vol|pp|Fig|Inc|Ltd|Co|Corp|Bros|Mt|Ft"
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
    r"|:?[A-Z][\w-]{0,40}(?:[ ][\w-]{1,40}){0,3}:[ \t]|\*\*[^*\n]{1,60}(?::\*\*|\*\*:))))"
    r"|(?P<own>\n)(?![ \t]*[=\-~^\"'`*+#<>_:.]{3,}[ \t]*$)",
    re.MULTILINE,
)
_LABEL = re.compile(
    r"(?:[-*+•‣–]|\(?(?:\d{1,3}|[a-z])[.)])?[ \t]*\*\*[^*\n]{1,80}(?:\*\*[.:!?]|[.:!?]\*\*)"
)
"""The bold words that open a paragraph or an item: they name it and are no sentence."""


_LONGEST_LABEL = 120
"""Characters of a label, blanks before it among them."""
_LONGEST_ABBREVIATION = 12
"""Characters of an abbreviation, and of what stands before it."""
_LONGEST_ORDINAL = 2
"""Digits; a year ends a sentence."""
_SHORT_WORD = re.compile(r"(?<!\d )(?<![\w'’-])[A-Za-z][a-z]{0,2}\Z")
"""What may be an abbreviation; behind a number it is a unit, and ends a sentence."""
_WHOLE_WORD = re.compile(r"\b[^\W\d_]{3,}[aeiouy]\Z")
"""What is no abbreviation in English: these break off before a vowel."""
_OPENING = "([{\"'„“‚‘«»¿¡"


def sentences(text: str, language: str = "") -> list[tuple[int, int]]:
    """Ranges of the sentences, blank edges left out; every non-blank character lies in one.

    `language` is the code of the text's; its abbreviations count beside those of English.
    """
    known, own = language_words(language), _own_breaks(text)
    found: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if (match.lastgroup == "own" and match.start() not in own) or (
            match.lastgroup == "stop" and not _ends_sentence(text, start, match, known)
        ):
            continue
        if match.lastgroup == "line" and match["rule"] is None:
            start = _add_range(text, start, match.start(), found)
        start = _add_range(text, start, match.end(), found)
    _add_range(text, start, len(text), found)
    return found


def _own_breaks(text: str) -> set[int]:
    """Return where the lines end that the writer broke, as in notes and chats, not their width.

    Text that is wrapped goes on to the next line where no word would fit any more. Where half of
    the breaks between two blank lines could have waited, they all are the writer's.
    """
    found: set[int] = set()
    end = -1
    for is_blank, block in groupby(text.split("\n"), key=lambda line: not line.strip()):
        lines = list(block)
        ends = [end := end + 1 + len(line) for line in lines]
        width = max(map(len, lines))
        if not is_blank:
            fit = [
                len(line) + 1 + len(after.split(maxsplit=1)[0]) <= width
                for line, after in pairwise(lines)
            ]
            found.update(ends[:-1] if 2 * sum(fit) >= len(fit) else ())
    return found


def _ends_sentence(
    text: str, start: int, match: re.Match[str], known: LanguageWords | None
) -> bool:
    """A full stop ends a sentence unless an abbreviation or a list's number stands before it.

    Nor does it before a small letter, but for whole words of English: some write without capitals.
    """
    after = text[match.end() : match.end() + 40].lstrip()
    if match["stop"][0] in "!?…":
        return not after[:1].islower()
    label = text[start : match.end()].strip() if match.end() - start < _LONGEST_LABEL else ""
    if _LABEL.fullmatch(label) or label.removesuffix(".").isdecimal():
        return False
    before = text[max(start, match.start() - _LONGEST_ABBREVIATION) : match.start()]
    if after[:1].islower():
        return known is None and match["stop"] == "." and _WHOLE_WORD.search(before) is not None
    return not (
        _ABBREVIATION.search(text, match.start() - len(before), match.start() + 1)
        or _is_abbreviation(before, after, known)
    )


def _is_abbreviation(before: str, after: str, known: LanguageWords | None) -> bool:
    """Whether the word before a full stop is an abbreviation of the language, or an ordinal.

    In English, which has no list, a short word is one where a number follows and it is no word, or
    where it is one with a capital: "tel. 0161", "no. 9".
    """
    if known is None:
        short = _SHORT_WORD.search(before)
        if short is None or not any(map(str.isdigit, "".join(after.split()[:1]))):
            return False
        is_word = any(short[0].lower() in words for words in (english_words(), STOP_WORDS))
        return not is_word or _ABBREVIATION.match(f"{short[0].capitalize()}.") is not None
    token = before.rpartition(" ")[2].rpartition("\n")[2].lstrip(_OPENING).casefold()
    if token.isdecimal():
        return known.ordinals and len(token) <= _LONGEST_ORDINAL
    return (len(token) == 1 and token.isalpha()) or token in known.abbreviations


def _add_range(text: str, start: int, end: int, found: list[tuple[int, int]]) -> int:
    piece = text[start:end]
    if piece.strip():
        found.append((end - len(piece.lstrip()), start + len(piece.rstrip())))
    return end


def sentence_groups(text: str, most_words: int) -> Iterator[str]:
    """Sentences together, as long as they have no more words; a longer one stands alone."""
    words: list[str] = []
    for start, end in sentences(text):
        sentence = text[start:end].split()
        if words and len(words) + len(sentence) > most_words:
            yield " ".join(words)
            words = []
        words += sentence
    yield " ".join(words)


# Words that somebody says are in a text, looked up there.


_WORD_QUOTATIONS = re.compile(r"\w+")


def find_words(quoted: str, text: str) -> tuple[int, int] | None:
    """Where the words stand in the text, one after the other; None where they do not.

    Case, accents, punctuation and spaces may differ; no word may.
    """
    wanted, there = _WORD_QUOTATIONS.findall(quoted), list(_WORD_QUOTATIONS.finditer(text))
    wanted = [fold(word) for word in wanted]
    # Words that say something: a letter that is in no word of this Python's is not among them.
    if not terms(" ".join(wanted)):
        return None
    folded = [fold(match.group()) for match in there]
    for first in range(len(folded) - len(wanted) + 1):
        if folded[first : first + len(wanted)] == wanted:
            return there[first].start(), there[first + len(wanted) - 1].end()
    return None


# Near-duplicate texts, told by their runs of words (shingles, Broder 1997).


Shingle: TypeAlias = tuple[str, str, str]

_LEAST = 20
"""Words; the same few words in two places are two statements."""
_SAME = 0.85
"""Share of a text's shingles that another must hold to say the same."""
_SPACED = "\u0e00"
"""Scripts from here on are compared by characters: most of them are written without spaces."""
# Who holds the rights, and since when, makes no other text of a licence.
_RIGHTS = re.compile(
    r"(?:copyright|\(c\)|©)[^\n]{0,80}+(?:\n[ \t*#/]{1,20}+(?:19|20)\d\d[^\n]{0,80}+)*+", re.I
)


def shingles(text: str) -> Set[Shingle]:
    """Runs of three words, without notices of copyright; none of a short text."""
    found: list[str] = []
    for word in words(_RIGHTS.sub(" ", text)):
        found.extend([word] if word < _SPACED else word)
    if len(found) < _LEAST:
        return frozenset()
    return frozenset(zip(found, found[1:], found[2:], strict=False))


def says_as_much(shown: Set[Shingle], other: Set[Shingle]) -> bool:
    """Whether a text says what another does: nearly all of its words, and all of its numbers."""
    missing = other - shown
    if not other or len(missing) > (1 - _SAME) * len(other):
        return False
    return not any(word[0].isdigit() for shingle in missing for word in shingle)


# What names are looked up by: the block of names that are spelled alike, and the words of a term.
#
# Both are kept with each name of a store, so that what is near a name is found without reading
# all.


LONGEST_TERM = 5
"""Words."""
COMPANY_FORMS = {
    "corp": "corporation",
    "inc": "incorporated",
    "ltd": "limited",
    "co": "company",
    "bros": "brothers",
}
LEGAL_FORMS = frozenset(
    "ab ag aps as asa bv gmbh kft kg lda llc llp ltda nv oy oyj plc sa sarl sas sl spa srl".split()
).union(COMPANY_FORMS, COMPANY_FORMS.values())
"""Last words of companies' names, without dots, which a short form of the name leaves out."""
ENDINGS_OF_ONE_SOUND = frozenset("yij")
_SHORTEST_KEY = 6
"""Letters of a key that may vary, at least."""
_SHORTEST_WORD = 5
"""Letters of a word that may vary, at least; shorter words must be equal."""
_SOUND = str.maketrans({"z": "s", "c": "k", "q": "k", "w": "v", "y": None, "j": None, "h": None})
_ROMAN = re.compile(r"[ivxlcdm]+")
_VOWELS = re.compile(r"[aeiou]")
_REPEATED = re.compile(r"(.)\1+")
_LATIN = re.compile(r"[a-z]+")
_INFLECTING = re.compile("[\u0370-\u03ff\u0400-\u052f\u1f00-\u1fff]+")
_WORD_SPELLING = re.compile(r"[^\W_]+")
_JOINTS = frozenset("._:/$")


def lookup_keys(name: str) -> dict[str, str | None]:
    """`block` and `term` of a name, as they are kept with it; None where there is none."""
    words, key = term_words(name), entity_key(name)
    # A name with a sign ("C++ library") is found as it is written, not by its words.
    is_term = 0 < len(words) <= LONGEST_TERM and key.replace(" ", "").isalpha()
    return {
        # One word with joints within it is code, which is spelled exactly: `Client.get`.
        "block": None if is_identifier(name) else block_of(key),
        "term": " ".join(words) if is_term else None,
    }


def is_identifier(name: str) -> bool:
    """Whether a name is one word with joints within it: `Client.get`, and no "J. Smith"."""
    return " " not in name and not _JOINTS.isdisjoint(name[1:-1])


# --- words of a term


def term_words(name: str) -> tuple[str, ...]:
    """The words under which a term is known: folded, in the singular, without hyphens."""
    return tuple(map(singular, _WORD_SPELLING.findall(name)))


@cached(8)
def singular(word: str) -> str:
    """A word folded and without the ending of a plural."""
    folded = fold(word)
    if len(folded) < 4 or not folded.endswith("s") or folded.endswith(("ss", "us", "is")):
        return folded
    return f"{folded[:-3]}y" if folded.endswith("ies") else folded[:-1]


# --- blocks of names that are spelled alike


@cached(8)
def block_of(key: str) -> str | None:
    """A label that spellings of one name share; None for a key that must match exactly.

    Of each Latin word it holds the first two sounds and the last letter, or all sounds where there
    is but one word; in scripts whose names are inflected the stem. Short words and words with
    digits stand in it whole.
    """
    words = in_full(key)
    if sum(map(len, words)) < _SHORTEST_KEY or not any(map(may_vary, words)):
        return None
    if len(words) == 1 and words[0][0] <= "z":
        return skeleton(words[0])
    return " ".join([_block_of_word(word) for word in words])


def in_full(key: str) -> list[str]:
    """The words of a key, a company's form at the end in full: "acme corp"."""
    *words, last = key.split() or [""]
    return [*words, COMPANY_FORMS.get(last, last) if words else last]


@cached(8)
def may_vary(word: str) -> bool:
    """Whether a word may be spelled in more than one way: no short one, no number."""
    if len(word) < _SHORTEST_WORD or _ROMAN.fullmatch(word):
        return False
    return _LATIN.fullmatch(word) is not None or _INFLECTING.fullmatch(word) is not None


@cached(8)
def _block_of_word(word: str) -> str:
    if not may_vary(word):
        return word
    if word[0] > "z":
        return word[:3] + "".join(terms(word))
    return skeleton(word)[:2] + ("y" if word[-1] in ENDINGS_OF_ONE_SOUND else word[-1])


@cached(8)
def skeleton(word: str) -> str:
    """The first letter and the consonants after it, letters of one sound taken for one."""
    word = word.replace("ph", "f")
    rest = _VOWELS.sub("", word[1:].translate(_SOUND))
    return _REPEATED.sub(r"\1", word[0].translate(_SOUND) + rest)
