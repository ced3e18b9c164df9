"""Minutes of a meeting: who was there, and who is said to have spoken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped
from clew.indexing.ner.name_lexicon import COURTESY, is_first_name
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.types import Document

_PRESENT = re.compile(
    r"^[ \t]{0,8}(?:[-*+#>]{1,6}[ \t]{1,4})?[*_]{0,3}"
    r"(?:(?P<absent>apologies(?: for absence| from)?|absent|regrets)"
    r"|present|attendees|attending|attended by|participants|in attendance)"
    r"[*_]{0,3}[ \t]{0,4}(?::(?P<names>[^\n]{0,2000}))?$",
    re.I | re.M,
)
_BLANK = re.compile(r"\n{0,3}")
_ITEM = re.compile(r"[ \t]{0,8}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4}(?P<name>[^\n]{1,200})\n?")
_BETWEEN = re.compile(r",|;|\band\b|\t")
_ASIDE = re.compile(r"\([^()]{0,200}\)|\[[^\[\]]{0,200}\]|[*_`@]")
_SAID = re.compile(
    r"^[ \t]{0,8}(?:[-*+>][ \t]{1,4})?[*_]{0,3}"
    r"(?P<name>[^\W\d_][\w'’.-]{0,40}(?: [\w'’.-]{1,40}){0,3})"
    r"[*_]{0,3}:[*_]{0,3}[ \t]{1,4}\S",
    re.M,
)
_ACTION = re.compile(
    r"(?:^[ \t]{0,8}(?:[-*+•>][ \t]{1,4})?[*_]{0,3}(?i:actions?)(?: points?| items?)?"
    r"[*_]{0,3}:[*_]{0,3}[ \t]{1,4}"
    r"|\b(?:[Aa]greed|[Dd]ecided|[Rr]esolved):? that )"
    r"(?P<name>[^\W\d_a-z][\w'’-]{1,30}(?: [^\W\d_a-z][\w'’.-]{0,30}){1,3})"
    r" (?:to|will|would|should|shall) ",
    re.MULTILINE,
)
_MOST = 200
"""People of a meeting."""
_KINDS = frozenset({"text/plain", "text/markdown", "text/x-rst", "text/html"})


def minutes_structure(document: Document) -> Structure:
    """Who `attended`, who was `absent_from` the meeting, who `spoke_in` it and who is to act."""
    if not document.title or document.media_type not in _KINDS:
        return Structure()
    lists: dict[str, dict[str, tuple[int, int]]] = {"attended": {}, "absent_from": {}}
    for match in _PRESENT.finditer(document.text):
        lists["absent_from" if match["absent"] else "attended"].update(
            _listed(document.text, match)
        )
    present = dict(list(lists["attended"].items())[:_MOST])
    absent = dict(list(lists["absent_from"].items())[:_MOST])
    spoke = _speakers(document.text, present) if present else {}
    return Structure(
        statements=(
            *(_statement(document, n, "attended", place) for n, place in present.items()),
            *(_statement(document, n, "absent_from", place) for n, place in absent.items()),
            *(_statement(document, n, "spoke_in", place) for n, place in spoke.items()),
            *(
                _statement(document, n, "has_action_in", place)
                for n, place in _acting(document.text)
            ),
        )
    )


def _statement(document: Document, name: str, relation: str, place: tuple[int, int]) -> Statement:
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=document.title,
        start=place[0],
        end=place[1],
        valid_from=document.created_at,
    )


def _listed(text: str, match: re.Match[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Names on the line itself, else those of the list below it, with their places."""
    if match["names"] and match["names"].strip(" *_"):
        yield from _names(match["names"], match.start("names"))
        return
    at = match.end()
    at += len(_BLANK.match(text, at)[0])  # type: ignore[index]
    for _ in range(_MOST):
        item = _ITEM.match(text, at)
        if item is None:
            return
        yield from _names(item["name"], item.start("name"))
        at = item.end()


def _names(text: str, offset: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of persons among what is listed, nothing else."""
    at = 0
    for between in (*_BETWEEN.finditer(text), None):
        end = between.start() if between else len(text)
        name = " ".join(_ASIDE.sub(" ", text[at:end]).split()).strip(" .:–-")
        while name.partition(" ")[0].casefold().strip(".") in COURTESY:
            name = name.partition(" ")[2]
        if is_person_shaped(name) or (name.istitle() and is_first_name(name)):
            yield name, (offset + at, offset + end)
        at = between.end() if between else end


def _acting(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Those of whom a decision says what they will do: "ACTION: Ada Byron to write to …"."""
    names: dict[str, tuple[int, int]] = {}
    for match in _ACTION.finditer(text):
        if is_person_shaped(match["name"]):
            names.setdefault(match["name"], match.span("name"))
    yield from list(names.items())[:_MOST]


def _speakers(text: str, present: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Those present whose name, or a part of it that is nobody else's, opens a line: `Ada: …`."""
    short: dict[str, set[str]] = {}
    for name in present:
        for part in {name, *name.split()}:
            short.setdefault(part, set()).add(name)
    found: dict[str, tuple[int, int]] = {}
    for match in _SAID.finditer(text):
        meant = short.get(match["name"], set())
        if len(meant) == 1:
            found.setdefault(next(iter(meant)), match.span("name"))
    return found
