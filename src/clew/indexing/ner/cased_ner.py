"""Names in scripts that have capitals: Latin, Cyrillic, Greek, Armenian and their kin; of code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from clew.indexing.ner.entity_types import (
    CALENDAR,
    CODE,
    COMMON_WORDS,
    CONNECTORS,
    COURTESY,
    DEMONYMS,
    OPENING_VERBS,
    ROLES,
    SECTION_WORDS,
    STARTERS,
    NameSpan,
    is_first_name,
    is_ordinary,
    is_person_shaped,
    type_of_name,
)
from clew.languages import read_patterns, read_word_lists, word_list
from clew.text import STOP_WORDS

_RE = read_patterns("clew.indexing.ner", "patterns.toml")["cased_ner"]

# The shape of names in scripts that have capitals, as one expression.


# Blocks with two cases: Latin, Greek, Cyrillic, Armenian; Georgian and Glagolitic; Latin and Greek
# extensions; Coptic; Cyrillic and Latin extensions.
_CASED = ((0x41, 0x590), (0x10A0, 0x1100), (0x1E00, 0x2000), (0x2C00, 0x2D30), (0xA640, 0xA7FF))
UPPER = "".join(chr(c) for low, high in _CASED for c in range(low, high) if chr(c).isupper())
# Letters of scripts without spaces, which Python's \w takes for part of a Latin word beside them.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f"
)
W = rf"[^\W_{_UNSPACED}]"
LONGEST_NAME = 16
"""Words of a name, connectors not counted."""
_GAP = r"(?:[ \u00a0]{1,2}|[ ]?\n[ ]{0,8})"
# A full stop belongs to these; by length, since a look behind has one width.
_DOTTED = (
    r"Mr\.|Ms\.|Dr\.|Fr\.|St\.|Sr\.|Jr\.|Mt\.|Ft\.|Lt\.|No\.|Co\.",
    r"Mrs\.|Rev\.|Ste\.|Col\.|Gen\.|Sgt\.|Maj\.|Gov\.|Sen\.|Rep\.|Hon\.|Vol\.|Inc\.|Ltd\.",
    r"Prof\.|Capt\.|Cllr\.|Bros\.|Corp\.",
)
_STOP = rf"\.(?=[ ]?[{UPPER}\d]|,)(?:{'|'.join(f'(?<={words})' for words in _DOTTED)})"
# Every alternative begins with a capital, so that the search skips whatever is none in C.
_WORD = (
    rf"[{UPPER}](?:\.(?:[{UPPER}]\.)+(?!{W})"  # U.S., J.R.R.
    rf"|\.(?=[ ]?(?:\n[ ]{{0,8}})?[{UPPER}])"  # J. Smith
    rf"|{W}*(?:[-‐’'·]{W}+(?:(?<=\d)\.\d{{1,4}}){{0,3}}"  # Apache-2.0
    rf"|(?<=[{UPPER}\d])/[{UPPER}]{{2,}}"  # CI/CD, but no Knoppix/LMDE
    rf"|(?<=\b[{UPPER}]{{3}})/[{UPPER}]{W}+"  # GNU/Linux
    rf"|&[{UPPER}]{W}*)*(?:\+\+|\#(?!{W})|{_STOP})?)"
)
PREFIXES = "al|el|an|ar|as|ash|at|ad|bin|ibn|d|l|de|da"
_FOLLOWER = rf"(?:{_WORD}|[a-z]{{1,2}}[{UPPER}]{W}+|(?:{PREFIXES})[-‐’'][{UPPER}]{W}*(?:[-‐]{W}+)*)"
_CONNECTOR = "|".join(re.escape(word) for word in sorted(CONNECTORS, key=len, reverse=True))
_UNITS = (
    "million|billion|trillion|percent|per|times|to|[kKMGT]?i?[BbVWm]|[MGk]?Hz|inch(?:es)?|feet|ft"
    "|km|kg|am|pm"
)
_NUMBER = rf"(?:\d{{1,3}}|[03-9]\d{{3}})(?!{W}|[.,:/–]\d|-{W}|[%°])"  # a year is no part of a name
_VERSION = (
    rf"v?\d{{1,4}}(?:\.\d{{1,4}}){{1,3}}(?:(?:a|b|rc|dev|alpha|beta)\d{{0,3}})?"
    rf"(?!{W}|[.,:/–-]\d|[%°]|[ ](?:{_UNITS})\b)"
)
VERSION = re.compile(_VERSION)
NAME = re.compile(
    rf"{_WORD}(?:(?:{_GAP}(?:{_CONNECTOR})){{0,3}}(?:{_GAP}|(?<=\.)){_FOLLOWER}|{_GAP}{_NUMBER}"
    rf"|(?:[ ]|\n[ ]{{0,8}}){_VERSION}"
    rf"|,?[ ](?:Jr|Sr)\b\.?){{0,{LONGEST_NAME - 1}}}"
)


# What stands before a capital and belongs to the name: "iPhone", "al-Rashid", "20th Century".
_PREFIX = re.compile(
    rf"(?:(?<!{W})(?:[a-z]{{1,2}}|(?:{PREFIXES})[-‐’'])"
    r"|(?<!\w)(?:\d{1,4}(?:st|nd|rd|th)|(?<=[Tt]he )(?:1[89]|20)\d\d) )$"
)

_NEVER_ALONE = STARTERS | CALENDAR | COMMON_WORDS
_MOST_SHOUTED = 3
"""Ordinary words in capitals that may be a name; more are shouted."""


def find_names(text: str, start: int, end: int) -> list[NameSpan]:
    """Capitalised spans of the sentence `text[start:end]`, each followed by the names in it.

    "University of Chicago" is followed by "Chicago"; "Nolan's Inception" by "Nolan" and
    "Inception". Single words where a sentence, quotation or line opens are marked `initial`.
    """
    found: list[NameSpan] = []
    # A sentence of several words that is all in capitals says nothing by them.
    is_shouted = text[start : start + 3].isupper() and text[start:end].isupper()
    if is_shouted and text.count(" ", start, end) > 2:
        return found
    position, heading = start, heading_end(text, start, end)
    while match := NAME.search(text, position, end):
        left, position = match.span()
        left = _with_prefix(text, start, left)
        if left < 0:
            continue
        # The name really ends with its line, or with its company.
        position = wrapped_end(text, left, position)
        company = _RE["company_end"].search(text, left, position)
        position = company.end() if company else position
        if is_in_identifier(text, start, left, position):
            continue
        heading = max(heading, heading_end(text, left, end))
        opens = opens_line(text, start, left)
        # The name of a field, or of who speaks.
        label = opens and _RE["label"].match(text, position)
        read = [_with_sign(text, s, end) for s in _read_span(text, left, position, opens)]
        found += [s._replace(initial=True) for s in read] if label or left < heading else read
    return found


def _with_sign(text: str, span: NameSpan, end: int) -> NameSpan:
    """The name with the signs beside it that make it another one: "FAVOR+", "C++", ".NET"."""
    if _RE["dot_before"].search(text, max(span.start - 2, 0), span.start):
        span = span._replace(start=span.start - 1, name=f".{span.name}")
    sign = _RE["signs"].match(text, span.end, end)
    return span._replace(end=sign.end(), name=span.name + sign[0]) if sign else span


def is_one_name(text: str) -> bool:
    """Whether capitals and connectors alone show the whole text to be one name."""
    return NAME.fullmatch(text) is not None


def _with_prefix(text: str, start: int, left: int) -> int:
    """Where the name really starts ("iPhone", "al-Rashid", "20th Century"); -1 within a word."""
    before = text[left - 1 : left] if left > start else ""
    if not before or not (before in " -‐’'" or before.isalnum()):
        return left
    if prefix := _PREFIX.search(text, max(start, left - 10), left):
        return prefix.start()
    # No name begins within a word, nor in "5.005-T1" and "2003-Aug-01".
    is_within = before == "-" and text[left - 2 : left - 1].isdigit()
    return -1 if is_within or (before.isalnum() and before.isascii()) else left


def _read_span(text: str, left: int, right: int, opens: bool) -> Sequence[NameSpan]:
    raw = text[left:right]
    if raw.casefold() in SECTION_WORDS and _RE["number_after"].match(text, right):
        return ()
    if raw.isalnum():
        return _single(left, raw, opens)
    tokens = [(m.start(), m.group()) for m in _RE["token"].finditer(text, left, right)]
    is_dated = _RE["year_after"].match(text, right) is not None
    first, last = trim_name(tokens, opens, is_dated=is_dated)
    while last - first > 1 and tokens[last - 1][1] == "of":  # a date stood behind it
        last -= 1
    if last - first == 1:
        return _single(*tokens[first], opens and first == 0)
    kept = tokens[first:last]
    return _several(kept) if kept else ()


def _single(start: int, token: str, opens: bool) -> Sequence[NameSpan]:
    head, _, tail = _bare(token).partition("-")
    # What a word names whose later part is a small one: the first part of "English-speaking".
    name = head if tail.islower() and is_ordinary(tail) else _bare(token)
    lower = name.casefold().strip(".").replace("’", "'")
    if (
        len(name) < 2
        or lower.rstrip("-0123456789") in CALENDAR
        or (lower in STARTERS and not name.isupper())
    ):
        return ()
    if "'" in lower and _RE["contraction"].search(lower):
        return ()
    shouted = name.isupper() and len(name) > 2 and is_ordinary(name)
    gerund = name.endswith("ing") and is_ordinary(name)
    initial = shouted or ((opens or gerund) and name[1:].islower())
    return (NameSpan(start, start + len(name), name, type_of_name(name), initial),)


def _several(tokens: Sequence[Token]) -> Sequence[NameSpan]:
    if len(tokens) == 1:
        return _single(*tokens[0], opens=False)
    if tokens[0][1].casefold() in SECTION_WORDS and all(
        _RE["numbered"].fullmatch(token) for _, token in tokens[1:]
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
    words = [token for _, token in tokens]
    of = words.index("of", 2) if "of" in words[2:-1] else 0
    # "Ann Lee | of the Manuscript Division"
    if of and is_first_name(words[0]) and is_person_shaped(" ".join(words[:of])):
        return [*_several(tokens[:of]), *_several(_behind_of(tokens[of:]))]
    whole = _span(tokens)
    found = [whole]
    for part in _parts(tokens, whole.entity_type):
        word = _bare(part[0][1])
        lower = word.casefold().strip(".")
        is_name = len(lower) > 1 and word[0].isupper() and lower not in _NEVER_ALONE
        if len(part) > 1 or is_name:
            found.append(_span(part, nested=True))
    return found


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
            yield _behind_of(tokens[i:])
        elif i == 0 and token.casefold() in DEMONYMS and kind in ("name", "person"):
            yield tokens[:1]
            yield after
        elif i == 0 and token.isdigit():
            yield after


def _behind_of(tokens: Sequence[Token]) -> Sequence[Token]:
    return tokens[2:] if tokens[1][1] in CONNECTORS else tokens[1:]


def _span(tokens: Sequence[Token], *, nested: bool = False) -> NameSpan:
    name = _bare(" ".join([token for _, token in tokens]))
    start, (last_start, last) = tokens[0][0], tokens[-1]
    return NameSpan(start, last_start + len(_bare(last)), name, type_of_name(name), nested=nested)


def _bare(token: str) -> str:
    """Without the possessive at its end."""
    return token[:-2] if token.endswith(("'s", "’s")) else token


# Words at the edges of a capitalised span that are no part of a name.


_AMBIGUOUS_CALENDAR = word_list("may april june august march sun sat mon est am pm")
_ELISION = re.compile(r"(?:l|d|j|c|n|s|qu)'", re.IGNORECASE)  # French "L'écrivain"
Token = tuple[int, str]
"""A word and where it starts."""


def trim_name(tokens: Sequence[Token], opens: bool, *, is_dated: bool = False) -> tuple[int, int]:
    """Range of the tokens without those that stand there for the sentence's sake."""
    first, last = 0, len(tokens)
    while first < last and _is_filler(tokens, first, opens):
        first += 1
    while 0 < first < last and tokens[first][1].isdigit():  # "September 23"
        first += 1
    while last > first and tokens[last - 1][1] in CONNECTORS:
        last -= 1
    while last - first > 2:  # "Published 4 June"
        number, name = sorted((tokens[last - 2][1], tokens[last - 1][1]))
        if not (number.isdigit() and name.casefold() in CALENDAR):
            break
        last -= 2
    if is_dated and last - first > 1 and tokens[last - 1][1].casefold() in CALENDAR:
        last -= 1  # "PyCon | June 2019"
    return first, last


