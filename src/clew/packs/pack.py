"""What a pack declares: the types, relations, formats, tools and questions of a domain."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import pkgutil
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import clew.packs
from clew.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from clew.indexing.extension import Domain
    from clew.indexing.reading.formats.common import Reader
    from clew.types import Document, ExtractedRelation, Extraction, Structure


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


def no_tools() -> Sequence[object]:
    """The tools of a pack that has none."""
    return ()


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
    """What documents state by their structure, as `clew.indexing.structure.readers.READERS`:
    pure functions of the stored document."""
    tools: Callable[[], Sequence[object]] = no_tools
    """Gives `clew.tools.spec.Tool`s; what they need is imported inside. They are offered in the
    profile `full` while the pack is enabled."""
    strategies: Mapping[str, str] = field(default_factory=dict)
    """Strategy by kind of question (a rule of `clew.search.analysis.route`, or `fact`)."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Further instructions for a model by what it does: `extract`."""
    questions: Path | None = None
    """JSON Lines of `question` and `gold`: titles, or ends of sources, of which one answers it."""


# Finding packs: those that ship, those that other packages bring, those in folders of the user's.
#
# Loading a pack runs its code. So a store records names alone, and folders of packs are named by
# who
# runs Clew (`CLEW_PACKS__FOLDERS`), never by a store or by a file that lies beside one.


