"""The snapshot of a store as it stands: extended from an earlier one, and kept on disk.

A file is mapped, so that processes share its pages, and what no question touches is not in memory.
It is never written again: a newer one takes its place, and whoever has mapped it keeps it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

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
from clew.graph.extended_snapshot import ExtendedSnapshot, Moved, with_mentions
from clew.graph.snapshot import Columns, Snapshot, find_sorted, read_columns

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
    layers = None
    if previous is not None and previous.chunks:
        changed = source.moved_since(previous.mentions_version)
        layers = None if changed is None else _layers(source, previous, changed)
    if layers is None:
        columns = _read_after(source, 0)
        return Snapshot(columns, generation=generation, mentions_version=mentions_version)
    extended = ExtendedSnapshot(*layers, generation=generation, mentions_version=mentions_version)
    return extended.whole if extended.large else extended


class _Layers(NamedTuple):
    """What an `ExtendedSnapshot` is made of."""

    base: Snapshot
    gone: Ints
    added: Columns
    moved: Moved

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return self.base.size - len(self.gone) + len(self.added.chunk_ids)


def _layers(source: Store, previous: Snapshot, changed: Ids) -> _Layers | None:
    """An earlier snapshot with what was added since, without what is gone, with new mentions.

    None where ids below those known were saved later, so that more is to be read.
    """
    new = _read_after(source, int(previous.chunk_ids[-1]))
    layers = _Layers(previous, np.zeros(0, dtype=np.int64), new, Moved())
    if isinstance(previous, ExtendedSnapshot):
        added = previous.added.columns.append(new)
        layers = _Layers(previous.base, previous.gone, added, previous.moved)
    count = source.chunk_count()
    if count != previous.chunks + len(new.chunk_ids):
        deleted = source.deleted_since(previous.generation)
        layers = _without(layers, source, count, deleted)
    if layers.chunks < count:
        return None
    return _with_mentions(layers, source, changed)


def _without(layers: _Layers, source: Store, count: int, deleted: Ids | None) -> _Layers:
    """Without the chunks deleted; where these are not known, with those alone that there are."""
    base, gone, added, _ = layers
    if deleted is not None:
        places, known = find_sorted(base.chunk_ids, deleted)
        gone = np.union1d(gone, places[known])
        added = added.keep(~np.isin(added.chunk_ids, deleted))
        layers = layers._replace(gone=gone, added=added)
    if layers.chunks != count:
        present = source.chunk_ids()
        gone = np.flatnonzero(~find_sorted(present, base.chunk_ids)[1])
        added = added.keep(find_sorted(present, added.chunk_ids)[1])
    return layers._replace(gone=gone, added=added)


def _with_mentions(layers: _Layers, source: Store, changed: Ids) -> _Layers:
    """With the mentions that some chunks have now; none of what is gone."""
    base, gone, added, moved = layers
    if not len(changed) and not len(moved.rows):
        return layers
    found = source.mentions_of(changed)
    places, known = find_sorted(base.chunk_ids, changed)
    rows = np.setdiff1d(np.union1d(moved.rows, places[known]), gone)
    others = moved.mentions[~np.isin(moved.mentions[:, 0], changed)]
    mentions = np.concatenate([others, found])
    mentions = mentions[np.isin(mentions[:, 0], base.chunk_ids[rows])]
    mentions = mentions[np.argsort(mentions[:, 0], kind="stable")]
    later = found[np.isin(found[:, 0], added.chunk_ids)]
    return _Layers(base, gone, with_mentions(added, changed, later), Moved(rows, mentions))


def _read_after(source: Store, after: int) -> Columns:
    return read_columns(source.passages(after), source.mention_rows(after))


# --- on disk -----------------------------------------------------------------------------


FORMAT, CHANGES_FORMAT = 5, 6
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
                "moved": snapshot.moved.rows,
                "mentions": snapshot.moved.mentions,
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
                    Moved(arrays["moved"], arrays["mentions"]),
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
