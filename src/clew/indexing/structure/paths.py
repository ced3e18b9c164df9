"""Which files and folders that a text names lie in which others: `/etc/apt/sources.list`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.indexing.reading.formats.mail.people import MEDIA_TYPE as MAIL
from clew.indexing.splitting.code_blocks import is_code
from clew.indexing.structure.code_names import PLACEHOLDERS
from clew.types import Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

LOCATED_IN = "located_in"
_MOST = 1_000
"""Statements of a document."""
_PATH = re.compile(
    r"(?<![\w:/.~$<>@%*{}()\[\\-])(?:/|~/)?+[\w.+-]{1,60}+(?:/[\w.+-]{1,60}+){1,10}+/?+"
    r"(?![\w/<>@%*{}()$=-]|:\S)"
)
_RELATIVE = 2
"""Slashes that show a path from no root to be one; "and/or" has one."""


def paths(document: Document) -> Structure:
    """`located_in` the nearest folder above that the text names, too."""
    if is_code(document.media_type) or document.media_type == MAIL or "/" not in document.text:
        return Structure()
    found: dict[str, tuple[str, int]] = {}
    for match in _PATH.finditer(document.text):
        path = match.group().rstrip(".")
        if _is_path(path):
            found.setdefault(path.rstrip("/"), (path, match.start()))
    stated = []
    for bare, (path, start) in found.items():
        folder = _folder_among(bare, found)
        if folder:
            stated.append(_statement(path, folder, start))
    return Structure(statements=tuple(stated[:_MOST]))


def _is_path(path: str) -> bool:
    parts = path.casefold().strip("/").split("/")
    is_rooted = path[0] in "/~" or path.count("/") >= _RELATIVE
    return is_rooted and any(map(str.isalpha, path)) and PLACEHOLDERS.isdisjoint(parts)


def _folder_among(path: str, found: dict[str, tuple[str, int]]) -> str:
    """The nearest folder of a path that is itself named; empty where none is."""
    folder = path.rpartition("/")[0]
    while folder:
        if folder in found:
            return found[folder][0]
        folder = folder.rpartition("/")[0]
    return ""


def _statement(path: str, folder: str, start: int) -> Statement:
    return Statement(
        head=path,
        head_type="code",
        relation_type=LOCATED_IN,
        tail=folder,
        tail_type="code",
        start=start,
        end=start + len(path),
        confidence=0.85,
    )
