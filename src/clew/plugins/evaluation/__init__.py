"""`clew eval`: retrieval and answers measured on data sets in the BEIR layout."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def commands() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"eval": "clew.plugins.evaluation.commands:evaluate"}
