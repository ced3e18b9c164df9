"""Calling tools by name: rights, arguments, the call itself, and what comes back."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from clew.errors import ClewError, InputError
from clew.operations import (
    document_queries,
    documents,
    graph_changes,
    graph_queries,
    memory,
)
from clew.operations.budget import shortened
from clew.operations.spec import (
    CORE,
    Arguments,
    Call,
    Caller,
    Format,
    Progress,
    Result,
    Tool,
    as_object,
    complete,
    definitions,
)
from clew.request_end import finishing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Engine
    from clew.jobs import JobRunner
    from clew.ports import AuditOutcome
    from clew.stores.sqlite.journal import SqliteAudit
    from clew.types import ToolProfile

    Settle = Callable[[AuditOutcome, Result | None], None]
    """Told what became of a write, and what takes it back."""
    Audit = Callable[[Caller, Tool, Arguments], Settle]
    """Told of every write that is about to happen."""


logger = logging.getLogger("clew")

ERROR_CHARACTERS = 2000
"""Characters of an error, at most: it quotes what was given, however long that is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What a call came to."""

    content: Result
    """The result with `success`; of a failure, `success: false` and `error`."""
    is_error: bool
    error: Exception | None = None
    """Why it failed."""

    @property
    def text(self) -> str:
        """The content as complete JSON text; of a failure, the message alone."""
        if self.is_error:
            return str(self.content["error"])
        return json.dumps(self.content, ensure_ascii=False)


class Toolbox:
    """The tools of one profile, or of all (None), on one engine."""

    def __init__(
        self,
        engine: Engine,
        tools: Sequence[Tool],
        *,
        profile: ToolProfile | None = "core",
        services: Mapping[str, Any] | None = None,
        audit: Audit | None = None,
        known: Sequence[Tool] = (),
        further: Callable[[], Sequence[Tool]] | None = None,
    ) -> None:
        """`known` are the tools of all profiles, which errors speak of.
        `further` gives tools that come and go, such as those of packs.
        """
        self._engine = engine
        self._own = {tool.name: tool for tool in tools if profile in (None, *tool.profiles)}
        self._further = further
        self._services = dict(services or {})
        self._audit = audit
        self._profiles = {tool.name: sorted(tool.profiles) for tool in (*known, *tools)}

    @property
    def _tools(self) -> dict[str, Tool]:
        further = self._further() if self._further else ()
        return {**self._own, **{tool.name: tool for tool in further}}

    def allowed(self, caller: Caller) -> list[Tool]:
        """The tools that a caller may use, in order."""
        return [tool for tool in self._tools.values() if may_call(caller, tool)]

    def definitions(self, format: Format, *, profile: ToolProfile = "core") -> list[dict[str, Any]]:
        """The tools of a profile as a vendor's client takes them; see `clew.operations.spec`."""
        return definitions((t for t in self._tools.values() if profile in t.profiles), format)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        caller: Caller | None = None,
        progress: Progress | None = None,
        declined: bool = False,
    ) -> Outcome:
        """Run a tool; every failure is an outcome that says what to do next.

        Arguments may be the JSON text of an object, as models write them. What the user `declined`
        is refused, and the audit log says so.
        """
        caller = caller or Caller()
        try:
            tool = self._find(name, caller)
            complete_arguments = complete(name, tool.parameters, as_object(name, arguments))
            call = Call(
                engine=self._engine,
                caller=caller,
                services=self._services,
                progress=progress or Progress(),
            )
            result = self._audited(call, tool, complete_arguments, declined)
        except ClewError as error:
            return _failure(str(error), error)
        except Exception as error:
            logger.exception("tool %s failed", name)
            return _failure(
                f"{name} failed inside Clew; the server's log says why. Try another way", error
            )
        return Outcome(content={"success": True, **result}, is_error=False)

    def _audited(self, call: Call, tool: Tool, arguments: Arguments, declined: bool) -> Result:
        """Run a tool; what it writes and what the audit log says of it reach the disk together."""
        together = self._engine.store.grouping() if tool.scope == "write" else nullcontext()
        with together:
            changes_nothing = tool.read_only or arguments.get("dry_run") is True
            if changes_nothing or self._audit is None:
                return self._run(call, tool, arguments, declined)[0]
            with finishing():
                settle = self._audit(call.caller, tool, arguments)
                store = self._engine.store
                before = store.generation() if tool.destructive else None
                try:
                    result, undo = self._run(call, tool, arguments, declined)
                except Exception as error:
                    with suppress(ClewError):  # a full disk: the first error says so
                        settle("refused" if isinstance(error, InputError) else "failed", None)
                    raise
                settle("nothing" if before == store.generation() else "done", undo)
                return result

    def _run(
        self, call: Call, tool: Tool, arguments: Arguments, declined: bool
    ) -> tuple[Result, Result | None]:
        """The result, and what takes the change back."""
        if declined:
            raise InputError(f"the user declined {tool.name}; nothing changed. Ask what instead")
        if tool.scope == "write" and not (tool.destructive or tool.frees):
            reason = self._engine.documents.quota_reached()
            if reason is not None:
                raise InputError(reason)
        known = tool.undo.before(call, arguments) if tool.undo and tool.undo.before else {}
        result = tool.run(call, arguments)
        given = {name: value for name, value in arguments.items() if value is not None}
        return result, {**known, **given, **result} if tool.undo else None

    def _find(self, name: str, caller: Caller) -> Tool:
        tool = self._own.get(name) or self._tools.get(name)
        if tool is not None and may_call(caller, tool):
            return tool
        known = ", ".join(tool.name for tool in self.allowed(caller))
        others = [] if name in self._own else self._profiles.get(name, [])
        profiles = " or ".join(others)
        there = f" (it is one of the profile {profiles}: clew mcp --profile full)" if others else ""
        raise InputError(f"there is no tool {name!r}{there}; use one of {known}")


