"""What the document tools do with a collection as a whole: index, back up, restore, audit."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError
from clew.private_files import make_folder
from clew.settings import NAMESPACE
from clew.text import counted
from clew.tools.budget import fitting, no_room, read_cursor
from clew.tools.documents.reading import next_page
from clew.tools.documents.writing import ERROR_CHARACTERS, ERRORS_SHOWN, jobs_of, status_of
from clew.tools.truncate import shortened
from clew.wiring import make_store, store_exists

if TYPE_CHECKING:
    from pathlib import Path

    from clew.engine import Engine
    from clew.ports import AuditEntry
    from clew.tools.spec import Arguments, Call, Result

_NEWEST = 2**63 - 1
"""Ids of entries end here."""


_RETRY = "enrich with retry=true asks again for what failed before"


def reindex(call: Call, _: Arguments) -> Result:
    """`reindex`."""
    runner = jobs_of(call)
    return status_of(runner, runner.submit("reindex", {}, description="index again"))


def enrich(call: Call, arguments: Arguments) -> Result:
    """`enrich`: what it would take, and the job that does it."""
    kinds, enriching = arguments["kinds"], call.engine.enriching
    gleaning = arguments["gleaning"] or None
    found = enriching.estimate(*kinds, retry=arguments["retry"], gleaning=gleaning)
    estimates = [{"kind": kind, **asdict(one)} for kind, one in found.items()]
    failed = [(kind, one) for kind in kinds for one in enriching.failures(kind)]
    said = {
        "estimates": estimates,
        "failed": [
            {
                "kind": kind,
                "about": shortened(one.source, ERROR_CHARACTERS),
                "reason": shortened(one.reason, ERROR_CHARACTERS),
            }
            for kind, one in failed[:ERRORS_SHOWN]
        ],
        "failed_left_out": max(len(failed) - ERRORS_SHOWN, 0),
        "next_step": _RETRY if failed and not arguments["retry"] else "",
    }
    if arguments["dry_run"]:
        return {**said, "job": {}}
    runner = jobs_of(call)
    wanted = {
        "kinds": kinds,
        "retry": arguments["retry"],
        "gleaning": gleaning,
        "max_tokens": arguments["max_tokens_spent"],
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    job = runner.submit("enrich", wanted, description=f"enrich: {', '.join(kinds)}")
    return {**said, "job": status_of(runner, job)}


def backup(call: Call, arguments: Arguments) -> Result:
    """`backup`."""
    name = arguments["name"] or datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    path = _backup_file(call, name)
    make_folder(path.parent)
    if path.exists():
        raise InputError(f"there is a backup {name!r} already; give another name")
    most = call.engine.settings.quota.backups
    _check_room(path.parent, most - 1)
    size = call.engine.maintenance.backup(path)
    try:
        # Looked at again: of several that are made at once, none slips through.
        _check_room(path.parent, most)
    except InputError:
        path.unlink()
        raise
    return {"name": name, "bytes": size}


def _check_room(folder: Path, most: int) -> None:
    names = _names(folder)
    if len(names) > most:
        raise InputError(
            f"there are {len(names)} backups ({', '.join(names)}), as many as the setting"
            " quota.backups allows; whoever runs the server has to move one away or to raise it"
        )


def _names(folder: Path) -> list[str]:
    """Names of the backups that are there."""
    return sorted(file.stem for file in folder.glob("*.db"))


def restore(call: Call, arguments: Arguments) -> Result:
    """`restore`."""
    engine = call.engine
    name = arguments["name"]
    path = _backup_file(call, name)
    if not path.is_file():
        there = ", ".join(_names(path.parent)) or "none yet"
        raise NotFoundError(f"there is no backup {name!r} of this collection; there are: {there}")
    held = engine.maintenance.stats()["documents"]
    if not arguments["confirm"]:
        raise InputError(
            f"restoring {name!r} replaces all that is stored ({counted(held, 'document')}) and"
            " cannot be undone; call again with confirm=true if it is wanted"
        )
    engine.maintenance.restore(path, own=True)
    return {"name": name, "documents": engine.maintenance.stats()["documents"]}


def _backup_file(call: Call, name: str) -> Path:
    """Where a backup of the caller's namespace is kept, by name: whoever calls gives no path."""
    if not re.fullmatch(NAMESPACE, name):
        raise InputError(
            f"name {name!r} cannot be; expected letters, digits, '_', '.' and '-', at most 64, such"
            " as before-the-move"
        )
    return call.engine.store.folder / "backups" / f"{name}.db"


def audit(call: Call, arguments: Arguments) -> Result:
    """`audit`."""
    engine, limit = call.engine, arguments["limit"]
    before = read_cursor(arguments["cursor"], _NEWEST) if arguments["cursor"] else None
    # One more than is shown tells whether there is more.
    found = engine.maintenance.audit(before=before, limit=limit + 1)
    items = [_entry(entry) for entry in found[:limit]]
    around: Result = {"entries": [], "next_cursor": str(_NEWEST)}
    kept = fitting(items, around, arguments["max_tokens"], engine.state.embedder.count_tokens)
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
        "outcome": entry.outcome,
        "can_undo": entry.undo is not None,
    }


def list_collections(call: Call, arguments: Arguments) -> Result:
    """`list_collections`: the caller's namespaces; what others have is never looked at."""
    own = call.engine.settings.namespace
    names = call.caller.namespaces or (own,)
    start = read_cursor(arguments["cursor"])
    page = names[start : start + arguments["limit"]]
    return {
        "collections": [_collection(call.engine, name) for name in page],
        "total": len(names),
        "next_cursor": next_page(start, len(page), len(names)),
    }


def _collection(engine: Engine, namespace: str) -> Result:
    split = engine.settings.split
    return {
        "namespace": namespace,
        "counts": _counts(engine, namespace),
        "settings": {
            "embedder": engine.state.embedder.name,
            "split": split.strategy,
            "chunk_tokens": split.chunk_tokens,
            "section_tokens": split.section_tokens,
            "time_zone": engine.settings.search.time_zone,
        },
    }


def _counts(engine: Engine, namespace: str) -> Result:
    """Counts of a namespace's store; none are made where there is no store."""
    wanted = ("documents", "chunks", "entities", "relations")
    if namespace == engine.settings.namespace:
        return {name: engine.maintenance.stats()[name] for name in wanted}
    settings = engine.settings.model_copy(update={"namespace": namespace})
    if not store_exists(settings):
        return dict.fromkeys(wanted, 0)
    store = make_store(settings)
    try:
        return {name: store.statistics()[name] for name in wanted}
    finally:
        store.close()