def _is_filler(tokens: Sequence[Token], i: int, opens: bool) -> bool:
    token = tokens[i][1]
    lower = token.casefold().replace("’", "'").strip(".")
    if (
        token in CONNECTORS
        or lower in ("the", "i", "i'm", "i've", "i'd", "i'll")
        or lower in COURTESY
    ):
        return True
    if opens and _ELISION.match(lower) and token.rpartition("’")[2].rpartition("'")[2].islower():
        return True
    if opens and lower in STARTERS:
        return len(token) == 1 or not token.isupper()
    if opens and len(tokens) - i > 1 and _is_imperative(lower, tokens[i + 1][1]):
        return True
    if lower in CALENDAR:
        return lower not in _AMBIGUOUS_CALENDAR
    # "Director Christopher Nolan", but "General Motors", "King Charles", "King of France".
    return lower in ROLES and len(tokens) - i > 2 and tokens[i + 1][1] not in CONNECTORS


def _is_imperative(lower: str, following: str) -> bool:
    """Whether a sentence opens with what is to be done: "Install Debian", "Using Kafka"."""
    has_article = following in ("the", "a", "an")
    if is_ordinary(following) and not (has_article or following.isupper()):
        return False
    endings = ("ing", "ed") if has_article else "ing"
    return lower in OPENING_VERBS or (
        len(lower) > 4 and lower.endswith(endings) and is_ordinary(lower)
    )


