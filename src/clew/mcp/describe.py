"""Tools of the table as the protocol describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import Tool as ProtocolTool

from clew.tools.formats import mcp_definition

if TYPE_CHECKING:
    from clew.tools.spec import Tool


def describe(tool: Tool) -> ProtocolTool:
    """A tool with its schemas and annotations."""
    return ProtocolTool.model_validate(mcp_definition(tool))
