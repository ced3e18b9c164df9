"""Chroma: vectors searched on its servers, or in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def vector_indexes() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"chroma": "clew.plugins.chroma.remote"}
