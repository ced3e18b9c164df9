"""Titles of works in quotation marks or italics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.indexing.ner.entity_types import type_of_name
from clew.indexing.ner.name_lexicon import is_ordinary
from clew.indexing.ner.spans import NameSpan

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
_MARK = re.compile(r"[\"“„«《〈『「*_`'‘]")
_MOST_SHOUTED = 3
"""Words of a title in capitals, at most; more are shouted, or a heading."""
_STRESSED = frozenset(("bold", "star", "underscore", "phrase"))
_CODE = re.compile(r"[$={}<>\\_/|;@#\[\]~^]|\?\?|::|\(\)")
_WORD = re.compile(r"[^\W\d_]+")
_SPEAKERS = frozenset("you i we he she it they".split())
"""What speech rather than a title opens with: "You hear the doors!"."""


def find_quoted(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Quoted or italic titles: what stands in marks and is written as a title, not as speech."""
    position = start
    while mark := _MARK.search(text, position, end):
        match = _PAIRS.match(text, mark.start(), end)
        position = match.end() if match else mark.end()
        if match is None:
            continue
        group = match.lastgroup or ""
        raw = match[group]
        name = raw.strip().rstrip(",.;")
        if group in ("book", "article", "double") or (name and _reads_as_title(name)):
            left = match.start(group) + len(raw) - len(raw.lstrip())
            yield _span(left, name, group)


def _span(left: int, name: str, group: str) -> NameSpan:
    """A title; what is only stressed is a term, which the text must confirm if it is ordinary."""
    ordinary = all(map(is_ordinary, name.split()))
    if group in _STRESSED and (group in ("bold", "phrase") or " " not in name):
        return NameSpan(left, left + len(name), name, type_of_name(name), ordinary)
    unsure = ordinary and group == "single" and " " not in name
    return NameSpan(left, left + len(name), name, "work", unsure)


def _reads_as_title(text: str) -> bool:
    """Whether words are capitalised as in a title: the first, and most of four letters or more."""
    words = _WORD.findall(text)
    if not words or len(words) > 12 or _CODE.search(text) or (text[-1] in "!?" and len(words) > 6):
        return False
    if not (words[0][0].isupper() or text[0].isdigit()) and not _is_caseless(words[0]):
        return False
    if len(words) > _MOST_SHOUTED and text.isupper():
        return False
    if text[-1] in "!?" and words[0].casefold() in _SPEAKERS:
        return False
    long = [word for word in words[1:] if len(word) > 3]
    return sum(not word[0].islower() for word in long) * 3 >= len(long) * 2


def _is_caseless(word: str) -> bool:
    return word.upper() == word.lower()
