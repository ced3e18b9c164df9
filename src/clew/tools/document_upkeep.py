"""What the document tools do with a collection as a whole: index again, back up, restore."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.settings import NAMESPACE
from clew.stores.private_files import make_folder
from clew.tools.document_writing import jobs_of, status_of

if TYPE_CHECKING:
    from pathlib import Path

    from clew.tools.spec import Arguments, Call, Result


def reindex(call: Call, _: Arguments) -> Result:
    """`reindex`."""
    runner = jobs_of(call)
    return status_of(runner, runner.submit("reindex", {}, description="index again"))


def backup(call: Call, arguments: Arguments) -> Result:
    """`backup`."""
    name = arguments["name"] or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    path = _backup_file(call, name)
    make_folder(path.parent)
    if path.exists():
        raise InputError(f"there is a backup {name!r} already; give another name")
    return {"name": name, "bytes": call.engine.backup(path)}


def restore(call: Call, arguments: Arguments) -> Result:
    """`restore`."""
    engine = call.engine
    name = arguments["name"]
    path = _backup_file(call, name)
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in path.parent.glob("*.db"))) or "none yet"
        raise NotFoundError(f"there is no backup {name!r} of this collection; there are: {there}")
    held = engine.stats()["documents"]
    if not arguments["confirm"]:
        raise InputError(
            f"restoring {name!r} replaces all that is stored ({held} documents) and"
            " cannot be undone; call again with confirm=true if it is wanted"
        )
    engine.restore(path, own=True)
    return {"name": name, "documents": engine.stats()["documents"]}


def _backup_file(call: Call, name: str) -> Path:
    """Where a backup of the caller's namespace is kept, by name: whoever calls gives no path."""
    if not re.fullmatch(NAMESPACE, name):
        raise InputError(
            f"name {name!r} cannot be; expected letters, digits, '_', '.' and '-', at most 64, such"
            " as before-the-move"
        )
    return call.engine.store.folder / "backups" / f"{name}.db"
