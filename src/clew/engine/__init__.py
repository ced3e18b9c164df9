"""The engine: everything that a user of the library, the command line or a server can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from clew.engine.documents import Documents
from clew.engine.graph import Entities, Graph
from clew.engine.maintenance import Maintenance, Packs
from clew.engine.namespaces import Namespaces
from clew.engine.search import Ask, Search, SearchOptions
from clew.engine.state import EngineState, Models

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.settings import Settings
    from clew.stores.sqlite.journal import SqliteConversations
    from clew.types import CypherAnswer, EnrichmentReport

__all__ = ["Engine", "EngineState", "SearchOptions"]


class Engine(Documents, Search, Ask):
    """One namespace's store and what can be done with it; plugins give further members.

    What is done with documents and questions is its own; entities, the graph, upkeep and packs are
    parts. Threads may share an engine. Use it as a context manager, or call `close`.
    """

    chat: Callable[..., Any]
    """Begins a conversation with the language model."""
    conversations: SqliteConversations
    """Conversations that are kept, and forgetting them."""
    enriching: Any
    """What the model added, what is left to add and what it would take, and taking it back."""
    enrich: Callable[..., list[EnrichmentReport]]
    """Has the language model add to the store, as `enriching` tells."""
    ask_by_cypher: Callable[..., CypherAnswer]
    """Asks the store's graph on a server by a query that the language model writes."""

    def __init__(self, settings: Settings, **models: Unpack[Models]) -> None:
        self.state = EngineState(settings, **models)
        """The store, the models, and what is derived from the store."""
        self.settings = settings
        self.store = self.state.store
        Documents.__init__(self, self.state)
        Search.__init__(self, self.state)
        Ask.__init__(self, self.state, self)
        self.documents: Documents = self
        self.searching: Search = self
        self.asking: Ask = self
        self.entities = Entities(self.state)
        self.graph = Graph(self.state, self.entities)
        self.maintenance = Maintenance(self.state)
        self.packs = Packs(self.state)

    @property
    def namespaces(self) -> Namespaces[Self]:
        """The namespaces at the same place.

        Example:
            >>> list(store.namespaces)
            ['default']
        """
        return Namespaces(self.state, type(self))

    if not TYPE_CHECKING:  # a checker would take every name for one

        def __getattr__(self, name: str) -> object:
            """The member that a plugin gives by that name, as if it stood in the class."""
            from clew.hookspecs import named, there  # the engine's own members need no plugin

            if name not in named("members"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            found = there(named("members")[name][0])
            return vars(self).setdefault(name, found.__get__(self, type(self)))

    def __enter__(self) -> Self:
        """The engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the engine."""
        self.close()

    def close(self) -> None:
        """Let go of files; may be called twice.

        Example:
            >>> notes = clew.open("notes.clew")
            >>> notes.close()
        """
        self.state.close()
