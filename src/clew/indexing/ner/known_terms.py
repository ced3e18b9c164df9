"""Terms that a document makes known, found wherever it uses them, in small letters too.

A heading, bold text, an identifier, a path and a name that is no ordinary word make a term known.
It counts once the text uses it in small letters; plural, hyphens and case make no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from clew.indexing.ner.cased_ner import UPPER, technical_words
from clew.indexing.ner.entity_types import (
    CODE,
    COMMON_WORDS,
    CONNECTORS,
    STARTERS,
    NameSpan,
    SentenceSpans,
    is_first_name,
    is_ordinary,
    type_of_name,
)
from clew.languages import read_patterns
from clew.text import LONGEST_TERM, entity_key, fold, singular, term_words
from clew.types import Chunk, Document

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["known_terms"]

MOST_TERMS = 2_000
"""Of one document; the first ones count."""
LEAST_USES = 2
"""Uses in small letters that make a heading a term."""
_TOOL = "product"
"""What a word is that no dictionary has, where it stands in monospaced type and in prose."""
_MAKE_KNOWN = ("bold", "heading", "underlined")
_JOINED = frozenset((" ", "-", "\u2010", "\n"))
_PARTS = frozenset("/_.@-\\=")
_SIGNS = frozenset("+#")
"""What makes a word another name."""
_LONE_TYPES = frozenset(("name", "product", "organisation", "code"))
_SHORTEST_LONE = 4
"""Letters of a term of one word, at least."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownTerms:
    """Terms by their words, for a search that reads each word of a text a bounded time."""

    names: Mapping[Words, str]
    """The term as it was made known, by its singular folded words."""
    openings: Set[Words]
    """The words that any of them begins with."""

    @classmethod
    def of(cls, names: Iterable[str]) -> KnownTerms:
        """The first of names that differ by case, plural or hyphens stays."""
        terms: dict[Words, str] = {}
        for name in names:
            words = term_words(name)
            is_plain = entity_key(name).replace(" ", "").isalnum()  # no "C++ library"
            if 0 < len(words) <= LONGEST_TERM and is_plain and len(terms) < MOST_TERMS:
                terms.setdefault(words, name)
        return cls(terms, frozenset(w[:n] for w in terms for n in range(1, len(w) + 1)))

    def find(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, name) of each term of `text[start:end]`, the longest where several begin."""
        tokens = [match.span() for match in _RE["word"].finditer(text, start, end)]
        at = 0
        while at < len(tokens):
            left, right = tokens[at]
            if (singular(text[left:right]),) not in self.openings:  # as with nearly all words
                at += 1
                continue
            size, name = self._longest(text, tokens[at : at + LONGEST_TERM])
            if size:
                yield tokens[at][0], tokens[at + size - 1][1], name
            at += size or 1

    def _longest(self, text: str, tokens: Sequence[tuple[int, int]]) -> tuple[int, str]:
        words: Words = ()
        found = (0, "")
        for i, (left, right) in enumerate(tokens):
            if i and text[tokens[i - 1][1] : left] not in _JOINED:
                break
            words = (*words, singular(text[left:right]))
            if words not in self.openings:
                break
            if words in self.names:
                found = (i + 1, self.names[words])
        return found


def phrases(text: str, start: int, end: int) -> Iterator[str]:
    """Words in a row of `text[start:end]` that a term may have, as `lookup_keys` gives them."""
    tokens = [match.span() for match in _RE["word"].finditer(text, start, end)]
    words = [singular(text[left:right]) for left, right in tokens]
    for first, word in enumerate(words):
        if word.isalpha():
            yield word
        if word in CONNECTORS:
            continue
        phrase = word
        for at in range(first, min(first + LONGEST_TERM, len(words))):
            word = words[at]
            if not word.isalpha() or (word in STARTERS and word not in CONNECTORS):
                break
            if at > first:
                if text[tokens[at - 1][1] : tokens[at][0]] not in _JOINED:
                    break
                phrase = f"{phrase} {word}"
                yield phrase


def add_known_terms(
    text: str, chunks: Sequence[str], found: Sequence[Sequence[SentenceSpans]]
) -> list[list[SentenceSpans]]:
    """The sentences of each chunk with the terms that the document `text` makes known."""
    technical = technical_words(text)
    sure = list(_sure_names(found))
    marked = (match["text"] for kind in _MAKE_KNOWN for match in _RE[kind].finditer(text))
    headed = (words.strip().rstrip(":.") for words in marked)
    known = KnownTerms.of(
        [*(span.name for span in sure), *filter(may_be_term, headed), *sorted(technical)]
    )
    uses = Counter(name for a, b, name in known.find(text, 0, len(text)) if text[a:b].islower())
    stated = {term_words(s.name) for s in sure} | {
        term_words(match["text"]) for match in _RE["bold"].finditer(text)
    }
    kept = KnownTerms.of(
        name
        for words, name in known.names.items()
        if uses[name] >= (1 if words in stated else LEAST_USES)
    )
    if not kept.names:
        return [list(sentences) for sentences in found]
    kinds = dict.fromkeys(technical, _TOOL) | {
        span.name: _TOOL if span.entity_type == CODE and span.name.isalpha() else span.entity_type
        for span in sure
    }
    return [
        [_with_terms(chunk, sentence, kept, kinds) for sentence in sentences]
        for chunk, sentences in zip(chunks, found, strict=True)
    ]


def _sure_names(found: Sequence[Sequence[SentenceSpans]]) -> Iterator[NameSpan]:
    """Names of several words that may be written small as well: of no person, place or title."""
    for sentences in found:
        for sentence in sentences:
            for span in sentence.spans:
                if span.initial or span.nested:
                    continue
                # Several words; of a person or a place, say, one that no dictionary has.
                is_telling = span.entity_type in ("name", "concept") or (
                    span.entity_type != CODE and not all(map(is_ordinary, span.name.split()))
                )
                if (is_telling and may_be_term(span.name)) or (
                    not (span.entity_type == "name" and span.name[1:].islower())
                    and span.entity_type in _LONE_TYPES
                    and len(span.name) >= _SHORTEST_LONE
                    and span.name.isalpha()
                    and not is_ordinary(span.name)
                ):
                    yield span


def may_be_term(name: str) -> bool:
    """Several words that mean something together; not a sentence and not a common heading."""
    words = [fold(word) for word in _RE["word"].findall(name)]
    if not 2 <= len(words) <= LONGEST_TERM or not all(word.isalpha() for word in words):
        return False
    if any(word in STARTERS and word not in CONNECTORS for word in words):
        return False
    return words[0] not in CONNECTORS and not all(word in COMMON_WORDS for word in words)


def _with_terms(
    text: str, sentence: SentenceSpans, known: KnownTerms, kinds: Mapping[str, str]
) -> SentenceSpans:
    taken = bytearray(sentence.end - sentence.start)
    for span in sentence.spans:
        if not span.initial:
            left, right = span.start - sentence.start, span.end - sentence.start
            taken[left:right] = b"\1" * (right - left)
    new = [
        NameSpan(
            left,
            right,
            name,
            kinds.get(name, "concept" if all(map(is_ordinary, name.split())) else "name"),
        )
        for left, right, name in known.find(text, sentence.start, sentence.end)
        if not any(taken[left - sentence.start : right - sentence.start])
        and stands_apart(text, left, right)
    ]
    if not new:
        return sentence
    spans = sorted([*sentence.spans, *new], key=lambda s: (s.start, -s.end, s.nested))
    return sentence._replace(spans=tuple(spans))


def stands_apart(text: str, left: int, right: int) -> bool:
    """Whether the words are no part of a path, an address or a variable."""
    before, after = text[left - 1 : left] if left else "", text[right : right + 2]
    goes_on = after[:1] in _SIGNS or (after[:1] in _PARTS and after[1:].isalnum())
    return before not in _PARTS and not goes_on


# Titles of works in quotation marks or italics.


_PAIRS = re.compile(
    r"\"\s?(?P<straight>[^\"\n]{2,90}?)\s?\""
    r"|``\s?(?P<latex>[^`'\n]{2,90}?)\s?''"
    r"|“\s?(?P<curly>[^“”\n]{2,90}?)\s?”"
    r"|„\s?(?P<low>[^„“”\n]{2,90}?)\s?[“”]"
    r"|«\s?(?P<angle>[^«»\n]{2,90}?)\s?»"
    r"|(?<![\w'’])['‘](?P<single>[^'‘’\n]{2,60})['’](?!\w)"
    r"|《(?P<book>[^《》\n]{1,60})》|〈(?P<article>[^〈〉\n]{1,60})〉"
    r"|『(?P<double>[^『』\n]{1,60})』|「(?P<corner>[^「」\n]{1,40})」"
    r"|(?<![\w*])\*\*(?P<bold>[^\s*][^*\n]{0,88})\*\*(?![\w*])"
    r"|(?<![\w*])\*(?P<star>[^\s*][^*\n]{0,88})\*(?![\w*])"
    r"|(?<![\w:`])`(?P<phrase>[^\s`<>][^`<>\n]{2,88}?)(?:\s<[^<>`\n]{1,200}>)?`__?(?!\w)"
    r"|(?<!\w)_(?P<underscore>[^\s_][^_\n]{0,88})_(?!\w)"
)
_MOST_SHOUTED = 3
"""Words of a title in capitals, at most; more are shouted, or a heading."""
_STRESSED = frozenset(("bold", "star", "underscore", "phrase"))
_SPEAKERS = frozenset("you i we he she it they".split())
"""What speech rather than a title opens with: "You hear the doors!"."""


def find_quoted(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Quoted or italic titles: what stands in marks and is written as a title, not as speech."""
    position = start
    while mark := _RE["mark"].search(text, position, end):
        match = _PAIRS.match(text, mark.start(), end)
        position = match.end() if match else mark.end()
        if match is None:
            continue
        group = match.lastgroup or ""
        raw = match[group]
        name = raw.strip().rstrip(",.;")
        if group in ("book", "article", "double") or (name and _reads_as_title(name)):
            left = match.start(group) + len(raw) - len(raw.lstrip())
            # What is only stressed is a term, which the text must confirm if it is ordinary.
            is_word = " " not in name
            is_term = group in _STRESSED and (group in ("bold", "phrase") or is_word)
            unsure = (is_term or (group == "single" and is_word)) and all(
                map(is_ordinary, name.split())
            )
            kind = type_of_name(name) if is_term else "work"
            yield NameSpan(left, left + len(name), name, kind, unsure)


