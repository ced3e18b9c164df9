"""Snapshots on disk, so that a new process need not read the whole store again.

A file is mapped, so that processes share its pages, and what no question touches is not in memory.
It is never written again: a newer one takes its place, and whoever has mapped it keeps it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from clew.derived_files import MappedArrays, derived_files, remove_files, write_arrays
from clew.graph.snapshot import Snapshot, build
from clew.graph.snapshot_columns import Columns

if TYPE_CHECKING:
    from pathlib import Path

    from clew.ports import SnapshotSource

FORMAT = 3
"""Grows whenever what is stored means something else."""
KIND = "snapshot"

_log = logging.getLogger("clew")


def current_snapshot(
    source: SnapshotSource, folder: Path, previous: Snapshot | None = None
) -> Snapshot:
    """The store's snapshot at its present generation, from the nearest one that there is."""
    if previous is not None and previous.generation == source.generation():
        return previous
    with source.reading():
        nearest = previous or _newest(folder, source.generation())
        snapshot = build(source, nearest)
    if nearest is None:  # the next process need not read the whole store, too
        write_snapshot(snapshot, folder)
    return snapshot


def write_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Keep this snapshot and drop older ones."""
    columns = {f"columns.{f.name}": getattr(snapshot.columns, f.name) for f in fields(Columns)}
    numbers = np.array([FORMAT, snapshot.mentions_version], dtype=np.int64)
    stored = {"numbers": numbers, **columns, **snapshot.arrays()}
    with suppress(OSError):  # it costs time, no more
        write_arrays(folder, KIND, snapshot.generation, stored)


def _newest(folder: Path, generation: int) -> Snapshot | None:
    """The newest snapshot that is not ahead of the store; what cannot be read is removed.

    Else it would count as up to date, and every process would build a snapshot of its own.
    """
    files = derived_files(folder, KIND)
    for path in sorted(files, key=files.__getitem__, reverse=True):
        if files[path] <= generation:
            try:
                return _read_file(path, files[path])
            except (KeyError, ValueError):
                _log.warning("%s is damaged or of another version; it is made again", path)
                remove_files([path])
            except OSError:
                pass  # another process has removed it
    return None


def _read_file(path: Path, generation: int) -> Snapshot:
    """Raises `ValueError` where a file is damaged, or of another format, `KeyError`, `OSError`."""
    mapped = MappedArrays(path)
    if not mapped.is_sound():
        raise ValueError(f"{path} is damaged")
    arrays = {name: np.asarray(array) for name, array in mapped.arrays.items()}
    version, mentions_version = arrays["numbers"].tolist()
    if version != FORMAT:
        raise ValueError(f"format {version} of {path.name} is not {FORMAT}")
    columns = Columns(*(arrays[f"columns.{f.name}"] for f in fields(Columns)))
    return Snapshot.restore(
        columns, arrays, generation=generation, mentions_version=mentions_version
    )
