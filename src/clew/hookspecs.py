"""Hooks: what a plugin may bring, and the plugins that there are; docs/plugins.md tells how.

A plugin is a module with functions that bear the name of a hook and the mark `hookimpl`. Those that
ship are the folders of `clew.plugins`; a package of your own names its module in the group of entry
points `clew.plugins`. Both use these hooks, and the core names neither.

What a hook gives is the thing itself, or its place as text, `module:attribute`: a place is imported
when the thing is asked for, so that a start loads no more than it needs.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias

import pluggy

from clew.errors import InputError
from clew.types import Chunk, Document, Extraction, Structure

GROUP = "clew.plugins"
"""The package of the plugins that ship, and the group of entry points of all others."""
hookimpl = pluggy.HookimplMarker("clew")
_hookspec = pluggy.HookspecMarker("clew")
logger = logging.getLogger("clew")

Reader: TypeAlias = Callable[[Any], Any]
"""Makes a `Document`, or a `ReadResult` of several, of a `RawFile` (`source`, `data`, …), these of
`clew.indexing.reading.common`; None for a file that is of another kind after all, which the next
reader gets."""
FieldKind = Literal["text", "number", "date", "time", "boolean", "list"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A property that entities of a type have, as metadata of the document that describes one."""

    name: str
    """snake_case: its name in the metadata."""
    kind: FieldKind = "text"
    """`date`: ISO 8601 by the day; `time`: in UTC; `list`: of texts."""
    description: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    """The values that there are; empty: any."""

    def expected(self, value: object) -> str:
        """What a value should be that is out of range or none of the choices; else empty."""
        if self.choices:
            return "" if value in self.choices else ", ".join(self.choices)
        least, most = self.minimum, self.maximum
        if least is None and most is None:
            return ""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and (least is None or value >= least) and (most is None or value <= most):  # type: ignore[operator]
            return ""
        if most is None:
            return f"at least {least:g}"
        return f"at most {most:g}" if least is None else f"{least:g} to {most:g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityType:
    """A kind of thing that the domain speaks of.

    A document describes the entity that its title names, where its metadata holds `entity_type`.
    """

    name: str
    """snake_case; `person`, `place`, `organisation`, `work`, `event`, `product`, `concept` are
    known to every store, and mean the same in all packs."""
    fields: tuple[Field, ...] = ()
    description: str = ""
    label: str = ""
    """Of its nodes on Neo4j, beside `ClewEntity`; by default the name in PascalCase."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationType:
    """A kind of relation."""

    name: str
    """snake_case."""
    functional: bool = False
    """One entity has one at a time: a later one ends an earlier one."""
    causal: bool = False
    """What it leads from is the cause of what it leads to."""
    inverse: str = ""
    """The same relation seen from its other end ("wrote" of `written_by`). One that is found is
    stored under `name`, from the other end; `get_entity_neighbors` knows both names."""
    synonyms: tuple[str, ...] = ()
    """Other names of it: what every store reads as `authored_by` is `written_by` of papers."""
    description: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """What a domain adds to the engine. All functions are importable by name from their module."""

    name: str
    """Lower case: letters, digits and underscores."""
    title: str
    description: str = ""
    version: int = 1
    """To be raised where documents have to be indexed again."""
    entity_types: tuple[EntityType, ...] = ()
    relation_types: tuple[RelationType, ...] = ()
    hierarchies: tuple[str, ...] = ()
    """Entity types from the most general to the most particular, with what leads from each to the
    next, such as "value -defines-> principle". `hierarchical` follows the one that has the layer
    that is asked for."""
    readers: Mapping[str, Reader] = field(default_factory=dict)
    """By ending (".ics") or whole file name ("todo.txt"), in lower case. They run in the worker
    process, within the limits of the settings."""
    structures: tuple[Callable[[Document], Structure], ...] = ()
    """What documents state by their structure, as `clew.indexing.structure.READERS`:
    pure functions of the stored document."""
    tools: Callable[[], Sequence[object]] = tuple
    """Gives `clew.operations.spec.Tool`s; what they need is imported inside. They are offered in
    the profile `full` while the pack is enabled."""
    strategies: Mapping[str, str] = field(default_factory=dict)
    """Strategy by kind of question (a rule of `clew.search.route`, or `fact`)."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Further instructions for a model by what it does: `extract`."""
    questions: Path | None = None
    """JSON Lines of `question` and `gold`: titles, or ends of sources, of which one answers it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentKind:
    """Documents that are no prose, such as source code.

    The plugin says where they are cut and what they name. What the core reads in prose it does not
    look for in them: a language, dates in the text, terms of the store, relations of sentences.
    """

    name: str
    """Lower case; a setting `split.strategy` of that name cuts any document so."""
    has: Callable[[str], bool]
    """Whether documents of a media type are of this kind; the first kind that says so has them."""
    endings: Mapping[str, str] = field(default_factory=dict)
    """Media types of files by ending (".py"), where the core knows none."""
    cut: Callable[[Document, Callable[[str], int], int], Any] | str
    """Gives the `clew.indexing.outline.Cut` of a document; it gets what counts the tokens
    of a text, and the most tokens of a unit. Where the document has pieces, they are its units."""
    names: Callable[[Document, Sequence[Chunk]], Extraction] | str
    """What its passages name: one `ChunkExtraction` each, in order. It runs in the worker process,
    as `cut` does."""


class StoreKind(Protocol):
    """How stores on one kind of server are reached, of which `settings.store` is the address."""

    def open(self, settings: Any) -> Any:  # noqa: ANN401 - `Settings`
        """The `clew.ports.Store` of the settings' namespace, made where there is none."""

    def exists(self, settings: Any) -> bool:  # noqa: ANN401 - `Settings`
        """Whether the namespace has a store; none is made."""

    def namespaces(self, settings: Any) -> Sequence[str]:  # noqa: ANN401 - `Settings`
        """The names of the namespaces that have a store there."""

    def drop(self, settings: Any) -> None:  # noqa: ANN401 - `Settings`
        """Delete the namespace's store with all that it holds."""

    def open_for_copying(self, settings: Any, *, make: bool) -> Any:  # noqa: ANN401 - `Settings`
        """Its back end, to be copied from or into; raises `InputError` where there is none."""

    def vectors(self, settings: Any, store: Any) -> Any:  # noqa: ANN401 - `Settings`, `Store`
        """The `clew.ports.SyncedVectorIndex` of the store itself."""