_SHORTEST_HALF = 3
_LONGEST = 200
"""Letters that are looked at."""


def is_compound(word: str) -> bool:
    """Whether a word is made of two ordinary ones: "toolchain", "multipart"."""
    letters = word.casefold()
    return any(
        is_ordinary(letters[:at]) and is_ordinary(letters[at:])
        for at in range(_SHORTEST_HALF, min(len(letters), _LONGEST) - _SHORTEST_HALF + 1)
    )


# What the layout of a text says of capitals: headings, labels, line ends, addresses, paths.


_SHORTEST_WRAPPED = 30
"""Characters of a line that goes on with the next one, at least."""
_SHORTEST_INDENTED = 60
"""The same of a line before an indented one."""
_FULL = 0.9
"""Of the longest line around it, at least, has a line that goes on: its end is ragged."""
_LONGEST_HEADING = 120
_SMALL_IN_HEADINGS = STOP_WORDS | word_list(
    "across along among around behind beside beyond like near onto past since toward towards upon"
    " versus within without"
)
_COLUMNS = " " * 3
"""What stands between the cells of a line of a table, at least."""
_OPENERS = frozenset('"“„«‘`([*_•><|+#-–—→=:!?…¿¡\n')
_LONGEST_ORDINAL = 40
"""Characters of a list's or a heading's number, blanks and marks before it among them."""
_LONGEST_ADDRESS = 200
"""Characters before a name in which the start of an address is looked for."""