GROUP = "clew.packs"
"""The group of entry points; each names a `Pack`: `garden = "my_package.garden:PACK"`."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def available(folders: Sequence[Path]) -> list[str]:
    """Names of all packs that can be loaded, sorted."""
    from importlib.metadata import entry_points

    found = {*_built_in(), *(point.name for point in entry_points(group=GROUP))}
    found.update(name for name, _ in _in_folders(folders))
    return sorted(name for name in found if _NAME.fullmatch(name))


def load(name: str, folders: Sequence[Path]) -> Pack:
    """The pack of a name. Raises `NotFoundError` for none, `InputError` for one that is no pack."""
    if _NAME.fullmatch(name):
        for module, attribute in _places(name, folders):
            pack = getattr(module, attribute, None)
            if not isinstance(pack, Pack) or pack.name != name:
                raise InputError(
                    f"{module.__name__}:{attribute} is no pack named {name!r} ({pack!r:.80});"
                    f" expected a clew.packs.pack.Pack with name={name!r}"
                )
            return pack
    raise NotFoundError(
        f"there is no pack {name!r}; there are {', '.join(available(folders))}. One of your own is"
        " found by the entry point group clew.packs, or in a folder that CLEW_PACKS__FOLDERS names"
    )


def unread_formats(names: Iterable[str], enabled: Collection[str]) -> dict[str, int]:
    """How many files of these names a pack that ships and is not enabled would read, by pack.

    Only formats that are mere text without a pack: a calendar, say, but no Markdown.
    """
    endings = Counter(one for name in names for one in {name, PurePath(name).suffix})
    from clew.indexing.reading.formats.media_types import media_type_of  # a search reads no files

    found = {}
    for pack in set(_built_in()) - set(enabled):
        readers = load(pack, ()).readers
        if count := sum(endings[one] for one in readers if media_type_of(one) == "text/plain"):
            found[pack] = count
    return found


def _built_in() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(clew.packs.__path__) if module.ispkg]


def _places(name: str, folders: Sequence[Path]) -> Iterator[tuple[ModuleType, str]]:
    """Where a pack of that name may be: module and attribute, in order."""
    if name in _built_in():
        yield importlib.import_module(f"clew.packs.{name}"), "PACK"
    for declared, folder in _in_folders(folders):
        if declared == name:
            yield _from_folder(folder), "PACK"
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        yield _from_entry_point(point), point.attr or "PACK"


def _in_folders(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """Names and folders of the packs there: as they declare it, else that of the folder.

    A folder itself may be a pack, too. One that cannot be loaded goes by its folder's name, so that
    who asks for it learns why.
    """
    for path in folders:
        for init in (path / "__init__.py", *sorted(path.glob("*/__init__.py"))):
            if init.is_file():
                try:
                    pack = getattr(_from_folder(init.parent), "PACK", None)
                except InputError:
                    pack = None
                yield pack.name if isinstance(pack, Pack) else init.parent.name, init.parent


def _from_entry_point(point: EntryPoint) -> ModuleType:
    try:
        return importlib.import_module(point.module)
    except ImportError as error:
        raise InputError(
            f"the pack {point.name!r} cannot be loaded ({error}); reinstall its package"
        ) from error


def _from_folder(folder: Path) -> ModuleType:
    """The package in a folder, under a name that no other module has."""
    name = "clew_pack_" + re.sub(r"\W", "_", folder.name)
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(
            f"the pack in {str(folder)!r} cannot be loaded ({type(error).__name__}: {error});"
            " correct it, or disable the pack"
        ) from error
    return module


# The packs that a store has enabled, as the steps of indexing and asking see them.


logger = logging.getLogger("clew")


@dataclass(frozen=True)
class EnabledPacks:
    """Implements `indexing.extension.Extension`. Another process gets the names, and loads them.

    A pack that cannot be loaded is left out with a warning: what is stored can be asked without it.
    """

    names: tuple[str, ...] = ()
    """In the order in which they were enabled; the first one's word goes before the others'."""
    folders: tuple[Path, ...] = ()

    def __reduce__(self) -> tuple[type[EnabledPacks], tuple[tuple[str, ...], tuple[Path, ...]]]:
        """By names alone."""
        return EnabledPacks, (self.names, self.folders)

    @cached_property
    def packs(self) -> tuple[Pack, ...]:
        """The packs, loaded."""
        if not self.names:
            return ()
        pass  # reads how packages are installed, which is slow to load

        found = []
        for name in self.names:
            try:
                found.append(load(name, self.folders))
            except InputError as error:
                logger.warning("%s; until then, it is as if the pack were disabled", error)
        return tuple(found)

    def require(self) -> None:
        """Raise what `load` raises where a pack cannot be loaded, before anything is indexed."""
        pass

        for name in self.names:
            load(name, self.folders)

    @property
    def fingerprint(self) -> str:
        """See `Extension`."""
        return ",".join(f"{pack.name}@{pack.version}" for pack in self.packs)

    @cached_property
    def readers(self) -> Mapping[str, Sequence[Reader]]:
        """See `Extension`."""
        found: defaultdict[str, list[Reader]] = defaultdict(list)
        for pack in self.packs:
            for ending, reader in pack.readers.items():
                found[ending].append(reader)
        return found

    @property
    def structures(self) -> Sequence[Callable[[Document], Structure]]:
        """See `Extension`."""
        return [read for pack in self.packs for read in pack.structures]

    @cached_property
    def relation_types(self) -> Mapping[str, RelationType]:
        """By name, by the name of the inverse, and by synonyms."""
        declared = [one for pack in reversed(self.packs) for one in pack.relation_types]
        inverses = {one.inverse: one for one in declared if one.inverse}
        synonyms = {name: one for one in declared for name in one.synonyms}
        return {**inverses, **synonyms, **{one.name: one for one in declared}}

    @cached_property
    def entity_types(self) -> Mapping[str, EntityType]:
        """By name."""
        return {one.name: one for pack in reversed(self.packs) for one in pack.entity_types}

    @property
    def functional(self) -> set[str]:
        """Names of the relation types of which a later fact ends an earlier one."""
        return {one.name for one in self.relation_types.values() if one.functional}

    @property
    def strategies(self) -> Mapping[str, str]:
        """Strategy by kind of question."""
        return {k: s for pack in reversed(self.packs) for k, s in pack.strategies.items()}

    @property
    def hierarchies(self) -> tuple[str, ...]:
        """See `Pack`."""
        return tuple(one for pack in self.packs for one in pack.hierarchies)

    @property
    def domain(self) -> Domain:
        """What a model that reads passages is told of the packs."""
        from clew.indexing.extension import Domain

        return Domain(
            entity_types=tuple(self.entity_types),
            relation_types=tuple({one.name: None for one in self.relation_types.values()}),
            instructions=tuple(
                pack.prompts["extract"] for pack in self.packs if "extract" in pack.prompts
            ),
        )

    def normalised(self, extraction: Extraction) -> Extraction:
        """See `Extension`."""
        if not self.relation_types:
            return extraction
        chunks = tuple(
            replace(chunk, relations=_once(tuple(map(self._normalised, chunk.relations))))
            if chunk.relations
            else chunk
            for chunk in extraction.chunks
        )
        return replace(extraction, chunks=chunks)

    def _normalised(self, relation: ExtractedRelation) -> ExtractedRelation:
        declared = self.relation_types.get(relation.relation_type)
        if declared is None:
            return relation
        causal = relation.is_causal or declared.causal
        if relation.relation_type != declared.inverse:
            return replace(relation, relation_type=declared.name, is_causal=causal)
        return replace(
            relation,
            head=relation.tail,
            tail=relation.head,
            relation_type=declared.name,
            is_causal=causal,
            tail_type="name",
        )


def _once(relations: Sequence[ExtractedRelation]) -> tuple[ExtractedRelation, ...]:
    """Without those that say, undated, what the same sentence says by another name with a date."""
    dated = {_said(one) for one in relations if one.valid_from}
    return tuple(one for one in relations if one.valid_from or _said(one) not in dated)


def _said(one: ExtractedRelation) -> tuple[str, str, str, int | None]:
    return one.head, one.relation_type, one.tail, one.sentence
