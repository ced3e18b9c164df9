"""Snapshots on disk, so that a new process need not read the whole store again.

`snapshot-<generation>.npz` lies beside the database; it is written beside and then moved into its
place, and whatever cannot be read is built anew from the store.
"""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.graph.snapshot import Columns, Snapshot, build

if TYPE_CHECKING:
    from clew.ports import SnapshotSource

FORMAT = 2
"""Grows whenever what is stored means something else."""

_NAME = re.compile(r"snapshot-(\d+)\.npz")


def current_snapshot(
    source: SnapshotSource, folder: Path, previous: Snapshot | None = None
) -> Snapshot:
    """The store's snapshot at its present generation, from the nearest one that there is."""
    if previous is not None and previous.generation == source.generation():
        return previous
    with source.reading():
        nearest = previous or _newest(folder, source.generation())
        return build(source, nearest)


def write_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Keep this snapshot and drop older ones. A disk that refuses costs time later, no more."""
    columns = {f"columns.{f.name}": getattr(snapshot.columns, f.name) for f in fields(Columns)}
    target = folder / f"snapshot-{snapshot.generation}.npz"
    with suppress(OSError):
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as file:
            numbers = np.array([FORMAT, snapshot.epoch], dtype=np.int64)
            stored: dict[str, Any] = {"numbers": numbers, **columns, **snapshot.arrays()}
            np.savez(file, **stored)
        os.replace(file.name, target)
        for path, generation in _files(folder).items():
            if generation < snapshot.generation:
                path.unlink()


def _newest(folder: Path, generation: int) -> Snapshot | None:
    """The newest snapshot that is not ahead of the store and can be read."""
    files = {g: path for path, g in _files(folder).items() if g <= generation}
    for kept in sorted(files, reverse=True):
        with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return _read(files[kept], kept)
    return None


def _read(path: Path, generation: int) -> Snapshot:
    # Opened here, since numpy leaves open what it cannot read.
    with path.open("rb") as file, np.load(file) as arrays:
        version, epoch = arrays["numbers"].tolist()
        if version != FORMAT:
            raise ValueError(f"format {version} of {path.name} is not {FORMAT}")
        columns = Columns(*(arrays[f"columns.{f.name}"] for f in fields(Columns)))
        return Snapshot.restore(columns, arrays, generation=generation, epoch=epoch)


def _files(folder: Path) -> dict[Path, int]:
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.iterdir())
    return {path: int(match[1]) for path, match in found if match}
