"""The snapshot of a store as it stands: extended from an earlier one, and kept on disk.

A file is mapped, so that processes share its pages, and what no question touches is not in memory.
It is never written again: a newer one takes its place, and whoever has mapped it keeps it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.derived_files import (
    MappedArrays,
    derived_files,
    derived_path,
    is_outdated,
    read_arrays,
    remove_files,
    write_arrays,
)
from clew.graph.extended_snapshot import ExtendedSnapshot
from clew.graph.snapshot import NO_MENTIONS, Columns, Snapshot, find_sorted, read_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.graph.snapshot import Ints
    from clew.stores.store import Store
    from clew.types import Ids

# --- bringing one up to date -------------------------------------------------------------


def build(source: Store, previous: Snapshot | None = None) -> Snapshot:
    """A snapshot of the store as it stands; `previous` is extended where it can be."""
    generation, mentions_version = source.generation(), source.mentions_version()
    if previous is not None and previous.generation == generation:
        return previous
    layers = _layers(source, previous) if previous is not None and previous.chunks else None
    if layers is None:
        columns = _read_after(source, 0)
        return Snapshot(columns, generation=generation, mentions_version=mentions_version)
    extended = ExtendedSnapshot(*layers, generation=generation, mentions_version=mentions_version)
    return extended.whole if extended.large else extended


def _layers(source: Store, previous: Snapshot) -> tuple[Snapshot, Ints, Columns] | None:
    """A base, the rows of it that are gone, and the chunks that it lacks.

    Those are of an earlier snapshot with what was added since, without what was deleted, and with
    the mentions that chunks have now. None where changes of these are not known, or ids below
    those known were saved later, so that all is to be read.
    """
    changed = source.moved_since(previous.mentions_version)
    if changed is None:
        return None
    base, gone, added = previous, np.zeros(0, dtype=np.int64), read_columns([], NO_MENTIONS)
    if isinstance(previous, ExtendedSnapshot):
        base, gone, added = previous.base, previous.gone, previous.added.columns
    last = max(int(base.chunk_ids[-1]), int(added.chunk_ids.max(initial=0)))
    added = added.append(_read_after(source, last))
    count = source.chunk_count()
    noted = source.deleted_since(previous.generation)
    if _count(base, gone, added) != count and noted is not None:
        gone, added = _without(base, gone, added, noted)
    if _count(base, gone, added) != count:
        held = np.append(base.chunk_ids, added.chunk_ids)
        gone, added = _without(base, gone, added, np.setdiff1d(held, source.chunk_ids()))
    if _count(base, gone, added) < count:
        return None
    if len(changed):
        moved = np.setdiff1d(_rows_in(base, changed), gone)
        both = added.append(base.columns.take(moved, NO_MENTIONS))
        others = added.mentions[~np.isin(added.mentions[:, 0], changed)]
        mentions = np.concatenate([others, source.mentions_of(changed)])
        mentions = mentions[np.isin(mentions[:, 0], both.chunk_ids)]
        gone, added = np.union1d(gone, moved), replace(both, mentions=mentions).by_chunk_id()
    return base, gone, added


def _count(base: Snapshot, gone: Ints, added: Columns) -> int:
    return base.size - len(gone) + len(added.chunk_ids)


def _without(base: Snapshot, gone: Ints, added: Columns, deleted: Ids) -> tuple[Ints, Columns]:
    """The rows of a base that are gone, and the chunks added, once some chunks were deleted."""
    kept = np.flatnonzero(~np.isin(added.chunk_ids, deleted))
    mentions = added.mentions[~np.isin(added.mentions[:, 0], deleted)]
    return np.union1d(gone, _rows_in(base, deleted)), added.take(kept, mentions)


def _rows_in(base: Snapshot, chunk_ids: Ids) -> Ints:
    """Rows of those of the chunks that the base has."""
    places, known = find_sorted(base.chunk_ids, chunk_ids)
    return places[known]


def _read_after(source: Store, after: int) -> Columns:
    return read_columns(source.passages(after), source.mention_rows(after))


# --- on disk -----------------------------------------------------------------------------


FORMAT, CHANGES_FORMAT = 5, 7
"""Of a snapshot's file and of that of changes; grows when what is stored means something else."""
KIND, CHANGES = "snapshot", "changes"
"""Of the file of a snapshot, and of that of what was added, is gone and changed since."""
LEAST = 2000
"""Chunks of a base beside which changes are written; below, all is written anew as quickly."""

