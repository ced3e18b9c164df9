"""What users of the library get: the engine, and the tools that call it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from clew.engine import Engine

if TYPE_CHECKING:
    from clew.operations.toolbox import Toolbox


class Clew(Engine):
    """One namespace's store and what can be done with it; made by `clew.open`.

    Example:
        >>> len(store), "clock" in store, [document.source for document in store]
        (3, True, ['bakery', 'clock', 'teacher'])
    """

    @cached_property
    def tools(self) -> Toolbox:
        """Everything that an assistant may call, by name: `tools.call("search", {"query": …})`.

        Example:
            >>> done = store.tools.call("search", {"query": "Who built the clock?"})
            >>> done.content["results"][0]["title"]
            'The clock'
        """
        from clew.operations.toolbox import make_toolbox  # takes longer than opening a store

        return make_toolbox(self)
