"""A library of research: papers that cite each other, build on each other and improve on them."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def packs() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"papers": "clew.plugins.papers.pack:PACK"}


@hookimpl
def strategies() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"papers": "clew.plugins.papers.asking:STRATEGY"}
