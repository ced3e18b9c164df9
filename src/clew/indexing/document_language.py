"""The language of a document: what it says of itself, else what its text tells."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.indexing.splitting.code_blocks import is_code
from clew.languages import language_code
from clew.text import text_language

if TYPE_CHECKING:
    from clew.types import Document

_STATED = ("language", "lang", "dc:language", "content-language")
"""Fields of metadata that name a language, in small letters."""


def with_language(document: Document) -> Document:
    """The document with its language; source code has none, and a text too short for it none."""
    if document.language or is_code(document.media_type):
        return document
    named = {name.casefold(): value for name, value in document.metadata.items()}
    stated = (language_code(named.get(name)) for name in _STATED)
    found = next(filter(None, stated), "") or text_language(document.text)
    return replace(document, language=found) if found else document