_log = logging.getLogger("clew")


def current_snapshot(source: Store, folder: Path, previous: Snapshot | None = None) -> Snapshot:
    """The store's snapshot at its present generation, from the nearest one that there is."""
    if previous is not None and previous.generation == source.generation():
        return previous
    with source.reading():
        nearest = previous
        base = previous.base if isinstance(previous, ExtendedSnapshot) else previous
        written = max(derived_files(folder, KIND).values(), default=0)
        # Another process may have written a newer base meanwhile, which all may share.
        if base is None or written > base.generation:
            nearest = _newest(folder, source.generation()) or previous
        snapshot = build(source, nearest)
    if not isinstance(snapshot, ExtendedSnapshot) and snapshot is not nearest:
        write_snapshot(snapshot, folder)  # the next process need not make it, too
    return snapshot


def write_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Keep this snapshot and drop older ones; of one that was extended, what was added to a file.

    Then the file costs as much as has changed, and the base stays as it is.
    """
    with suppress(OSError):  # it costs time, no more
        if (
            isinstance(snapshot, ExtendedSnapshot)
            and (base := snapshot.base).size >= LEAST
            and derived_path(folder, KIND, base.generation).exists()
        ):
            changed = [CHANGES_FORMAT, snapshot.mentions_version, base.generation]
            parts = {
                "numbers": np.array(changed, dtype=np.int64),
                "gone": snapshot.gone,
                **_named(snapshot.added.columns),
            }
            write_arrays(folder, CHANGES, snapshot.generation, parts)
            return
        numbers = np.array([FORMAT, snapshot.mentions_version], dtype=np.int64)
        whole = snapshot.whole
        stored = {"numbers": numbers, **_named(whole.columns), **whole.arrays()}
        write_arrays(folder, KIND, whole.generation, stored)
        older = derived_files(folder, CHANGES)
        remove_files(path for path, of in older.items() if of <= whole.generation)


def is_behind(folder: Path, generation: int) -> bool:
    """Whether enough has changed for something to be written; see `derived_files.is_outdated`."""
    return all(is_outdated(folder, kind, generation) for kind in (KIND, CHANGES))


def _named(columns: Columns) -> dict[str, NDArray[Any]]:
    return {f"columns.{f.name}": getattr(columns, f.name) for f in fields(Columns)}


def _columns(arrays: Mapping[str, NDArray[Any]]) -> Columns:
    return Columns(*(arrays[f"columns.{f.name}"] for f in fields(Columns)))


def _with_changes(base: Snapshot, folder: Path, generation: int) -> Snapshot:
    """The base with the newest changes that were written for it and are not ahead of the store."""
    files = derived_files(folder, CHANGES)
    for path in sorted(files, key=files.__getitem__, reverse=True):
        arrays = read_arrays(path) if base.generation < files[path] <= generation else None
        if arrays is not None and len(arrays["numbers"]) == 3:
            version, mentions_version, of = arrays["numbers"].tolist()
            if (version, of) == (CHANGES_FORMAT, base.generation):
                return ExtendedSnapshot(
                    base,
                    arrays["gone"],
                    _columns(arrays),
                    generation=files[path],
                    mentions_version=mentions_version,
                )
    return base


def _newest(folder: Path, generation: int) -> Snapshot | None:
    """The newest snapshot that is not ahead of the store; what cannot be read is removed.

    Else it would count as up to date, and every process would build a snapshot of its own.
    """
    files = derived_files(folder, KIND)
    for path in sorted(files, key=files.__getitem__, reverse=True):
        if files[path] <= generation:
            try:
                # Raises `ValueError` where a file is damaged, or of another format, `KeyError`,
                # `OSError`.
                mapped = MappedArrays(path)
                if not mapped.is_sound():
                    raise ValueError(f"{path} is damaged")
                arrays = {name: np.asarray(array) for name, array in mapped.arrays.items()}
                version, mentions_version = arrays["numbers"].tolist()
                if version != FORMAT:
                    raise ValueError(f"format {version} of {path.name} is not {FORMAT}")
                return _with_changes(
                    Snapshot.restore(
                        _columns(arrays),
                        arrays,
                        generation=files[path],
                        mentions_version=mentions_version,
                    ),
                    folder,
                    generation,
                )
            except (KeyError, ValueError):
                _log.warning("%s is damaged or of another version; it is made again", path)
                remove_files([path])
            except OSError:
                pass  # another process has removed it
    return None
