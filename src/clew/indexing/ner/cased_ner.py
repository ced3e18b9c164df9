"""Names in scripts that have capitals: Latin, Cyrillic, Greek, Armenian and their kin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.indexing.ner.entity_types import is_person_shaped, type_of_name
from clew.indexing.ner.layout import (
    heading_end,
    is_in_identifier,
    is_label,
    opens_line,
    wrapped_end,
)
from clew.indexing.ner.name_lexicon import (
    CALENDAR,
    COMMON_WORDS,
    CONNECTORS,
    DEMONYMS,
    OPENING_VERBS,
    ORGANISATION_PREFIXES,
    SECTION_WORDS,
    STARTERS,
    is_first_name,
    is_ordinary,
)
from clew.indexing.ner.patterns.capitals import NAME, PREFIXES, UPPER, VERSION, W
from clew.indexing.ner.patterns.name_edges import Token, trim_name
from clew.indexing.ner.patterns.run_together import is_run_together
from clew.indexing.ner.spans import NameSpan
from clew.text import STOP_WORDS
from clew.word_lists import word_list

_SMALL_PREFIX = re.compile(rf"(?<!{W})(?:[a-z]{{1,2}}|(?:{PREFIXES})[-‐’'])$")
_NUMBER_BEFORE = re.compile(r"(?<!\w)(?:\d+(?:st|nd|rd|th)|(?<=[Tt]he )(?:1[89]|20)\d\d) $")
_COMPANY_END = re.compile(r"\b(?:Inc|Ltd|Corp|Co)\.(?= (?!Inc|Ltd|Corp|LLC|of\b|&|and\b))")
"""The last word of a company's name; what follows it is another name."""
_NUMBERED = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){0,4}|[A-Z]|[IVX]{1,5})")
_NUMBER_AFTER = re.compile(r"[ \u00a0]\d")
_BROKEN = re.compile(r"-\n[ \t]{0,40}[a-z]")
_JOINT = re.compile(rf"(?: for(?: the)?|,? and) (?=[{UPPER}])")

_MOST_SHOUTED = 3
"""Ordinary words in capitals that may be a name; more are shouted."""
_YEAR_AFTER = re.compile(r",?\s(?:1[5-9]|20)\d\d\b")
_GROUP_HEADS = ORGANISATION_PREFIXES | word_list(
    "center centre foundation campaign fund prize agency movement coalition alliance award"
)
_CONTRACTION = re.compile(r"['’](?:s|m|re|ve|ll|d|t)$")
_TOKEN = re.compile(r"\S+")
_DOT_BEFORE = re.compile(r"(?:\A|\s)\.\Z")
_SIGNS = re.compile(r"[+#]{1,2}(?![\w+#])")


def find_names(text: str, start: int, end: int) -> list[NameSpan]:
    """Capitalised spans of the sentence `text[start:end]`, each followed by the names in it.

    "University of Chicago" is followed by "Chicago"; "Nolan's Inception" by "Nolan" and
    "Inception". Single words where a sentence, quotation or line opens are marked `initial`.
    """
    found: list[NameSpan] = []
    if _is_shouted(text, start, end):
        return found
    position, heading = start, heading_end(text, start, start, end)
    while match := NAME.search(text, position, end):
        left, position = match.span()
        left = _with_prefix(text, start, left)
        if left < 0:
            continue
        whole, position = position, _end_of_name(text, left, position, end)
        if position == left:
            position = whole
            continue
        if is_in_identifier(text, start, left, position, end):
            continue
        heading = max(heading, heading_end(text, start, left, end))
        opens = opens_line(text, start, left)
        label = opens and is_label(text, position)
        read = [_with_sign(text, s, end) for s in _read_span(text, left, position, opens)]
        found += [s._replace(initial=True) for s in read] if label or left < heading else read
    return found


def _with_sign(text: str, span: NameSpan, end: int) -> NameSpan:
    """The name with the signs beside it that make it another one: "FAVOR+", "C++", ".NET"."""
    if _DOT_BEFORE.search(text, max(span.start - 2, 0), span.start):
        span = span._replace(start=span.start - 1, name=f".{span.name}")
    sign = _SIGNS.match(text, span.end, end)
    return span._replace(end=sign.end(), name=span.name + sign[0]) if sign else span


def _end_of_name(text: str, left: int, right: int, end: int) -> int:
    """Where the name really ends: with its line, with its company, or with a second group."""
    right = wrapped_end(text, left, right)
    if _BROKEN.match(text, right):  # the last word goes on: "Acme De-\nvelopment"
        right = max(text.rfind(" ", left, right), left)
    company = _COMPANY_END.search(text, left, right)
    return company.end() if company else _with_joint(text, left, right, end)