def opens_line(text: str, start: int, position: int) -> bool:
    """Whether a word at `position` of a sentence from `start` on would be capitalised anyhow."""
    before = position - 1
    while before >= start and text[before] == " ":
        before -= 1
    if before < start or text[before] in _OPENERS or position - before > len(_COLUMNS):
        return True
    if text[before] in "eo":
        return _RE["reference"].search(text, max(start, position - 9), position) is not None
    if text[before] not in ".)]" and not text[before].isdigit():
        return False
    line = text[max(start, before - _LONGEST_ORDINAL) : before + 1].rpartition("\n")[2]
    return _RE["ordinal"].fullmatch(line) is not None


def wrapped_end(text: str, left: int, right: int) -> int:
    """Where the name `text[left:right]` ends if no name runs over a line end but a wrapped one."""
    at = text.find("\n", left, right)
    while at >= 0:
        if not _is_wrapped(text, at):
            return left + len(text[left:at].rstrip())
        at = text.find("\n", at + 1, right)
    return right


def _is_wrapped(text: str, at: int) -> bool:
    """Whether a line ends at `at` since the next word would not have fitted."""
    start = text.rfind("\n", 0, at) + 1
    length = len(text[start:at].rstrip())
    is_indented = text[at + 1 : at + 2] == " "  # in a list; or an address, whose lines are short
    shortest = _SHORTEST_INDENTED if is_indented else _SHORTEST_WRAPPED
    if (
        length < shortest
        or text.startswith(("#", "|"), start)
        or _COLUMNS in text[start:at].strip()
    ):
        return False
    end = text.find("\n", at + 1)
    following = text[at + 1 : end if end >= 0 else len(text)]
    before = start - 1 - (text.rfind("\n", 0, start - 1) + 1) if start else 0
    word = following.split(maxsplit=1)[0] if following.strip() else ""
    return length + 1 + len(word) > _FULL * max(len(following.rstrip()), before)


