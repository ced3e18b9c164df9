"""Packs: those that there are, and what the steps of indexing and asking see of a store's own.

Loading a pack runs its code. So a store records names alone, and folders of packs are named by who
runs Clew (`CLEW_PACKS__FOLDERS`), never by a store or by a file that lies beside one.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from clew.errors import InputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from types import ModuleType

    from clew.hookspecs import EntityType, Pack, Reader, RelationType
    from clew.indexing.inputs import Domain
    from clew.types import Document, ExtractedRelation, Extraction, Structure

logger = logging.getLogger("clew")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def available(folders: Sequence[Path]) -> list[str]:
    """Names of all packs that can be loaded, sorted."""
    from clew.hookspecs import named

    found = {*named("packs"), *(name for name, _ in _in_folders(folders))}
    return sorted(name for name in found if _NAME.fullmatch(name))


def load(name: str, folders: Sequence[Path]) -> Pack:
    """The pack of a name. Raises `NotFoundError` for none, `InputError` for one that is no pack."""
    from clew.hookspecs import named, there

    if _NAME.fullmatch(name):
        for declared, folder in _in_folders(folders):
            if declared == name:
                return _checked(name, getattr(_from_folder(folder), "PACK", None), str(folder))
        for given in named("packs").get(name, ()):
            try:
                return _checked(name, there(given), str(given))
            except ImportError as error:
                raise InputError(
                    f"the pack {name!r} cannot be loaded ({error}); reinstall its package"
                ) from error
    raise NotFoundError(
        f"there is no pack {name!r}; there are {', '.join(available(folders))}. One of your own is"
        " found in a plugin (docs/plugins.md), or in a folder that CLEW_PACKS__FOLDERS names"
    )


def _checked(name: str, found: object, place: str) -> Pack:
    from clew.hookspecs import Pack

    if isinstance(found, Pack) and found.name == name:
        return found
    raise InputError(
        f"there is no pack named {name!r} at {place} ({found!r:.80}); expected a"
        f" clew.hookspecs.Pack with name={name!r}"
    )


def formats_of_packs(names: Iterable[str], enabled: Collection[str]) -> dict[str, int]:
    """How many files of these names are of a pack's formats, by pack, of those not enabled.

    Only formats that are a pack's own: a calendar, say, but no Markdown.
    """
    from clew.hookspecs import named
    from clew.indexing.reading.common import media_type_of  # a search reads no files

    plain = (name for name in names if media_type_of(PurePath(name).suffix) == "text/plain")
    endings = Counter(one for name in plain for one in {name, PurePath(name).suffix} if one)
    found = {}
    for pack in named("packs").keys() - set(enabled) if endings else ():
        if count := sum(endings[one] for one in load(pack, ()).readers):
            found[pack] = count
    return found


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
                yield getattr(pack, "name", init.parent.name), init.parent


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


@dataclass(frozen=True)
class EnabledPacks:
    """What the packs that a store has enabled declare, and what plugins declare for every store.

    Implements `indexing.extension.Extension`. Another process gets the names, and loads them. A
    pack that cannot be loaded is left out with a warning: what is stored can be asked without it.
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
        found = []
        for name in self.names:
            try:
                found.append(load(name, self.folders))
            except InputError as error:
                logger.warning("%s; until then, it is as if the pack were disabled", error)
        return tuple(found)

    def require(self) -> None:
        """Raise what `load` raises where a pack cannot be loaded, before anything is indexed."""
        for name in self.names:
            load(name, self.folders)

    @property
    def fingerprint(self) -> str:
        """See `Extension`."""
        from clew.hookspecs import installed

        return ",".join([*(f"{pack.name}@{pack.version}" for pack in self.packs), *installed()])

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
        from clew.hookspecs import listed

        brought = list(listed("relation_types"))
        if wrong := [one.name for one in brought if one.functional]:
            raise InputError(
                f"a plugin declares the functional relation type {wrong[0]!r} for every store;"
                " declare it in a pack, which a store remembers"
            )
        declared = [one for pack in self.packs for one in pack.relation_types]
        declared = [*declared, *brought][::-1]
        inverses = {one.inverse: one for one in declared if one.inverse}
        synonyms = {name: one for one in declared for name in one.synonyms}
        return {**inverses, **synonyms, **{one.name: one for one in declared}}

    @cached_property
    def entity_types(self) -> Mapping[str, EntityType]:
        """By name."""
        from clew.hookspecs import listed

        declared = [one for pack in self.packs for one in pack.entity_types]
        return {one.name: one for one in [*declared, *listed("entity_types")][::-1]}

    @property
    def functional(self) -> set[str]:
        """Names of the relation types of which a later fact ends an earlier one."""
        return {one.name for pack in self.packs for one in pack.relation_types if one.functional}

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
        from clew.indexing.inputs import Domain

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

    def said(one: ExtractedRelation) -> tuple[str, str, str, int | None]:
        return one.head, one.relation_type, one.tail, one.sentence

    dated = {said(one) for one in relations if one.valid_from}
    return tuple(one for one in relations if one.valid_from or said(one) not in dated)
