"""The engine: everything that a user of the library, the command line or a server can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, Unpack

from clew.engine.documents import Documents
from clew.engine.entities import Entities
from clew.engine.graph import Graph
from clew.engine.maintenance import Maintenance, Packs
from clew.engine.search import Ask, Search, SearchOptions
from clew.engine.state import EngineState, Models

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.settings import Settings
    from clew.types import EnrichmentReport

__all__ = ["Engine", "EngineState", "SearchOptions"]


class Engine:
    """One namespace's store and what can be done with it, by part; plugins give further parts.

    The verbs of every day are the engine's own, too. Threads may share an engine. Use it as a
    context manager, or call `close`.
    """

    chat: Callable[..., Any]
    """Begins a conversation with the language model."""
    enriching: Any
    """What the model added, what is left to add and what it would take, and taking it back."""
    enrich: Callable[..., list[EnrichmentReport]]
    """Has the language model add to the store, as `enriching` tells."""

    def __init__(self, settings: Settings, **models: Unpack[Models]) -> None:
        self.state = EngineState(settings, **models)
        """The store, the models, and what is derived from the store."""
        self.settings = settings
        self.store = self.state.store
        self.documents = Documents(self.state)
        self.entities = Entities(self.state)
        self.graph = Graph(self.state, self.entities)
        self.maintenance = Maintenance(self.state)
        self.packs = Packs(self.state)
        self.index = self.documents.index
        self.add = self.documents.add
        self.add_documents = self.documents.add_documents
        self.delete = self.documents.delete
        self.searching = Search(self.state)
        self.search = self.searching.search
        self.asking = Ask(self.state, self.searching)
        self.ask = self.asking.ask
        self.ask_by_cypher = self.asking.by_cypher

    if not TYPE_CHECKING:  # a checker would take every name for one

        def __getattr__(self, name: str) -> object:
            """What a plugin gives an engine by that name."""
            from clew.hookspecs import named, there  # the engine's own parts need no plugin

            if name not in named("parts"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return vars(self).setdefault(name, there(named("parts")[name][0])(self))

    def __enter__(self) -> Self:
        """The engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the engine."""
        self.close()

    def close(self) -> None:
        """Let go of files; may be called twice."""
        self.state.close()