def may_call(caller: Caller, tool: Tool) -> bool:
    """Whether the caller's scopes and list of tools allow a tool."""
    return tool.scope in caller.scopes and (caller.tools is None or tool.name in caller.tools)


def _failure(message: str, error: Exception) -> Outcome:
    # The end says what to do next: what goes is the middle.
    content = {"success": False, "error": shortened(message, ERROR_CHARACTERS)}
    return Outcome(content=content, is_error=True, error=error)


# All operations, in the order in which clients see them.


TOOLS: tuple[Tool, ...] = (
    document_queries.search,
    document_queries.fetch,
    document_queries.query_documents,
    document_queries.ask,
    documents.ingest_document,
    documents.ingest_with_context,
    documents.query_job_status,
    documents.cancel_job,
    document_queries.list_documents,
    document_queries.get_document,
    documents.delete_document,
    documents.list_collections,
    documents.reindex,
    documents.backup,
    documents.restore,
    graph_queries.graph_enhanced_search,
    graph_queries.get_entity_neighbors,
    graph_queries.search_entities,
    graph_queries.find_paths,
    graph_queries.entity_timeline,
    graph_queries.build_local_graph,
    graph_queries.get_graph_statistics,
    graph_changes.add_entity_relationship,
    graph_changes.delete_relation,
    graph_changes.merge_entities,
    graph_changes.undo_change,
    graph_changes.extract_entity_relationships,
    graph_changes.extract_all_relationships,
)
"""Those for assistants."""
MEMORY_TOOLS: tuple[Tool, ...] = (
    memory.create_entities,
    memory.create_relations,
    memory.add_observations,
    memory.delete_entities,
    memory.delete_observations,
    memory.delete_relations,
    memory.read_graph,
    memory.search_nodes,
    memory.open_nodes,
)
"""Those of the reference memory server, by its names."""
OPERATIONS: tuple[Tool, ...] = (
    *TOOLS,
    *MEMORY_TOOLS,
    documents.retry_job,
    documents.audit,
    graph_queries.list_communities,
    graph_queries.relevant_subgraph,
    graph_changes.suggest_merges,
    graph_changes.refuse_merge,
    graph_changes.split_entity,
    graph_changes.edit_entity,
    graph_changes.prune_graph,
    graph_changes.restore_pruned,
)
"""Those for people, too; a `Toolbox` picks the ones of its own."""


def further_tools(engine: Engine | None = None, profile: ToolProfile = "full") -> list[Tool]:
    """The tools of a profile of plugins, and of the packs that an engine's store has enabled.

    Who enables a pack wants its tools: they are those of `core`, too. Raises `InputError` for what
    is no tool, and for a name that another tool has.
    """
    from clew.hookspecs import listed

    found: dict[str, Tool] = {}
    packs = engine.state.packs.packs if engine else ()
    given = [
        (
            f"the pack {pack.name!r}",
            replace(tool, profiles=CORE) if isinstance(tool, Tool) else tool,
        )
        for pack in packs
        for tool in pack.tools()
    ]
    for giver, tool in (*given, *(("a plugin", tool) for tool in listed("tools"))):
        if not isinstance(tool, Tool):
            raise InputError(f"{giver} gives {tool!r:.80} as a tool, not a Tool")
        if tool.name in found or any(tool.name == known.name for known in OPERATIONS):
            raise InputError(f"{giver} gives a tool {tool.name!r} anew; rename it")
        found[tool.name] = tool
    return [tool for tool in found.values() if profile in tool.profiles]


def make_toolbox(
    engine: Engine,
    tools: Sequence[Tool] = OPERATIONS,
    jobs: JobRunner | None = None,
    *,
    further: ToolProfile | None = "full",
) -> Toolbox:
    """Tools on one engine, with its audit log and with its jobs, or with a runner given.

    Of the profile `further`, those of plugins and of the packs that are enabled come with them.
    """
    from clew.jobs import make_runner
    from clew.stores.sqlite.journal import SqliteAudit

    return Toolbox(
        engine,
        tools,
        profile=None,
        services={"jobs": jobs or make_runner(engine)},
        audit=audit_to(SqliteAudit(engine.state.journal)),
        known=OPERATIONS,
        further=partial(further_tools, engine, further) if further else None,
    )


# What of a call the audit log keeps: ids and names, never texts.


SUBJECTS = frozenset(
    """below confirm deletions document entities entityName entityNames entityType entity_id
    entity_ids entity_type entry_id from id is_causal job_id limit name namespace names observations
    other_id path relationType relation_id relation_type relations source source_id target_id
    title to url weight""".split()
)
"""Parameters, and fields of their objects, whose values say what a call was about."""
SHOWN = 200
"""Characters of a name, and items of an array, that are kept."""


def audit_to(log: SqliteAudit) -> Audit:
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
