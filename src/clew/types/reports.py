"""Reports of indexing and of checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A file or record that could not be indexed, and why."""

    source: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexReport:
    """What one run of `index` did."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    pruned: int = 0
    chunks: int = 0
    skipped: tuple[Skipped, ...] = ()
    seconds: float = 0.0
    embedding_seconds: float = 0.0
    moved: tuple[tuple[str, str], ...] = ()
    """(source that is gone and still stored, new source with the same content)"""


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexPreview:
    """What a run of `index` would do, as far as files tell without being read: their sources."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Stored from another state of the file, or by other settings; also every file that holds
    several documents, of which only reading tells which have changed."""
    unchanged: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Stored, and their files below the paths given have vanished; `prune` drops them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """A broken invariant that `check` found."""

    invariant: str
    detail: str
    repairable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """What `check` looked at, found and mended."""

    checked: Sequence[str]
    problems: tuple[Problem, ...]
    repaired: tuple[str, ...] = ()
