"""What a sentence gives its names as examples of: "distributions such as Debian and Fedora".

Hearst, "Automatic acquisition of hyponyms from large text corpora" (1992).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clew.indexing.ner.name_lexicon import DEMONYMS, is_ordinary
from clew.indexing.relations.name_context import is_whole
from clew.text import STOP_WORDS
from clew.word_lists import read_word_lists, word_list

if TYPE_CHECKING:
    from clew.indexing.ner.spans import NameSpan

_LONGEST_LIST = 12
_LISTS = read_word_lists("clew.indexing.relations", "phrases.toml")
_VAGUE = word_list(_LISTS["vague_nouns"]) | DEMONYMS
_MARKS = r"[\s`\"“*_:(]{0,4}(?:[a-z]{2,5}:`)?(?:the )?"
_SUCH_AS = re.compile(
    rf"\b(?P<noun>[a-z]{{3,20}}),?\s(?:such as|including|e\.g\.,?|for example)\s?{_MARKS}$"
)
_LISTED = re.compile(
    r"[`\"”*_)]{0,3}(?:,|,?\s(?:and|or|and/or))[\s`\"“*_:(]{1,4}(?:[a-z]{2,5}:`)?(?:the )?"
)
_OTHERS = re.compile(
    r"[`\"”*_)]{0,3},?\s(?:and|or)\s(?:(?:many|several|some|all|similar)\s)?other\s"
    r"(?:[a-z-]{3,20}\s)?(?P<noun>[a-z]{3,20})(?=[\s,.;:)]|$)"
)


def find_examples(
    text: str, start: int, end: int, names: Sequence[NameSpan]
) -> Iterator[tuple[NameSpan, str]]:
    """(name, noun in the singular) of each name that is an example of what the noun says."""
    for i, name in enumerate(names):
        before = _SUCH_AS.search(text, max(start, name.start - 50), name.start)
        if before and (noun := singular(before["noun"])):
            listed = list(_list_from(text, names, i))
            # "applications such as the KDE desktop" are not what KDE is.
            if is_whole(text, listed[-1], end, ""):
                yield from ((one, noun) for one in listed)
        after = _OTHERS.match(text, name.end, end)
        if after and (noun := singular(after["noun"])):
            yield from ((one, noun) for one in _list_to(text, names, i))


def _list_from(text: str, names: Sequence[NameSpan], first: int) -> Iterator[NameSpan]:
    yield names[first]
    for left, right in zip(names[first:], names[first + 1 : first + _LONGEST_LIST], strict=False):
        if not _LISTED.fullmatch(text, left.end, right.start):
            return
        yield right
        if text[left.end : right.start].strip('`"”*_) ,').startswith(("and", "or")):
            return


def _list_to(text: str, names: Sequence[NameSpan], last: int) -> Iterator[NameSpan]:
    yield names[last]
    for i in range(last, max(0, last - _LONGEST_LIST), -1):
        gap = text[names[i - 1].end : names[i].start]
        if gap.strip('`"”“*_():acdefmntuhls \n') != "," or "\n\n" in gap:
            return
        yield names[i - 1]


def singular(noun: str) -> str:
    """The singular of an English plural that tells what things are; empty for others."""
    if not noun.endswith("s") or noun.endswith(("ss", "us", "is")) or noun in STOP_WORDS:
        return ""
    one = noun[:-1]
    if noun.endswith("ies"):
        one = f"{noun[:-3]}y"
    elif noun.endswith(("sses", "xes", "ches", "shes")):
        one = noun[:-2]
    return "" if one in _VAGUE or noun in _VAGUE or not is_ordinary(one) else one
