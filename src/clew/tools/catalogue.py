"""All tools, in the order in which clients see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.tools.document_tools import DOCUMENT_TOOLS
from clew.tools.extraction_tools import EXTRACTION_TOOLS
from clew.tools.graph_tools import GRAPH_TOOLS
from clew.tools.memory_tools import MEMORY_TOOLS

if TYPE_CHECKING:
    from clew.tools.spec import Tool

TOOLS: tuple[Tool, ...] = (*DOCUMENT_TOOLS, *GRAPH_TOOLS, *EXTRACTION_TOOLS, *MEMORY_TOOLS)
"""Those of every profile; a `Toolbox` picks the ones of its own."""
