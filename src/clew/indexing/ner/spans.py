"""A name as found at one place of a text, before the document decides about it."""

from __future__ import annotations

from typing import NamedTuple

from clew.types import AliasEvidence


class NameSpan(NamedTuple):
    """A candidate name and where it stands."""

    start: int
    end: int
    name: str
    entity_type: str = "name"
    initial: bool = False
    """Where every word is capitalised, or a label: the document must confirm that it is a name."""
    nested: bool = False
    """Part of a longer name ("Chicago" of "University of Chicago")."""


class SentenceSpans(NamedTuple):
    """What one sentence holds."""

    start: int
    end: int
    spans: tuple[NameSpan, ...]
    """In order of the text, a longer one before what is nested in it."""
    aliases: tuple[AliasEvidence, ...] = ()
