"""`clew eval`: strategies side by side on data sets."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def commands() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"eval": "clew.plugins.evaluation.command:evaluate"}