def heading_end(text: str, position: int, end: int) -> int:
    """Where the heading ends in whose line `position` lies; `position` where it lies in none."""
    first = max(text.rfind("\n", 0, position) + 1, position - _LONGEST_HEADING)
    last = text.find("\n", position, position + _LONGEST_HEADING)
    last = min(len(text), position + _LONGEST_HEADING) if last < 0 else last
    if _RE["mark"].match(text, first) or _RE["underline"].match(text, last):
        return min(last, end)
    if last < len(text) and text[last] != "\n":
        return position  # a long line of prose, as most are: it need not be read
    line = text[first:last].strip()
    words = _RE["word_layout"].findall(line)
    if len(words) < 2 or line[-1] in ".!?,;|" or _RE["sentence_words"].search(line):
        return position
    # Of the words that a heading with capitals has in small letters, none is a verb or a noun.
    if any(word.islower() and word not in _SMALL_IN_HEADINGS for word in words):
        return position
    capitals = sum(word[0].isupper() for word in words)
    return min(last, end) if capitals * 4 >= len(words) * 3 else position


def find_fences(text: str) -> list[tuple[int, int]]:
    """Ranges of the fenced code of a text; one that does not end goes on to the end."""
    if "```" not in text and "~~~" not in text:
        return []
    marks = [match.start() for match in _RE["fence"].finditer(text)]
    return [(a, b) for a, b in zip_longest(marks[::2], marks[1::2], fillvalue=len(text))]


def is_in_identifier(text: str, start: int, left: int, right: int) -> bool:
    """Whether a capitalised word is part of an address, a path, a variable or an option."""
    before, after = text[left - 1 : left] if left > start else "", text[right : right + 1]
    if (before and before in "_@$\\~=%") or (after and after in "_@\\="):
        return True
    is_joined = before in ("/", ".", "?", "&")
    return is_joined and bool(
        _RE["address"].search(text, max(start, left - _LONGEST_ADDRESS), left)
    )


# Names of code in prose: files, paths, dotted names, identifiers with parts, options, calls.
#
# What stands in monospaced type is code whatever it looks like (`find_ticked`); elsewhere the
# joints within a word tell.


_PERSON_ROLES = word_list("user author ghuser github-user")
_CODE_ROLES = word_list(
    "func function meth method class attr attribute data const exc exception obj mod module envvar"
    " option program command keyword token type member macro var decorator property code literal"
)