def is_one_name(text: str) -> bool:
    """Whether capitals and connectors alone show the whole text to be one name."""
    return NAME.fullmatch(text) is not None


def _is_shouted(text: str, start: int, end: int) -> bool:
    """Whether a sentence of several words is all in capitals, so that they say nothing."""
    if not text[start : start + 3].isupper():
        return False
    sentence = text[start:end]
    return sentence.isupper() and sentence.count(" ") > 2


def _with_prefix(text: str, start: int, left: int) -> int:
    """Where the name really starts ("iPhone", "al-Rashid", "20th Century"); -1 within a word."""
    if left == start:
        return left
    before = text[left - 1]
    if before == " ":
        if left - 2 >= start and text[left - 2] in "0123456789htd":
            number = _NUMBER_BEFORE.search(text, max(start, left - 10), left)
            return number.start() if number else left
        return left
    if before in "-‐’'" or before.isalnum():
        small = _SMALL_PREFIX.search(text, max(start, left - 4), left)
        if small:
            return small.start()
        if before == "-" and text[left - 2 : left - 1].isdigit():  # "5.005-T1", "2003-Aug-01"
            return -1
        return -1 if before.isalnum() and before.isascii() else left
    return left


def _with_joint(text: str, left: int, right: int, end: int) -> int:
    """The end of a group's name that goes on: "Department of Health | and Human Services"."""
    joint = _JOINT.match(text, right, end)
    if joint is None:
        return right
    head, _, rest = text[left:right].partition(" ")
    tail = text[left:right].rpartition(" ")[2].casefold()
    is_for = text.startswith(" for", right)
    named = head.casefold() in _GROUP_HEADS and rest.startswith(("of ", "for "))
    if not ((named and not is_for) or (is_for and tail in _GROUP_HEADS)):
        return right
    more = NAME.match(text, joint.end(), end)
    return more.end() if more else right


def _read_span(text: str, left: int, right: int, opens: bool) -> Sequence[NameSpan]:
    raw = text[left:right]
    if raw.casefold() in SECTION_WORDS and _NUMBER_AFTER.match(text, right):
        return ()
    if raw.isalnum():
        return _single(left, raw, opens)
    tokens = [(m.start(), m.group()) for m in _TOKEN.finditer(text, left, right)]
    if len(tokens) > 1 and _is_numbered_entry(tokens[0][1], tokens[1][1], opens):
        tokens, opens = tokens[1:], True
    is_dated = _YEAR_AFTER.match(text, right) is not None
    while len(tokens) > 1 and is_run_together(tokens[0][1]):
        tokens = tokens[1:]
    while len(tokens) > 1 and is_run_together(tokens[-1][1]):
        tokens = tokens[:-1]
    first, last = trim_name(tokens, opens, is_dated=is_dated)
    while last - first > 1 and tokens[last - 1][1] == "of":  # a date stood behind it
        last -= 1
    if last - first == 1:
        return _single(*tokens[first], opens and first == 0)
    kept = tokens[first:last]
    half = len(kept) // 2
    if half and [t for _, t in kept[:half]] == [t for _, t in kept[half:]]:  # a name said twice
        return [*_several(kept[:half]), *_several(kept[half:])]
    return _several(kept) if kept else ()


def _is_numbered_entry(first: str, second: str, opens: bool) -> bool:
    """Whether a letter ends a sentence, or numbers an entry that begins with a verb.

    "of the object X. The length", "B. Use"; but "J. Smith".
    """
    is_letter = len(first) == 2 and first[0].isalpha() and first[1] == "."
    return is_letter and second.casefold() in (OPENING_VERBS | STARTERS if opens else STARTERS)


def _single(start: int, token: str, opens: bool) -> Sequence[NameSpan]:
    name = _without_adjective(_bare(token))
    if is_run_together(name):
        return ()
    lower = name.casefold().strip(".").replace("’", "'")
    if (
        len(name) < 2
        or lower.rstrip("-0123456789") in CALENDAR
        or (lower in STARTERS and not name.isupper())
    ):
        return ()
    if "'" in lower and _CONTRACTION.search(lower):
        return ()
    shouted = name.isupper() and len(name) > 2 and is_ordinary(name)
    gerund = name.endswith("ing") and is_ordinary(name)
    initial = shouted or ((opens or gerund) and name[1:].islower())
    return (NameSpan(start, start + len(name), name, type_of_name(name), initial),)


def _without_adjective(token: str) -> str:
    """What a word names whose later part is a small one: the first part of "English-speaking"."""
    head, dash, tail = token.partition("-")
    return head if dash and tail.islower() and is_ordinary(tail) else token