class VectorIndexKind(Protocol):
    """How vectors are searched beside the store."""

    def passages(self, settings: Any, store: Any) -> Any:  # noqa: ANN401 - `Settings`, `Store`
        """The `clew.ports.SyncedVectorIndex` of the passages with their context."""

    def texts(self, settings: Any, store: Any, kept: Any) -> Any:  # noqa: ANN401 - as `passages`
        """That of their texts alone, whose embeddings `kept` gives; None: the store's own does."""


class Hooks(Protocol):
    """The hooks. Each may be left out; each is asked once, when what it gives is first needed."""

    @_hookspec
    def readers(self) -> Mapping[str, Reader | str]:
        """Readers of files, by ending (".ics"), whole name ("todo.txt"), or media type.

        They are asked before the core's. One for "text/plain" tells its files by their content, and
        gives None for all others.
        """

    @_hookspec
    def kinds(self) -> Sequence[DocumentKind | str]:
        """Kinds of documents that are no prose: where they are cut, and what they name."""

    @_hookspec
    def structures(self) -> Sequence[Callable[[Document], Structure] | str]:
        """Pure functions of a stored document: what it states by its structure."""

    @_hookspec
    def entity_types(self) -> Sequence[EntityType]:
        """Kinds of things that every store knows."""

    @_hookspec
    def relation_types(self) -> Sequence[RelationType]:
        """Kinds of relations that every store knows; a functional one belongs in a pack."""

    @_hookspec
    def tools(self) -> Sequence[object]:
        """Tools of every store, as `clew.operations.spec.Tool`, or places of them."""

    @_hookspec
    def packs(self) -> Mapping[str, Pack | str]:
        """By name, the packs that a store may enable."""

    @_hookspec
    def strategies(self) -> Mapping[str, object]:
        """By name, what finds passages, each as a `clew.search.pipeline.Strategy`."""

    @_hookspec
    def stores(self) -> Mapping[str, StoreKind | str]:
        """By scheme of an address ("neo4j"), stores on servers; the first is that of examples."""

    @_hookspec
    def vector_indexes(self) -> Mapping[str, VectorIndexKind | str]:
        """By the value of the setting `vectors`, what searches vectors beside the store."""

    @_hookspec
    def language_models(self) -> Mapping[str, Callable[[Any], Any] | str]:
        """By the value of `llm.provider`, a function of these settings that gives the model."""

    @_hookspec
    def embedders(self) -> Mapping[str, Callable[[Any], Any] | str]:
        """By what stands before the colon of `embed.model`, functions of the settings `embed`.

        Each gives a `clew.ports.Embedder`.
        """

    @_hookspec
    def model_clients(self) -> Sequence[Callable[..., Any] | str]:
        """What an engine asks in place of a bare model; the first one given is taken.

        Functions of a `LanguageModel`, the settings `llm`, and a `clew.stores.state.Replies` or
        None, that give a `clew.ports.ModelClient`.
        """

    @_hookspec
    def members(self) -> Mapping[str, Callable[..., Any] | property | str]:
        """By name, what a `Clew` has beside its own members, made when it is first asked for.

        A property, or a function that has the engine as its first argument, as in a class.
        """

    @_hookspec
    def commands(self) -> Mapping[str, str]:
        """By name, places of functions that become commands, as those in `clew.cli.commands`."""


