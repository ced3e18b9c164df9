"""Which files may be read on behalf of a caller; opening what was permitted and nothing else."""

from __future__ import annotations

import os
import stat
import tempfile
from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.settings.place import SETTINGS_FILE

if TYPE_CHECKING:
    from io import BufferedReader

    from clew.settings import Settings

_READ = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)  # Windows
    | getattr(os, "O_NONBLOCK", 0)  # a pipe would be waited for
    | getattr(os, "O_NOCTTY", 0)
)


def roots_of(settings: Settings) -> list[Path]:
    """The folders that may be read, links resolved.

    A relative one depends on where the process was started: where that is the home of the user, or
    lies above it, it is none.
    """
    named = [str(root).replace("{namespace}", settings.namespace) for root in settings.access.roots]
    home = _resolved("~")
    return [
        root
        for name in named
        if not home.is_relative_to(root := _resolved(name)) or Path(name).expanduser().is_absolute()
    ]


def permitted_path(path: str | Path, settings: Settings) -> Path:
    """The path with symbolic links resolved, relative ones taken from the first root.

    Raises `InputError` where it does not lie below one of the roots, or is Clew's own: settings, or
    what lies in the folder of the stores, where other namespaces are.
    """
    roots = roots_of(settings)
    if "\x00" in str(path):
        raise InputError(f"path {str(path)!r} holds a NUL character; give a path without one")
    if not roots:
        raise InputError(
            f"path {str(path)!r} cannot be read: no folder is open to you here; expected a path"
            " below a folder that the setting access.roots names (over HTTP: serve.roots). Name one"
            " there (`clew install --root FOLDER` does), or send the text itself or a url"
        )
    real = _resolved(roots[0] / os.path.expanduser(path))
    if not any(real.is_relative_to(root) for root in roots):
        shown = ", ".join(map(str, roots))
        raise InputError(
            f"path {str(path)!r} lies outside the folders that may be used ({shown}); move the file"
            " below one of them, or add its folder to the setting access.roots (over HTTP:"
            " serve.roots)"
        )
    below = [real.relative_to(root).parts for root in roots if real.is_relative_to(root)]
    if not settings.read.hidden and all(any(p.startswith(".") for p in parts) for parts in below):
        raise InputError(
            f"path {str(path)!r} is hidden, and what is hidden is not read (keys, settings); name"
            " its folder in the setting access.roots (over HTTP: serve.roots), or set read.hidden"
        )
    if is_clews_own(real, settings):
        raise InputError(
            f"path {str(path)!r} lies in the folder of the stores or is a file of settings, which"
            " are not for documents; give another path"
        )
    return real


def writable_path(path: str | Path, settings: Settings) -> Path:
    """A file that may be read and changed, links resolved. Raises `InputError` for any other."""
    named = (str(one).replace("{namespace}", settings.namespace) for one in settings.access.write)
    folders = [_resolved(one) for one in named]
    real = permitted_path(path, settings)
    if not any(real.is_relative_to(folder) for folder in folders) or not real.is_file():
        raise InputError(
            f"the file {str(path)!r} may not be changed; change it by hand, or name its folder in"
            " the setting access.write"
        )
    return real


def replace_file(path: Path, text: str) -> None:
    """Put a text in the place of a file's, all at once, with the file's rights.

    Raises `InputError` where that cannot be done; the file is what it was, then.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(
            f"{str(path)!r} cannot be written ({error.strerror}); nothing changed"
        ) from error


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


def is_clews_own(path: Path, settings: Settings) -> bool:
    """Whether a file is one of settings, or lies where stores or their vectors are kept."""
    if path.name.casefold() == SETTINGS_FILE or _is_same(path, Path(SETTINGS_FILE)):
        return True
    own = (settings.stores_folder, settings.qdrant.path, settings.chroma.path)
    folders = [_resolved(folder) for folder in own if folder is not None]
    return any(
        path.is_relative_to(folder) or any(_is_same(above, folder) for above in path.parents)
        for folder in folders
    )


def open_real(path: Path) -> BufferedReader:
    """Open a regular file at a path that was resolved before.

    Raises `OSError` where a link stands in the path by now: somebody put it there after it was
    permitted.
    """
    descriptor = _open_unlinked(Path(os.path.abspath(path)), _READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        os.stat(path)  # a folder whose path is too long to list it has come here: this says so
        raise OSError(EINVAL, "not a regular file")
    return os.fdopen(descriptor, "rb")


def list_real(folder: Path) -> list[str]:
    """Names in a folder at a path that was resolved before; raises `OSError` as `open_real`."""
    if os.listdir not in os.supports_fd:  # Windows
        return sorted(os.listdir(folder))
    descriptor = _open_unlinked(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return sorted(os.listdir(descriptor))
    finally:
        os.close(descriptor)


def _open_unlinked(path: Path, flags: int) -> int:
    if not hasattr(os, "O_PATH"):  # macOS refuses links by itself; Windows needs rights for them
        return os.open(path, flags | getattr(os, "O_NOFOLLOW_ANY", 0))
    # From folder to folder by descriptor: whatever is renamed meanwhile, no link is followed.
    folder = os.open(path.anchor, os.O_PATH | os.O_DIRECTORY)
    try:
        for name in path.parts[1:-1]:
            step = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
            inner = os.open(name, step, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(path.name or ".", flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths are the same file or folder, however each is written."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _resolved(path: str | Path) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))
