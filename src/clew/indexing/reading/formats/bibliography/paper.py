"""A paper as bibliographies and catalogues describe it, whatever their format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A paper that another one cites."""

    title: str = ""
    """Empty where only its identifier is known."""
    year: int | None = None
    identifier: str = ""
    """DOI, arXiv id, or its number in the catalogue that it came from."""

    @property
    def name(self) -> str:
        """What it is called: its title, else its identifier."""
        return self.title or self.identifier


@dataclass(frozen=True, kw_only=True, slots=True)
class Paper:
    """What a bibliography knows of a paper."""

    key: str
    """Its own name in the file that it came from."""
    title: str
    authors: tuple[str, ...] = ()
    """First names first."""
    year: int | None = None
    date: str = ""
    """As precisely as it is stated, in ISO 8601."""
    venue: str = ""
    abstract: str = ""
    topics: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    """DOI without its address, `arXiv:…`, numbers of catalogues."""
    citations: int | None = None
    """How many papers cite it, as the source counted."""
    references: tuple[Reference, ...] = ()
    kind: str = ""
    """The source's own word: article, inproceedings, …"""
    note: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    """Further fields, for filters."""


def is_count(value: object) -> TypeGuard[int]:
    """Whether it can be how often a paper is cited."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
