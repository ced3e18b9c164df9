"""The engine: everything that a user of the library, the command line or a server can do."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from clew.engine.entities import Editing
from clew.engine.graph import NEIGHBOR_DEPTH, Exploring, Neighbor
from clew.engine.indexing import Indexing
from clew.engine.maintenance import Upkeep
from clew.engine.search import Asking, SearchOptions

if TYPE_CHECKING:
    from clew.tools.toolbox import Toolbox

__all__ = ["NEIGHBOR_DEPTH", "Clew", "Neighbor", "SearchOptions"]


class Clew(Indexing, Asking, Exploring, Editing, Upkeep):
    """One namespace's store and what can be done with it; made by `clew.open`.

    Threads may share an engine. Use it as a context manager, or call `close`.
    """

    @cached_property
    def tools(self) -> Toolbox:
        """Everything that an assistant may call, by name: `tools.call("search", {"query": …})`."""
        # The tools call the engine; that it offers them is all that it knows of them.
        from clew.tools.registry import make_toolbox

        return make_toolbox(self)
