"""What was changed by hand, and taking it back: the audit log knows the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from clew.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from starlette.responses import Response

    from clew.ports import AuditEntry
    from clew.web.request import PageRequest

READ = 500
"""Entries of the log that are looked through, the newest."""
ENDS = ("entity_id", "new_entity_id", "source_id", "target_id", "other_id")
"""What of an entry names an entity."""
_SAID: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "merge_entities": lambda u: f"Merged: {', '.join(u['names'])} named another entity before.",
    "split_entity": lambda u: f"Split: {', '.join(u['names'])} became an entity of its own.",
    "rename_entity": lambda u: f"Renamed: it was “{u['before']}”.",
    "retype_entity": lambda u: f"Retyped: it was “{u['before']}”.",
    "refuse_merge": lambda u: f"Kept apart: {' / '.join(u['names'])}.",
    "delete_relation": lambda u: f"The relation “{u.get('relation_type', '')}” was taken back.",
    "add_entity_relationship": lambda u: f"The relation “{u['relation_type']}” stated by hand.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change that can be taken back."""

    id: int
    tool: str
    moment: datetime
    text: str


def changes(page: PageRequest, entity: int | None = None) -> list[Change]:
    """Those that the caller may take back, of one entity or all, the newest first.

    Whoever may not read the log sees their own.
    """
    if not page.may("undo_change"):
        return []
    return [
        Change(entry.id, entry.tool, entry.recorded_at, _SAID[entry.tool](entry.undo))
        for entry in page.engine.maintenance.audit(limit=READ)
        if entry.undo is not None
        and page.may(entry.tool)
        and (entity is None or entity in {entry.undo.get(name) for name in ENDS})
        and (page.may("audit") or entry.caller == page.scope.caller.name)
    ]


def last(page: PageRequest, tool: str) -> int | None:
    """The entry of what the caller has just done with a tool."""
    name = page.scope.caller.name
    entries = page.engine.maintenance.audit(limit=20)
    return next((e.id for e in entries if (e.tool, e.caller) == (tool, name)), None)


def undo(page: PageRequest) -> Response:
    """Take a change back, then show what it was about."""
    number = page.id("change")
    found = page.engine.maintenance.audit(before=number + 1, limit=1)
    entry = found[0] if found and found[0].id == number else None
    allowed = {change.id for change in changes(page)}
    if entry is None or entry.undo is None or number not in allowed:
        raise NotFoundError(f"change {number} is not there to be taken back; look at the log again")
    page.call("undo_change", entry_id=number)
    return RedirectResponse(_place(page, entry), 303)


def _place(page: PageRequest, entry: AuditEntry) -> str:
    """The page of what a change was about."""
    known = entry.undo or {}
    if entry.tool == "refuse_merge":
        return page.url("merges")
    if entry.tool == "merge_entities":
        return page.url("entity", name=known["names"][0])
    if entry.tool == "split_entity":  # what was split off is no entity any more
        return page.url(f"entities/{known['entity_id']}")
    return page.url(f"entities/{page.sent('entity') or known.get('entity_id')}")
