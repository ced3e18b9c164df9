"""Arrays on disk that are derived from a store: `<kind>-<generation>.npz` in its folder.

A file is written beside and then moved into its place, so that any number of processes may read and
write the folder; what cannot be read is built anew, and a disk that refuses costs time, no more.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]


def kept_files(folder: Path, kind: str) -> dict[int, Path]:
    """The files of a kind, by generation."""
    found = {path.stem.removeprefix(f"{kind}-"): path for path in folder.glob(f"{kind}-*.npz")}
    return {int(generation): path for generation, path in found.items() if generation.isdecimal()}


def read_arrays(path: Path) -> Arrays | None:
    """The arrays of a file, by name; None where it is not there or cannot be read."""
    with (
        suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile),
        # Opened here, since numpy leaves open what it cannot read.
        path.open("rb") as file,
        np.load(file, allow_pickle=False) as arrays,
    ):
        return dict(arrays)
    return None


def write_arrays(folder: Path, kind: str, generation: int, arrays: Arrays) -> None:
    """Keep these and drop those of older generations."""
    stored: dict[str, Any] = dict(arrays)
    with suppress(OSError):
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as file:
            np.savez(file, **stored)
        os.replace(file.name, folder / f"{kind}-{generation}.npz")
        for older, path in kept_files(folder, kind).items():
            if older < generation:
                path.unlink()
