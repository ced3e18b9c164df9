"""What messages advise, as tools: who calls tools has no command line."""

from __future__ import annotations

import re

_TOOLS = {
    "clew stats --graph": "graph_enhanced_search",
    "clew entity show NAME": "graph_enhanced_search",
    "clew entity show": "graph_enhanced_search",
    "`clew export` or build_local_graph": "build_local_graph",
    "clew documents": "list_documents",
    "clew index PATH": "ingest_document",
    "clew reindex": "reindex",
}
"""By command: the tool that does the same or comes nearest."""
_COMMAND = re.compile("|".join(map(re.escape, _TOOLS)))


def name_tools(message: str) -> str:
    """The message with tools in place of the commands that it names."""
    return _COMMAND.sub(lambda match: _TOOLS[match.group()], message)
