"""Sentences of a text in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.languages import LanguageWords, language_words

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“'])(?:[A-Z]|[A-Za-z](?:\.[A-Za-z])+"
    r"|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Cllr|Sgt|Rev|Hon|Gov|Sen|Rep"
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
_LONGEST_ABBREVIATION = 12
"""Characters of an abbreviation, and of what stands before it."""
_LONGEST_ORDINAL = 2
"""Digits; a year ends a sentence."""
_OPENING = "([{\"'„“‚‘«»¿¡"
_LONGEST_NUMBER = 40
"""Characters of a list's number, blanks before it among them."""


def sentences(text: str, language: str = "") -> list[tuple[int, int]]:
    """Ranges of the sentences, blank edges left out; every non-blank character lies in one.

    `language` is the code of the text's; its abbreviations count beside those of English.
    """
    known = language_words(language)
    found: list[tuple[int, int]] = []
    start = 0
    for match in _BREAK.finditer(text):
        if match.lastgroup == "stop" and not _ends_sentence(text, start, match, known):
            continue
        if match.lastgroup == "line" and match["rule"] is None:
            start = _add_range(text, start, match.start(), found)
        start = _add_range(text, start, match.end(), found)
    _add_range(text, start, len(text), found)
    return found


def _ends_sentence(
    text: str, start: int, match: re.Match[str], known: LanguageWords | None
) -> bool:
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
    first = max(start, match.start() - _LONGEST_ABBREVIATION)
    if _ABBREVIATION.search(text, first, match.start() + 1):
        return False
    return known is None or not _is_abbreviation(text[first : match.start()], known)


def _is_abbreviation(before: str, known: LanguageWords) -> bool:
    """Whether the word before a full stop is an abbreviation of the language, or an ordinal."""
    token = before.rpartition(" ")[2].rpartition("\n")[2].lstrip(_OPENING).casefold()
    if token.isdecimal():
        return known.ordinals and len(token) <= _LONGEST_ORDINAL
    return (len(token) == 1 and token.isalpha()) or token in known.abbreviations


def _add_range(text: str, start: int, end: int, found: list[tuple[int, int]]) -> int:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        left = start + len(piece) - len(piece.lstrip())
        found.append((left, left + len(stripped)))
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
