"""A constitution: values, the principles that they define, the goals that these guide."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def packs() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"constitution": "clew.plugins.constitution.pack:PACK"}
