"""What the document tools do with a collection as a whole: index again, back up, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.ingest.access import existing_path, permitted_path
from clew.tools.document_writing import jobs_of, status_of

if TYPE_CHECKING:
    from clew.tools.spec import Arguments, Call, Result


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
