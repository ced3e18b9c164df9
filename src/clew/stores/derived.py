"""Files derived from the database: `<kind>-<generation>.npy` or `.npz`, safe to delete."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_NAME = re.compile(r"(?P<kind>[a-z]+)-(?P<generation>\d+)\.np[yz]")


def derived_files(folder: Path, kind: str | None = None) -> dict[Path, int]:
    """Generation by file, of one kind or of all; temporary files are left out."""
    found: dict[Path, int] = {}
    for path in sorted(folder.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match and kind in (None, match["kind"]):
            found[path] = int(match["generation"])
    return found


def folder_size(folder: Path) -> int:
    """Bytes of the files in a folder; one that vanishes meanwhile counts for nothing."""
    size = 0
    for path in folder.iterdir():
        with suppress(OSError):
            size += path.stat().st_size
    return size


def remove_files(paths: Iterable[Path]) -> None:
    """Delete what can be deleted; a file that another process holds open is left to the next."""
    for path in paths:
        with suppress(OSError):
            path.unlink()
