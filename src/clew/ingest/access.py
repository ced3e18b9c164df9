"""Which paths may be read and written to on behalf of a caller."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.settings import Settings


def permitted_path(path: str | Path, settings: Settings) -> Path:
    """The path with symbolic links resolved, relative ones taken from the first root.

    Raises `InputError` where it does not lie below one of the roots, or lies in the folder of the
    stores, where other namespaces are.
    """
    roots = [_resolved(root) for root in settings.access.roots]
    if "\x00" in str(path):
        raise InputError(f"path {str(path)!r} holds a NUL character; give a path without one")
    real = _resolved(roots[0] / Path(path).expanduser()) if roots else None
    if real is None or not any(real.is_relative_to(root) for root in roots):
        shown = ", ".join(str(root) for root in roots) or "none"
        raise InputError(
            f"path {str(path)!r} lies outside the folders that may be used ({shown}); move the file"
            " below one of them, or add its folder to the setting access.roots"
        )
    if real.is_relative_to(_resolved(settings.stores_folder)):
        raise InputError(
            f"path {str(path)!r} lies in the folder of the stores, which is not for documents;"
            " give a path outside it"
        )
    return real


def existing_path(path: str | Path, settings: Settings) -> Path:
    """`permitted_path` of a regular file or a folder that is there; else `InputError`."""
    real = permitted_path(path, settings)
    # Unlike `Path.exists`, this takes a name that is too long for one that is not there.
    if not os.path.exists(real):
        raise InputError(
            f"no file or folder {str(path)!r} (looked at {str(real)!r}); check the spelling, or"
            " give its absolute path"
        )
    if not (real.is_file() or real.is_dir()):
        raise InputError(f"{str(path)!r} is a device or a pipe; give a regular file or a folder")
    return real


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path.expanduser()))