def _reads_as_title(text: str) -> bool:
    """Whether words are capitalised as in a title: the first, and most of four letters or more."""
    words = _RE["word_quoted_titles"].findall(text)
    if (
        not words
        or len(words) > 12
        or _RE["code"].search(text)
        or (text[-1] in "!?" and len(words) > 6)
    ):
        return False
    if not (words[0][0].isupper() or text[0].isdigit()) and words[0].upper() != words[0].lower():
        return False
    if len(words) > _MOST_SHOUTED and text.isupper():
        return False
    if text[-1] in "!?" and words[0].casefold() in _SPEAKERS:
        return False
    long = [word for word in words[1:] if len(word) > 3]
    return sum(not word[0].islower() for word in long) * 3 >= len(long) * 2


# Who speaks in a conversation: the name before a colon, at the start of a turn.


_SPEAKER = rf"(?P<name>[{UPPER}][\w'’.-]*(?: [{UPPER}][\w'’.-]*){{0,2}}): ?(?=\S)"
_OPENING = re.compile(_SPEAKER)
_TURN = re.compile(f"^{_SPEAKER}", re.MULTILINE)
WITH_ASSISTANTS = frozenset({"chatgpt", "claude"})
"""Apps in which everybody is called the same."""


def find_speakers(chunks: Sequence[Chunk]) -> list[str]:
    """Names before the colon that opens a chunk of a conversation, fields such as "License" not."""
    found = (_OPENING.match(chunk.text) for chunk in chunks)
    speakers: dict[str, None] = {}
    for name in (match["name"] for match in found if match):
        words = name.casefold().split()
        is_ordinary_word = name.isupper() or all(map(is_ordinary, words))
        if not _RE["field"].search(name) and (is_first_name(words[0]) or not is_ordinary_word):
            speakers[name] = None
    return list(speakers)


