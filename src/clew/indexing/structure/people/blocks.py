"""Lines that say where somebody works: below the end of a letter, and in lists of addresses.

Yours sincerely,

Ada Byron
Chief Engineer
Analytical Engines Ltd
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.indexing.ner.entity_types import is_person_shaped, type_of_name
from clew.indexing.ner.name_lexicon import COURTESY, ROLES, is_first_name
from clew.indexing.relations.descriptions import CONCEPT, IS_A
from clew.indexing.splitting.code_blocks import is_code
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.types import Document

AFFILIATED_WITH = "affiliated_with"
_MOST = 500
"""Blocks of a document."""
_LINE = r"[ \t]{0,12}[^\W\d_a-z][^\n]{1,70}\n"
_BLOCK = re.compile(
    rf"(?:\A|(?<=\n\n))(?P<first>{_LINE})(?P<rest>(?:{_LINE}|[ \t]{{0,12}}\d[^\n]{{1,70}}(?:\n|\Z)"
    r"|[ \t]{0,12}[^\W\d_a-z][^\n]{1,70}\Z){1,9})",
)
_FIRST = re.compile(r"(?P<name>[^,(\n]{4,50}?)(?:,[ ](?P<role>[^,\n]{3,40}))?\s*\Z")
_ASIDE = re.compile(r"[ ]?\([^()]*\)")
_STOP = re.compile(r"[.:;!?]\s*\Z|\d{3}")
"""How a line ends, or what it holds, that is no part of who somebody is."""


def signed_blocks(document: Document) -> Structure:
    """`affiliated_with` the organisations below a person's name, and the role beside it."""
    if is_code(document.media_type) or document.media_type == "text/x-rst":
        return Structure()
    found: list[Statement] = []
    for block in _BLOCK.finditer(document.text):
        found += _read(block)
        if len(found) > _MOST:
            break
    return Structure(statements=tuple(found[:_MOST]))


def _read(block: re.Match[str]) -> Iterator[Statement]:
    first = _FIRST.fullmatch(block["first"].strip())
    name = _without_titles(first["name"]) if first else ""
    if first is None or not is_person_shaped(name) or not is_first_name(name.split()[0]):
        return
    lines = [_ASIDE.sub("", line).strip() for line in block["rest"].splitlines()]
    told = [part.strip() for line in lines if not _STOP.search(line) for part in line.split(",")]
    told = [first["role"] or "", *told]
    role = next((one for one in told[:2] if _is_role(one)), "")
    if role:
        yield _statement(block, name, IS_A, role.casefold(), CONCEPT)
    for group in told:
        if type_of_name(group) == "organisation" and " " in group:
            yield _statement(block, name, AFFILIATED_WITH, group, "organisation")


def _without_titles(name: str) -> str:
    words = name.split()
    while words and words[0].casefold().strip(".") in COURTESY:
        words.pop(0)
    return " ".join(words)


def _is_role(text: str) -> bool:
    words = text.casefold().split()
    return 0 < len(words) <= 4 and words[-1] in ROLES and all(w.isalpha() for w in words)


def _statement(
    block: re.Match[str], name: str, relation: str, tail: str, tail_type: str
) -> Statement:
    return Statement(
        head=name,
        head_type="person",
        relation_type=relation,
        tail=tail,
        tail_type=tail_type,
        start=block.end("first") - len(block["first"].lstrip()),
        end=block.end("rest"),
        confidence=0.85,
    )
