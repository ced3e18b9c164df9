"""Questions that are no more than a wish for an overview: "the gist of it all", "tl;dr"."""

from __future__ import annotations

import re

_OPENING = r"(?:please )?(?:(?:give|show|tell|write) (?:me|us) )?(?:(?:an?|the|some) )?"
_KIND = r"(?:(?:brief|complete|executive|general|high-level|quick|short) )?"
_OVERVIEW = r"(?:overview|summary|synopsis|gist|key (?:points|takeaways)|main points|highlights)"
_THINGS = (
    r"(?:archive|articles|collection|corpus|documents|files|folder|library|mails?|messages|notes"
    r"|papers|store|texts)"
)
_ALL = (
    rf"(?:everything|it all|all (?:of )?(?:this|that|it)|all {_THINGS}"
    rf"|(?:all )?(?:of )?(?:the|these|this|my|our) (?:whole )?{_THINGS})"
)
_WISH = re.compile(
    rf"{_OPENING}{_KIND}{_OVERVIEW} (?:of|from|over) {_ALL}(?: please)?"
    rf"|(?:please )?(?:summari[sz]e|sum up) {_ALL}(?: please)?"
    rf"|{_OPENING}(?:big picture|tl;?dr|main points|key (?:points|takeaways))(?:,? please)?"
    r"|what(?: is|['’]s)? (?:in here|(?:it|this|all (?:of )?this) all about"
    r"|all (?:of )?this about)",
    re.IGNORECASE,
)


def wishes_overview(question: str) -> bool:
    """Whether the whole is asked for, and nothing else."""
    return _WISH.fullmatch(" ".join(question.split()).rstrip(" .?!")) is not None