ENDINGS = word_list(
    "py pyi pyx js mjs cjs ts tsx jsx c h cc cpp hpp java go rs rb php pl pm sh bash zsh ps1 lua"
    " sql txt md rst adoc tex html htm css xml json jsonl yaml yml toml ini cfg conf csv tsv log"
    " lock list diff patch deb rpm tar gz bz2 xz zip whl jar so dll exe bin pdf png jpg jpeg svg"
    " gif ico mk cmake in ac am po mo dsc changes sources desktop service socket timer rules ipynb"
    " proto dockerfile gradle properties db sqlite mbox eml ics docx xlsx pptx odt epub"
)
HOSTS = word_list(
    "com org net edu gov mil int info biz io dev ai de fr es it uk eu ch at nl be se no dk fi pl"
    " cz ru us ca au jp cn kr in br za nz ie pt gr hu il tr"
)


def find_ticked(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Names in monospaced type: between back-ticks, or under a role of reStructuredText."""
    for match in _RE["ticked"].finditer(text, start, end):
        if match["role"]:
            yield from _in_role(match)
            continue
        name = match["name"].rstrip(".:/-")
        if len(name.strip("./~-")) > 1 and "://" not in name and not _RE["hash"].fullmatch(name):
            yield NameSpan(match.start("name"), match.start("name") + len(name), name, CODE)


def _in_role(match: re.Match[str]) -> Iterator[NameSpan]:
    """`:func:`~os.stat()`` names code, `:user:`name`` somebody, `:rfc:`2822`` a standard."""
    role, said = match["role"].rpartition(":")[2], match["said"]
    left = match.start("said")
    target = _RE["target"].fullmatch(said)
    if target:
        left, said = left + target.start("target"), target["target"]
    bare = said.lstrip("~!.")
    left += len(said) - len(bare)
    bare = bare.removesuffix("()")
    if role in _PERSON_ROLES:
        yield NameSpan(left, left + len(bare), bare, "person")
    elif role in ("rfc", "pep") and bare.isdigit():
        yield NameSpan(left, left + len(bare), f"{role.upper()} {bare}", "work")
    elif role in _CODE_ROLES and re.fullmatch(r"[\w.:-]{2,120}", bare):
        yield NameSpan(left, left + len(bare), bare, CODE)


def find_code_names(text: str, start: int, end: int) -> Iterator[NameSpan]:
    """Names of code outside of monospaced type, by the joints within them."""
    for match in _RE["run"].finditer(text, start, end):
        run = match.group().rstrip(".:-@\\")
        if run.endswith("_") and _RE["hyperlinked"].fullmatch(run):
            run = run[:-1]
        if not _RE["joint"].search(run) or "://" in run or "@" in run:
            continue
        left = match.start()
        if text[left - 1 : left + 1] == "</" or text.endswith("-\n", start, left):
            continue  # the end of an element, or of a word that a line breaks
        if text.endswith((":ref:`", ":doc:`"), start, left) or (
            text[left - 1 : left] == "<" and text.startswith(">`", left + len(run))
        ):
            continue  # the target of a reference
        after = text[left + len(run) : left + len(run) + 1]
        if (after and after in "=@#\\") or _RE["field"].match(text, left + len(run)):
            continue
        name = run.removesuffix("()") if _RE["call"].fullmatch(run) else run
        if _RE["framework"].fullmatch(name):
            yield NameSpan(left, left + len(name), name, "product")
        elif _is_code(name, is_call=name != run) or (
            after == '"' == text[left - 1 : left]
            and _RE["dotted"].fullmatch(name)
            and not _is_host(name)
        ):
            yield NameSpan(left, left + len(name), name, CODE)


def _is_code(name: str, *, is_call: bool) -> bool:
    if is_call:
        return len(name) > 1
    if "::" in name:
        return _RE["qualified"].fullmatch(name) is not None
    if name.startswith("--"):
        return _RE["option"].fullmatch(name) is not None
    if "/" in name:
        return _is_path(name)
    if name.startswith("."):
        return _RE["dot_file"].fullmatch(name) is not None and not is_ordinary(name)
    if "." in name:
        return _is_file(name) or _is_dotted(name) or _RE["library"].fullmatch(name) is not None
    if "_" in name:
        return bool(
            _RE["dunder"].fullmatch(name) or (_RE["snake"].fullmatch(name) and name[-1] != "_")
        )
    return _RE["camel"].fullmatch(name) is not None


def _is_path(name: str) -> bool:
    """An absolute path, or a relative one whose last part is a file or whose first is no word."""
    if (
        _RE["path"].fullmatch(name) is None
        or name.startswith(("//", ".."))
        or _RE["sound"].search(name)
    ):
        return False
    parts = [part for part in name.split("/") if part not in ("", "~", ".", "..")]
    if not parts or not any(part[0].isalpha() or part[0] in "._" for part in parts):
        return False
    if name.startswith(("/", "~", ".")):
        return len(name) > 3
    if "." in parts[0] and _is_host(parts[0]):
        return False
    return _is_file(parts[-1]) or (
        all(part.islower() and len(part) > 1 for part in parts)
        and not is_ordinary(parts[0])
        and (len(parts) > 2 or is_ordinary(parts[-1]))
    )


def _is_file(name: str) -> bool:
    match = _RE["file"].fullmatch(name)
    if match is None or match["ending"] not in ENDINGS:
        return False
    stem = name[: match.start("ending") - 1]
    return not stem.isdigit()


def _is_dotted(name: str) -> bool:
    """Parts of an identifier: small ones, or a class before what it holds; no host, no "e.g"."""
    parts = name.split(".")
    if _RE["dotted"].fullmatch(name) is None or _is_host(name) or min(map(len, parts)) < 2:
        return False
    first, second = parts[0], parts[1]
    # Two sentences without a blank between them, or two names.
    return not second[0].isupper() or not (
        first[0].isupper() or (is_ordinary(first) and is_ordinary(second))
    )


def _is_host(name: str) -> bool:
    first, _, last = name.rpartition(".")
    return name.startswith("www.") or (
        last in HOSTS and (last not in ENDINGS or "." in first) and name.islower()
    )


# Words that addresses, paths and identifiers of a document are made of: `pytest`, `dpkg`.


_SAMPLE = 20_000
"""Characters from the beginning that tell the language."""
_LEAST_ORDINARY = 0.6
_SHORTEST = 3
_LEAST_TOKENS = 2
"""Different tokens in which a part stands that is joined by hyphens alone."""
_VOCABULARY = word_list(read_word_lists("clew.indexing.ner", "words", "names.toml")["computing"])


def technical_words(text: str) -> frozenset[str]:
    """Words in small letters, ordinary ones and the common vocabulary of computing left out.

    Words with hyphens are such where one of their parts is (`dpkg-buildpackage`). None of a text
    that is not in English, whose words are all unknown here.
    """
    joined = {
        run
        for run in map(re.Match.group, _RE["run_technical_words"].finditer(text))
        if _RE["joined"].search(run)
    }
    hyphened = {run for run in joined if _RE["hyphened"].fullmatch(run)}
    sure = {part for run in joined - hyphened for part in _telling(run)}
    often = Counter(part for run in hyphened for part in _telling(run))
    sure |= {name for name in _RE["kind_said"].findall(text) if is_telling(name)}
    found = sure | {part for part, count in often.items() if count >= _LEAST_TOKENS}
    if not found or not _is_english(text):
        return frozenset()
    return frozenset(found) | {run for run in hyphened if not found.isdisjoint(run.split("-"))}


def _telling(run: str) -> set[str]:
    return {part for part in _RE["part"].findall(run) if part.islower() and is_telling(part)}


def is_telling(part: str) -> bool:
    """Whether a word in small letters is in no dictionary, however it may be made up."""
    return (
        len(part) >= _SHORTEST
        and part.isascii()
        and part not in HOSTS
        and part not in ENDINGS
        and part not in _VOCABULARY
        and not part.endswith("o")  # combining forms: "anarcho-", "socio-"
        and not is_ordinary(part)
        and not _RE["derived"].search(part)
        and not is_compound(part)
        and not is_ordinary(_RE["prefix"].sub("", part))
    )


def _is_english(text: str) -> bool:
    words = _RE["small_word"].findall(text, 0, _SAMPLE)
    return sum(map(is_ordinary, words)) >= _LEAST_ORDINARY * len(words)
