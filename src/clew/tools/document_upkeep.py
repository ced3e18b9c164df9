"""What the document tools do with a collection as a whole: index, back up, restore, audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.ingest.access import existing_path, permitted_path
from clew.tools.budget import fitting, no_room, read_cursor
from clew.tools.document_writing import jobs_of, status_of

if TYPE_CHECKING:
    from clew.ports import AuditEntry
    from clew.tools.spec import Arguments, Call, Result

_NEWEST = 2**63 - 1
"""Ids of entries end here."""


def reindex(call: Call, _: Arguments) -> Result:
    """`reindex`."""
    runner = jobs_of(call)
    return status_of(runner, runner.submit("reindex", {}, description="index again"))


def backup(call: Call, arguments: Arguments) -> Result:
    """`backup`."""
    path = permitted_path(arguments["path"], call.engine.settings)
    return {"path": str(path), "bytes": call.engine.backup(path)}


def restore(call: Call, arguments: Arguments) -> Result:
    """`restore`."""
    engine = call.engine
    path = existing_path(arguments["path"], engine.settings)
    held = engine.stats()["documents"]
    if not arguments["confirm"]:
        raise InputError(
            f"restoring {arguments['path']!r} replaces all that is stored ({held} documents) and"
            " cannot be undone; call again with confirm=true if it is wanted"
        )
    engine.restore(path)
    return {"path": str(path), "documents": engine.stats()["documents"]}


def audit(call: Call, arguments: Arguments) -> Result:
    """`audit`."""
    engine, limit = call.engine, arguments["limit"]
    before = read_cursor(arguments["cursor"], _NEWEST) if arguments["cursor"] else None
    # One more than is shown tells whether there is more.
    found = engine.audit(before=before, limit=limit + 1)
    items = [_entry(entry) for entry in found[:limit]]
    around: Result = {"entries": [], "next_cursor": str(_NEWEST)}
    kept = fitting(items, around, arguments["max_tokens"], engine.embedder.count_tokens)
    if items and not kept:
        raise no_room(items[0]["tool"])
    more = len(kept) < len(found)
    return {"entries": kept, "next_cursor": str(kept[-1]["id"]) if more else None}


def _entry(entry: AuditEntry) -> Result:
    return {
        "id": entry.id,
        "recorded_at": entry.recorded_at.isoformat(),
        "caller": entry.caller,
        "tool": entry.tool,
        "subjects": dict(entry.subjects),
    }
