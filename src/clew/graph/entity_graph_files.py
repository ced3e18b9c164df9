"""The graph of entities on disk, with what takes long to compute from it.

`entities-<generation>.arrays` lies beside the database, like the snapshot, and is made when it is
first asked for. A graph of another generation is of no use: strengths depend on the whole store.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived_files import derived_path, read_arrays, write_arrays
from clew.graph.entity_graph import EntityGraph, build_entity_graph
from clew.graph.importance import EntityRanks, entity_ranks
from clew.graph.snapshot_files import current_snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.graph.snapshot import Snapshot
    from clew.ports import SnapshotSource

FORMAT = 2
"""Grows whenever what is stored means something else."""
EXCLUDED_TYPE = "date"
"""The type of the entities that get no edges."""

_GRAPH, _RANKS = (
    [f.name for f in fields(kind) if f.name != "generation"] for kind in (EntityGraph, EntityRanks)
)
_KIND = "entities"


def current_entity_graph(
    source: SnapshotSource,
    snapshot: Snapshot | None,
    folder: Path,
    previous: EntityGraph | None = None,
) -> EntityGraph:
    """The store's graph of entities at its present generation; built where it is not on disk.

    `snapshot` is brought up to the same generation for it, where it is needed at all.
    """
    generation = source.generation()
    if previous is not None and previous.generation == generation:
        return previous
    return _kept_graph(folder, generation) or _built(source, snapshot, folder)[0]


def current_entity_ranks(
    source: SnapshotSource,
    snapshot: Snapshot | None,
    folder: Path,
    previous: EntityRanks | None = None,
) -> EntityRanks:
    """How much the entities matter at the store's present generation; reads no more than that."""
    generation = source.generation()
    if previous is not None and previous.generation == generation:
        return previous
    return _kept_ranks(folder, generation) or _built(source, snapshot, folder)[1]


def _built(
    source: SnapshotSource, snapshot: Snapshot | None, folder: Path
) -> tuple[EntityGraph, EntityRanks]:
    with source.reading():
        snapshot = current_snapshot(source, folder, snapshot)
        excluded = source.entities_of_type(EXCLUDED_TYPE)
        graph = build_entity_graph(snapshot.whole, source.relation_rows(), excluded)
    ranks = entity_ranks(graph)
    _write(graph, ranks, folder)
    return graph, ranks


def _kept_graph(folder: Path, generation: int) -> EntityGraph | None:
    kept = _read(folder, generation, _GRAPH)
    return None if kept is None else EntityGraph(generation, *kept)


def _kept_ranks(folder: Path, generation: int) -> EntityRanks | None:
    kept = _read(folder, generation, _RANKS)
    return None if kept is None else EntityRanks(generation, *kept)


def _read(folder: Path, generation: int, names: list[str]) -> list[NDArray[Any]] | None:
    """The arrays of these names; None where there is no file of the generation that can be read."""
    arrays = read_arrays(derived_path(folder, _KIND, generation))
    if arrays is None or not {"format", *names}.issubset(arrays) or arrays["format"] != FORMAT:
        return None
    return [arrays[name] for name in names]


def _write(graph: EntityGraph, ranks: EntityRanks, folder: Path) -> None:
    stored = {
        "format": np.array(FORMAT),
        **{name: getattr(graph, name) for name in _GRAPH},
        **{name: getattr(ranks, name) for name in _RANKS},
    }
    with suppress(OSError):  # it costs time, no more
        write_arrays(folder, _KIND, graph.generation, stored)
