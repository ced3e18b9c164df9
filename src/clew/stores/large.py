"""From which size on a store has an index beside it that an optional package makes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from clew.errors import MissingExtraError

if TYPE_CHECKING:
    from clew.settings import LargeSettings

LARGE = 100_000
"""Passages from which an index is faster than the store itself; docs/scale.md has the figures."""


def keywords_from(settings: LargeSettings) -> int | None:
    """Passages from which words are searched by tantivy; None for never."""
    return _used_from("keywords", settings.keywords, "tantivy")


def codes_from(settings: LargeSettings) -> int | None:
    """Passages from which codes of vectors are kept; None for never."""
    return _used_from("vectors", settings.vectors, "turbovec")


def _used_from(setting: str, wanted: str, package: str) -> int | None:
    installed = find_spec(package) is not None
    if wanted == "always" and not installed:
        raise MissingExtraError(f"large.{setting} = 'always'", "large")
    if wanted == "never" or not installed:
        return None
    return LARGE if wanted == "auto" else 1
