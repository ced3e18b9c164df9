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
