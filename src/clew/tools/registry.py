"""All tools, in the order in which clients see them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.tools.documents.table import DOCUMENT_TOOLS
from clew.tools.extraction.table import EXTRACTION_TOOLS
from clew.tools.graph.cypher import CYPHER_TOOL
from clew.tools.graph.table import GRAPH_TOOLS
from clew.tools.memory.table import MEMORY_TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.engine import Engine
    from clew.jobs.runner import JobRunner
    from clew.tools.spec import Tool
    from clew.tools.toolbox import Toolbox

TOOLS: tuple[Tool, ...] = (
    *DOCUMENT_TOOLS,
    *GRAPH_TOOLS,
    CYPHER_TOOL,
    *EXTRACTION_TOOLS,
    *MEMORY_TOOLS,
)
"""Those of every profile; a `Toolbox` picks the ones of its own."""


def pack_tools(engine: Engine) -> list[Tool]:
    """The tools of the packs that the engine's store has enabled.

    Raises `InputError` for what is no tool, and for a name that another tool has.
    """
    from clew.tools.spec import Tool

    found: dict[str, Tool] = {}
    for pack in engine.state.packs.packs:
        for tool in pack.tools():
            if not isinstance(tool, Tool):
                raise InputError(f"the pack {pack.name!r} gives {tool!r:.80} as a tool, not a Tool")
            if tool.name in found or any(tool.name == known.name for known in TOOLS):
                raise InputError(
                    f"the pack {pack.name!r} gives a tool {tool.name!r} anew; rename it"
                )
            found[tool.name] = tool
    return list(found.values())


def make_toolbox(
    engine: Engine,
    tools: Sequence[Tool] = TOOLS,
    jobs: JobRunner | None = None,
    *,
    packs: bool = True,
) -> Toolbox:
    """Tools on one engine, with its audit log and with its jobs, or with a runner given.

    With `packs`, those of the packs that are enabled come with them.
    """
    from clew.jobs.kinds import make_runner
    from clew.tools.audit import audit_to
    from clew.tools.graph.undoing import UNDOS
    from clew.tools.toolbox import Toolbox
    from clew.wiring import make_audit

    return Toolbox(
        engine,
        tools,
        profile=None,
        services={"jobs": jobs or make_runner(engine)},
        audit=audit_to(make_audit(engine.state.journal)),
        undos=UNDOS,
        known=TOOLS,
        further=partial(pack_tools, engine) if packs else None,
    )
