"""Sections that a question names: by their number, or by what their heading says."""

from __future__ import annotations

import re
from typing import NamedTuple

SECTION_KIND = r"(?:(?:sub)?sections?|chapters?|articles?|appendix|clause|paragraph|§)"
_NUMBERED = re.compile(
    rf"(?<!\w){SECTION_KIND} ?(?P<number>(?:[A-Z]\.)?\d{{1,4}}(?:\.\d{{1,4}}){{0,5}}"
    r"|(?-i:[A-Z])(?:\.\d{1,4}){0,5}|(?-i:[IVXLC]){1,8})(?![\w]|\.\w)",
    re.IGNORECASE,
)
_TITLED = re.compile(
    rf"\b{SECTION_KIND} (?:on|about|called|titled|entitled|named|concerning|dealing with) "
    r"[\"“'‘]?(?P<title>[^\"”'’,;:?!\n]{2,80})",
    re.IGNORECASE,
)
_ENDING = re.compile(r" (?:say|tell|contain|cover|discuss|describe|state)s?\b.*", re.IGNORECASE)
"""What follows the title in a question."""


class SectionName(NamedTuple):
    """How a question names a section: one of both is empty."""

    number: str
    """"4.2", "A.5.2", "IV"."""
    title: str


def section_name(question: str) -> SectionName | None:
    """The section that a question names; None where it names none."""
    if found := _NUMBERED.search(question):
        return SectionName(found["number"], "")
    if found := _TITLED.search(question):
        return SectionName("", _ENDING.sub("", found["title"]))
    return None
