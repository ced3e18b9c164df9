"""What of a call the audit log keeps: ids and names, never texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.ports import AuditLog, AuditOutcome
    from clew.tools.spec import Arguments, Caller, Result, Tool
    from clew.tools.toolbox import Audit, Settle

SUBJECTS = frozenset(
    """below confirm deletions document entities entityName entityNames entityType entity_id
    entity_ids entity_type entry_id from id is_causal job_id limit name namespace names observations
    other_id path relationType relation_id relation_type relations source source_id target_id
    title to url weight""".split()
)
"""Parameters, and fields of their objects, whose values say what a call was about."""
SHOWN = 200
"""Characters of a name, and items of an array, that are kept."""


def audit_to(log: AuditLog) -> Audit:
    """The hook of a `Toolbox` that writes every change down before it is made."""

    def record(caller: Caller, tool: Tool, arguments: Arguments) -> Settle:
        entry = log.record(caller.name, tool.name, subjects(arguments))

        def settle(outcome: AuditOutcome, undo: Result | None = None) -> None:
            log.settle(entry, outcome)
            if undo is not None:
                log.keep_undo(entry, undo)

        return settle

    return record


def subjects(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, without the texts among them."""
    return {
        name: _kept(name, value)
        for name, value in arguments.items()
        if name in SUBJECTS and value is not None and value != ()
    }


def _kept(name: str, value: Any) -> Any:  # noqa: ANN401 - any argument
    if isinstance(value, list):
        return [_kept(name, item) for item in value[:SHOWN]]
    if isinstance(value, dict):
        return subjects(value)
    if isinstance(value, str):
        # An address may carry a key in its query.
        return (value.partition("?")[0] if name in ("url", "source") else value)[:SHOWN]
    return value
