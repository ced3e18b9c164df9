"""What the layout of a text says of capitals: headings, labels, line ends, addresses, paths."""

from __future__ import annotations

import re
from itertools import zip_longest

from clew.text import STOP_WORDS
from clew.word_lists import word_list

_SHORTEST_WRAPPED = 30
"""Characters of a line that goes on with the next one, at least."""
_SHORTEST_INDENTED = 60
"""The same of a line before an indented one."""
_FULL = 0.9
"""Of the longest line around it, at least, has a line that goes on: its end is ragged."""
_LONGEST_HEADING = 120
_LABEL = re.compile(r"(?:\*\*|__)?:(?=\s|$|\*\*|__)")
_MARK = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_UNDERLINE = re.compile(r"\n[ \t]{0,3}([=~^*+#-])\1{2,200}[ \t]*(?:\n|$)")
_FENCE = re.compile(r"^[ \t]{0,12}(?:```|~~~)", re.MULTILINE)
_PROMPT = re.compile(r"(?:>>>|\.\.\.|[$%]) \S")
_WORD = re.compile(r"[^\W\d_]{4,60}")
_NO_HEADING = ".!?,;|"
_SENTENCE_WORDS = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|would|said|says|I|we|you|he|she)\b"
)
_SMALL_IN_HEADINGS = STOP_WORDS | word_list(
    "across along among around behind beside beyond like near onto past since toward towards upon"
    " versus within without"
)
_COLUMNS = " " * 3
"""What stands between the cells of a line of a table, at least."""
_SPACE = " \n\t\u00a0"
_OPENERS = frozenset('"“„«‘`([*_•><|+#-–—→=:!?…¿¡\n')
_REFERENCE = re.compile(r"\b[Ss]ee (?:also )?$")
"""What the title of a section stands behind: "see Adopting a package"."""
_ORDINAL = re.compile(
    r"[ \t#]{0,12}(?:\[[#\w-]{1,20}\]"
    r"|\(?(?:\d{1,4}|[a-z]|[ivx]{2,4})[.)]|\d{1,3}(?:\.\d{1,3}){1,4}\.?)"
)
_LONGEST_ORDINAL = 40
"""Characters of a list's or a heading's number, blanks and marks before it among them."""
_NAMES_BETWEEN_SLASHES = re.compile(r"[A-Z][A-Za-z]{1,30}(?:/(?:[A-Z][A-Za-z]{1,30}|\.{3})){1,8}/?")
_LONGEST_ADDRESS = 200
"""Characters on either side of a name in which the ends of an address are looked for."""


def opens_line(text: str, start: int, position: int) -> bool:
    """Whether a word at `position` of a sentence from `start` on would be capitalised anyhow."""
    before = position - 1
    while before >= start and text[before] == " ":
        before -= 1
    if before < start or text[before] in _OPENERS or position - before > len(_COLUMNS):
        return True
    if text[before] in "eo":
        return _REFERENCE.search(text, max(start, position - 9), position) is not None
    if text[before] not in ".)]" and not text[before].isdigit():
        return False
    line = text[max(start, before - _LONGEST_ORDINAL) : before + 1].rpartition("\n")[2]
    return _ORDINAL.fullmatch(line) is not None


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


def heading_end(text: str, start: int, position: int, end: int) -> int:
    """Where the heading ends in whose line `position` lies; `position` where it lies in none."""
    first = max(text.rfind("\n", 0, position) + 1, position - _LONGEST_HEADING)
    last = text.find("\n", position, position + _LONGEST_HEADING)
    last = min(len(text), position + _LONGEST_HEADING) if last < 0 else last
    if _MARK.match(text, first) or _UNDERLINE.match(text, last):
        return min(last, end)
    if last < len(text) and text[last] != "\n":
        return position  # a long line of prose, as most are: it need not be read
    line = text[first:last].strip()
    words = _WORD.findall(line)
    if len(words) < 2 or line[-1] in _NO_HEADING or _SENTENCE_WORDS.search(line):
        return position
    # Of the words that a heading with capitals has in small letters, none is a verb or a noun.
    if any(word.islower() and word not in _SMALL_IN_HEADINGS for word in words):
        return position
    capitals = sum(word[0].isupper() for word in words)
    return min(last, end) if capitals * 4 >= len(words) * 3 else position


def is_heading(text: str, start: int, end: int) -> bool:
    """Whether a sentence is a heading, by the marks before it or the line below it."""
    return bool(_MARK.match(text, start) or _UNDERLINE.match(text, end))


def find_fences(text: str) -> list[tuple[int, int]]:
    """Ranges of the fenced code of a text; one that does not end goes on to the end."""
    if "```" not in text and "~~~" not in text:
        return []
    marks = [match.start() for match in _FENCE.finditer(text)]
    return [(a, b) for a, b in zip_longest(marks[::2], marks[1::2], fillvalue=len(text))]


def is_code_line(text: str, start: int) -> bool:
    """Whether a sentence begins with the prompt of a shell or an interpreter."""
    return _PROMPT.match(text, start) is not None


def is_label(text: str, right: int) -> bool:
    """Whether a colon follows: the name of a field, or of who speaks."""
    return _LABEL.match(text, right) is not None


def is_in_identifier(text: str, start: int, left: int, right: int, end: int) -> bool:
    """Whether a capitalised word is part of an address, a path, a variable or an option."""
    before, after = text[left - 1 : left] if left > start else "", text[right : right + 1]
    if (before and before in "_@$\\~=%") or (after and after in "_@\\="):
        return True
    if before not in ("/", ".", "?", "&") and after != "/":
        return False
    first = left
    while first > max(start, left - _LONGEST_ADDRESS) and text[first - 1] not in _SPACE:
        first -= 1
    last = right
    while last < min(end, right + _LONGEST_ADDRESS) and text[last] not in _SPACE:
        last += 1
    token = text[first:last].strip("()[]<>\"'`,;")
    if _NAMES_BETWEEN_SLASHES.fullmatch(token):
        return False
    is_dotted = before == "." and first < left - 1 and text[left - 2].islower()
    return (
        is_dotted
        or "://" in token
        or token.startswith(("/", "./", "../", "www."))
        or token.count("/") > 1
    )
