"""Calendar, contacts and tasks, beside the mail and the notes that every store reads."""

from __future__ import annotations

from collections.abc import Mapping

from clew.hookspecs import hookimpl


@hookimpl
def packs() -> Mapping[str, str]:
    """See `Hooks`."""
    return {"personal": "clew.plugins.personal.pack:PACK"}