def roles_of(document: Document) -> frozenset[str]:
    """What the turns of a talk with an assistant are opened by, which names nobody."""
    if document.metadata.get("app") not in WITH_ASSISTANTS:
        return frozenset()
    return frozenset(str(piece.metadata.get("speaker")) for piece in document.pieces)


def without_roles(
    text: str, sentences: Sequence[SentenceSpans], roles: Collection[str]
) -> list[SentenceSpans]:
    """The sentences without the roles ("User:") that open turns of a talk with an assistant."""
    starts = {match.start() for match in _TURN.finditer(text) if match["name"] in roles}
    return [
        s._replace(spans=tuple(span for span in s.spans if span.start not in starts))
        for s in sentences
    ]


def find_turns(text: str, speakers: Collection[str]) -> list[re.Match[str]]:
    """Where somebody begins to speak, by `name`; none where the document has no speakers."""
    return list(_TURN.finditer(text)) if speakers else []


# Who takes part in a conversation, by the fields and lines of its record: mostly nicknames.


_LEAST = 2
"""Lines that make a text a record of a conversation."""
_MOST = 500
"""People of one conversation."""


def find_members(document: Document) -> frozenset[str]:
    """The names under which people write in a document; those that are ordinary words left out."""
    spoken = [piece.metadata.get("speaker") for piece in document.pieces]
    names = [name for name in spoken if isinstance(name, str) and _RE["token"].fullmatch(name)]
    for pattern in (_RE["field_members"], _RE["line"], _RE["present"]):
        found = [match["name"] for match in pattern.finditer(document.text)]
        names += found if len(found) >= _LEAST else []
    kept = (
        name
        for name in dict.fromkeys(names)
        if any(map(str.isalpha, name))
        and not (name.isalpha() and name.islower() and is_ordinary(name))
    )
    return frozenset(name for name, _ in zip(kept, range(_MOST), strict=False))


def find_mentioned(members: Collection[str], text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Where a text names one of them."""
    for match in _RE["token"].finditer(text, start, end):
        name = match.group().rstrip(".-")
        if name in members:
            yield NameSpan(match.start(), match.start() + len(name), name, "person")