@cache
def plugins() -> pluggy.PluginManager:
    """The plugins that ship and those that are installed, loaded once.

    One that cannot be loaded is left out with a warning.
    """
    from importlib.metadata import entry_points  # slow to load

    manager = pluggy.PluginManager("clew")
    manager.add_hookspecs(Hooks)
    shipped = sorted(one.name for one in iter_modules(import_module(GROUP).__path__))
    for name in reversed(shipped):  # the last one is asked first
        manager.register(import_module(f"{GROUP}.{name}"), name)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name, reverse=True):
        try:
            version = point.dist.version if point.dist else ""
            manager.register(point.load(), f"{point.name}@{version}")
        except Exception as error:  # noqa: BLE001 - whatever another's code raises
            logger.warning(
                "the plugin %r is left out, for it cannot be loaded (%s: %s); correct it, or"
                " uninstall its package",
                point.name,
                type(error).__name__,
                error,
            )
    return manager


_brought: dict[str, object] = {}


def register(*given: object) -> None:
    """Add plugins that a program made to those of this process.

    Each is a module or object with functions or methods under `hookimpl`; those that are there
    already stay, and one of the same class, given before, is replaced. Raises `InputError`, and
    adds none, for what has no hook, an unknown one, or one that fails.
    """
    names: Counter[str] = Counter()
    found = {}
    manager = plugins()
    for one in map(there, given):
        kind = type(one)
        name = getattr(one, "__name__", f"{kind.__module__}.{kind.__qualname__}")
        hooks = [each for each in dir(one) if manager.parse_hookimpl_opts(one, each) is not None]
        known = [each for each in dir(Hooks) if not each.startswith("_")]
        unknown = sorted(set(hooks) - set(known))
        if unknown or not hooks:
            has = f"an unknown hook {unknown[0]!r}" if unknown else "no hook"
            raise InputError(
                f"the plugin {name!r} has {has}; expected functions or methods under"
                f" clew.hookimpl: {', '.join(known)}"
            )
        for hook in hooks:
            _check_hook(name, hook, getattr(one, hook))
        names[name] += 1
        number = f"#{names[name]}" if names[name] > 1 else ""
        found[f"{name}{number}@{getattr(one, '__version__', '0')}"] = one
    for full, one in found.items():
        if manager.get_plugin(full) is not one:
            if full in _brought:
                manager.unregister(name=full)
            manager.register(one, full)
            _brought[full] = one
            named.cache_clear()
            listed.cache_clear()


def _check_hook(plugin: str, hook: str, give: Callable[[], object]) -> None:
    """Raise `InputError` where a hook fails, or gives something else than it should."""
    try:
        made = give()
    except Exception as error:
        raise InputError(
            f"the hook {hook!r} of the plugin {plugin!r} fails ({type(error).__name__}: {error});"
            " it is asked without arguments"
        ) from error
    kind: type = (
        Mapping if "Mapping[" in getattr(Hooks, hook).__annotations__["return"] else Sequence
    )
    if isinstance(made, str) or not isinstance(made, kind):
        raise InputError(
            f"the hook {hook!r} of the plugin {plugin!r} gave {made!r:.60}; expected a"
            f" {kind.__name__.lower()}, as clew.hookspecs.Hooks says"
        )


def brought() -> list[object]:
    """The plugins that this process was given, for those that work for it: modules by place."""
    return [f"{one.__name__}:" if isinstance(one, ModuleType) else one for one in _brought.values()]


def installed() -> list[str]:
    """The plugins that do not ship, as `name@version`, sorted."""
    return sorted(name for name, _ in plugins().list_name_plugin() if "@" in name)


@cache
def listed(hook: str) -> Sequence[Any]:
    """What plugins give by a hook of things without names, those of other packages first."""
    return [there(one) for found in getattr(plugins().hook, hook)() for one in found]


@cache
def named(hook: str) -> Mapping[str, Sequence[Any]]:
    """What plugins give by a hook of named things, or its places; another package's goes first."""
    found: dict[str, list[Any]] = {}
    for given in getattr(plugins().hook, hook)():
        for name, one in given.items():
            found.setdefault(name, []).append(one)
    return found


def kind_of(media_type: str) -> DocumentKind | None:
    """The kind that documents of a media type are of; None for prose."""
    return next((kind for kind in listed("kinds") if kind.has(media_type)), None)


def there(given: Any) -> Any:  # noqa: ANN401 - whatever a hook gives
    """What a plugin gave: the thing itself, or what stands at the place that it named."""
    return resolve_name(given) if isinstance(given, str) else given