def _several(tokens: Sequence[Token]) -> Sequence[NameSpan]:
    if len(tokens) == 1:
        return _single(*tokens[0], opens=False)
    if tokens[0][1].casefold() in SECTION_WORDS and all(
        _NUMBERED.fullmatch(token) for _, token in tokens[1:]
    ):
        return ()
    if all(t.casefold().strip(".,") in CALENDAR or t[0].isdigit() for _, t in tokens):
        return ()
    if all(t.isupper() and is_ordinary(t) for _, t in tokens) and (
        len(tokens) > _MOST_SHOUTED or any(t.casefold() in STOP_WORDS for _, t in tokens)
    ):
        return ()
    if VERSION.fullmatch(tokens[-1][1]):
        return _versioned(tokens[:-1], tokens)
    if at := _person_of(tokens):
        return [*_several(tokens[:at]), *_several(_without_article(tokens[at + 1 :]))]
    whole = _span(tokens)
    found = [] if _is_owned(tokens, whole.entity_type) else [whole]
    for part in _parts(tokens, whole.entity_type):
        if len(part) > 1 or _names_alone(part[0][1]):
            found.append(_span(part, nested=bool(found) and found[0] is whole))
    return [*found, *_before_of(tokens)]


def _before_of(tokens: Sequence[Token]) -> Iterator[NameSpan]:
    """What stands before "of", a name where the text has it alone: "Union | of Miners"."""
    for i, (_, token) in enumerate(tokens[:-1]):
        if token == "of" and i > 1:
            span = _span(tokens[:i], nested=True)
            yield span._replace(initial=span.entity_type != "person")


def _is_owned(tokens: Sequence[Token], kind: str) -> bool:
    """Whether one name only has another: "Debian's Qt"; no "Moore's Law"."""
    owners = [i for i, (_, token) in enumerate(tokens[:-1]) if token.endswith(("'s", "’s"))]
    if len(owners) != 1 or kind not in ("name", "person"):
        return False
    return not any(is_ordinary(token) for _, token in tokens[owners[0] + 1 :])


def _person_of(tokens: Sequence[Token]) -> int:
    """Where "of" stands behind a full name ("Ann Lee of the Manuscript Division"), or 0."""
    words = [token for _, token in tokens]
    at = words.index("of") if "of" in words else 0
    if not 1 < at < len(words) - 1 or not is_first_name(words[0]):
        return 0
    is_person = words[at + 1] == "the" or not is_ordinary(words[at - 1])
    return at if is_person and is_person_shaped(" ".join(words[:at])) else 0


def _versioned(product: Sequence[Token], tokens: Sequence[Token]) -> Sequence[NameSpan]:
    """A product with its version, and the product; ordinary words have no version."""
    lower = {token.casefold() for _, token in product}
    if lower & (COMMON_WORDS | SECTION_WORDS) and all(is_ordinary(token) for token in lower):
        return [span._replace(initial=True) for span in _several(product)]
    version = _span(tokens)._replace(entity_type="product")
    return [version, _span(product, nested=True)._replace(entity_type="product")]


def _parts(tokens: Sequence[Token], kind: str) -> Iterator[Sequence[Token]]:
    """Names within a name: around a possessive, after "of" and a demonym."""
    for i, (_, token) in enumerate(tokens[:-1]):
        after = tokens[i + 1 :]
        if token.endswith(("'s", "’s")):
            yield tokens[: i + 1]
            yield after
        elif token == "of":
            yield _without_article(after)
        elif i == 0 and token.casefold() in DEMONYMS and kind in ("name", "person"):
            yield tokens[:1]
            yield after
        elif i == 0 and token.isdigit():
            yield after


def _without_article(tokens: Sequence[Token]) -> Sequence[Token]:
    return tokens[1:] if tokens[0][1] in CONNECTORS else tokens


def _names_alone(token: str) -> bool:
    lower = _bare(token).casefold().strip(".")
    return (
        len(lower) > 1
        and not token[0].isdigit()
        and token[0].isupper()
        and lower not in STARTERS
        and lower not in CALENDAR
        and lower not in COMMON_WORDS
    )


def _span(tokens: Sequence[Token], *, nested: bool = False) -> NameSpan:
    name = _bare(" ".join([token for _, token in tokens]))
    start, (last_start, last) = tokens[0][0], tokens[-1]
    return NameSpan(start, last_start + len(_bare(last)), name, type_of_name(name), nested=nested)


def _bare(token: str) -> str:
    """Without the possessive at its end."""
    return token[:-2] if token.endswith(("'s", "’s")) else token
