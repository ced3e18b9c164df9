"""Identifiers and years of publications in a text."""

from __future__ import annotations

import re

_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|\\^`,;]{1,200}")
_ARXIV = re.compile(
    r"(?:arxiv[.:/\s]{1,3}(?:org/)?(?:abs/|pdf/)?|\Aabs/)"
    r"(?P<id>\d{4}\.\d{4,5}|[a-z][a-z-]{1,15}(?:\.[A-Z]{2})?/\d{7})",
    re.IGNORECASE,
)
_BARE_ARXIV = re.compile(
    r"(?P<id>\d{4}\.\d{4,5}|[a-z][a-z-]{1,15}(?:\.[A-Z]{2})?/\d{7})(?:v\d{1,3})?"
)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")


def doi_in(text: str) -> str:
    """The first DOI of a text, in lower case; empty where there is none."""
    match = _DOI.search(text)
    return match.group().rstrip(".)]").lower() if match else ""


def arxiv_in(text: str, *, bare: bool = False) -> str:
    """The first arXiv id of a text as `arXiv:…`; `bare` where the text is nothing else."""
    match = _BARE_ARXIV.fullmatch(text.strip()) if bare else None
    match = match or _ARXIV.search(text)
    return f"arXiv:{match['id']}" if match else ""


def year_in(text: str) -> int | None:
    """The first year of a text, 1500 to 2099; the digits of identifiers are none."""
    match = _YEAR.search(_ARXIV.sub(" ", _DOI.sub(" ", text)))
    return int(match.group()) if match else None
