"""The packs that a store has enabled, as the steps of indexing and asking see them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.indexing.extension import Domain
    from clew.indexing.reading.formats.common import Reader
    from clew.packs.pack import EntityType, Pack, RelationType
    from clew.types import Document, ExtractedRelation, Extraction, Structure


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
        from clew.packs.load import load  # reads how packages are installed, which is slow to load

        found = []
        for name in self.names:
            try:
                found.append(load(name, self.folders))
            except InputError as error:
                logger.warning("%s; until then, it is as if the pack were disabled", error)
        return tuple(found)

    def require(self) -> None:
        """Raise what `load` raises where a pack cannot be loaded, before anything is indexed."""
        from clew.packs.load import load

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
