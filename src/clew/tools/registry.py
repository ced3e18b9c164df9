"""All tools, in the order in which clients see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.tools.documents.table import DOCUMENT_TOOLS
from clew.tools.extraction.table import EXTRACTION_TOOLS
from clew.tools.graph.table import GRAPH_TOOLS
from clew.tools.memory.table import MEMORY_TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.engine import Engine
    from clew.jobs.runner import JobRunner
    from clew.tools.spec import Tool
    from clew.tools.toolbox import Toolbox

TOOLS: tuple[Tool, ...] = (*DOCUMENT_TOOLS, *GRAPH_TOOLS, *EXTRACTION_TOOLS, *MEMORY_TOOLS)
"""Those of every profile; a `Toolbox` picks the ones of its own."""


def make_toolbox(
    engine: Engine, tools: Sequence[Tool] = TOOLS, jobs: JobRunner | None = None
) -> Toolbox:
    """Tools on one engine, with its audit log and with its jobs, or with a runner given."""
    from clew.jobs.kinds import make_runner
    from clew.tools.audit import audit_to
    from clew.tools.toolbox import Toolbox
    from clew.wiring import make_audit

    return Toolbox(
        engine,
        tools,
        profile=None,
        services={"jobs": jobs or make_runner(engine)},
        audit=audit_to(make_audit(engine.state.journal)),
        known=TOOLS,
    )
