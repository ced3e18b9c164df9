"""Files derived from a store: named arrays with checksums, safe to delete at any time.

`<kind>-<generation>.arrays` holds the arrays one after the other, then a table (JSON) that names
each array, its type, its shape, its place, and length and CRC-32 of each of its blocks, and at the
end length and CRC-32 of that table. So garbage anywhere, a file cut short and a file that lost
writes in a power failure are told from a sound one. A damaged file counts as missing: whoever needs
it makes it again from the database.

A file is written beside its place and renamed, so that any number of processes may read and write
the folder. It is not synced: what a power failure takes from it is found like any other damage.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import sqlite3
import struct
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from clew.errors import StoreBusyError, StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Arrays = Mapping[str, Array]


BLOCK = 1 << 20
"""Bytes that share a checksum, at most."""
_SUFFIX = ".arrays"
# Former versions wrote .npy and .npz, which are listed to be removed.
_NAME = re.compile(r"(?P<kind>[a-z]+)-(?P<generation>\d+)\.(arrays|np[yz])")
_END = struct.Struct("<QI8s")  # length of the table, its CRC-32, what the file is
_MAGIC = b"clewarr1"
_ALIGNMENT = 64
_BYTES_A_CHANGE = 2_000_000
"""Bytes of a file for which one more change is waited for before it is written again."""
_ABANDONED_SECONDS = 3600.0

_log = logging.getLogger("clew")


class Entry(NamedTuple):
    """An array in a file."""

    name: str
    dtype: str
    shape: list[int]
    offset: int
    blocks: list[tuple[int, int]]
    """(length, CRC-32) of each, one after the other."""


# --- the files of a folder


def derived_path(folder: Path, kind: str, generation: int) -> Path:
    """The file of a kind at a generation of the store."""
    return folder / f"{kind}-{generation}{_SUFFIX}"


def derived_files(folder: Path, kind: str | None = None) -> dict[Path, int]:
    """Generation by file, of one kind or of all; temporary files are left out."""
    found: dict[Path, int] = {}
    for path in sorted(folder.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match and kind in (None, match["kind"]):
            found[path] = int(match["generation"])
    return found


def is_outdated(folder: Path, kind: str, generation: int) -> bool:
    """Whether enough has changed for a file of a kind to be written again.

    Writing costs as much as the file has bytes, and taking in what changed since costs little: the
    larger the file, the more changes it waits for.
    """
    files = derived_files(folder, kind)
    newest = max(files, key=files.__getitem__, default=None)
    if newest is None or not 0 <= files[newest] <= generation:
        return True
    with suppress(OSError):
        return generation - files[newest] > newest.stat().st_size // _BYTES_A_CHANGE
    return True


def damaged_files(folder: Path) -> Iterator[Path]:
    """Files that are not as they were written; reads all of them."""
    for path in derived_files(folder):
        is_sound = path.suffix != _SUFFIX
        with suppress(OSError, ValueError), path.open("rb") as file:
            is_sound = is_sound or blocks_are_sound(file, read_table(file))
        if not is_sound and path.exists():
            yield path


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder; what vanishes meanwhile counts for nothing."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.stat(os.path.join(parent, name)).st_size
    return size


def checksum(path: Path) -> list[int]:
    """Size and CRC-32 of a file."""
    size = value = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            size, value = size + len(block), zlib.crc32(block, value)
    return [size, value]


def remove_files(paths: Iterable[Path]) -> None:
    """Delete what can be deleted; a file that another process holds open is left to the next."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


# --- writing


def write_arrays(
    folder: Path, kind: str, generation: int, arrays: Mapping[str, Array | Iterator[Array]]
) -> Path:
    """Write a file and remove what it replaces; an array may come in parts along its first axis.

    Raises `OSError` where the disk or the folder refuses; then nothing has changed.
    """
    path = derived_path(folder, kind, generation)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb", opener=private) as file:
            entries = [_write_array(file, name, array) for name, array in arrays.items()]
            table = json.dumps(entries).encode()
            file.write(table + _END.pack(len(table), zlib.crc32(table), _MAGIC))
        os.replace(temporary, path)
    except OSError:
        remove_files([temporary])
        raise
    # Remove what is out of date, and what a process that was killed left half written.
    files = derived_files(path.parent, kind)
    remove_files(other for other, of in files.items() if of <= generation and other != path)
    for left in path.parent.glob(f".{kind}-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                left.unlink()
    return path


def _write_array(file: BinaryIO, name: str, array: Array | Iterator[Array]) -> Entry:
    file.write(bytes(-file.tell() % _ALIGNMENT))
    offset, shape, dtype = file.tell(), [0], ""
    blocks: list[tuple[int, int]] = []
    for part in [array] if isinstance(array, np.ndarray) else array:
        dtype, rows = part.dtype.str, shape[0]
        shape = [rows + part.shape[0], *part.shape[1:]] if part.shape else []
        data = np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
        for start in range(0, len(data), BLOCK):
            block = data[start : start + BLOCK]
            file.write(block)
            blocks.append((len(block), zlib.crc32(block)))
    return Entry(name, dtype, shape, offset, blocks)


# --- reading


def read_arrays(path: Path) -> Arrays | None:
    """The arrays of a file, by name; None where it is missing or damaged."""
    with suppress(OSError, ValueError), path.open("rb") as file:
        entries = read_table(file)
        if blocks_are_sound(file, entries):
            arrays = {}
            for entry in entries:
                file.seek(entry.offset)
                arrays[entry.name] = array = np.empty(entry.shape, dtype=entry.dtype)
                file.readinto(array.reshape(-1).view(np.uint8).data)
            return arrays
        _log.warning("%s is damaged; what it held is made again from the database", path)
    return None


def read_table(file: BinaryIO) -> list[Entry]:
    """Raises `ValueError` where the file does not end with a sound table."""
    size = file.seek(0, os.SEEK_END)
    if size < _END.size:
        raise ValueError("no table")
    file.seek(size - _END.size)
    length, checksum, magic = _END.unpack(file.read(_END.size))
    if magic != _MAGIC or length > size - _END.size:
        raise ValueError("no table")
    file.seek(size - _END.size - length)
    table = file.read(length)
    if zlib.crc32(table) != checksum:
        raise ValueError("the table is damaged")
    return [Entry(*entry) for entry in json.loads(table)]


def blocks_are_sound(file: BinaryIO, entries: Iterable[Entry]) -> bool:
    """Whether every block of the arrays has its checksum."""
    for entry in entries:
        file.seek(entry.offset)
        for length, checksum in entry.blocks:
            block = file.read(length)
            if len(block) != length or zlib.crc32(block) != checksum:
                return False
    return True


# Large derived files, mapped; each is verified once after a start of the machine.
#
# Reading gigabytes in every process that asks would cost more than what is asked. A write is lost
# unnoticed by a power failure alone: until the machine is started anew, a file that was verified
# is
# sound while it has the size, the times and the inode that it had then.


_NOTES = "verified.json"
_NOTED_FROM = 1 << 24
"""Bytes of a file from which reading all of it takes longer than a question."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class MappedArrays:
    """The arrays of a large file, mapped while a thread verifies them.

    They may be used for anything but an answer before `is_sound` has said so. A very large file is
    verified once, by the first process since the machine was started.
    """

    def __init__(self, path: Path) -> None:
        """Raises `OSError` or `ValueError` where there is no such file or it has no table."""
        self.path = path
        self._file = path.open("rb")
        self._state = _file_state(self._file)
        self._sound = (
            self._state[1] >= _NOTED_FROM and _notes(path.parent).get(path.name) == self._state
        )
        try:
            entries = read_table(self._file)
            self.arrays = {
                entry.name: np.memmap(
                    self._file,
                    dtype=entry.dtype,
                    mode="r",
                    offset=entry.offset,
                    shape=tuple(entry.shape),
                )
                for entry in entries
            }
        except BaseException:
            self._file.close()
            raise
        self._thread = threading.Thread(target=self._verify, args=[entries], name="clew-verify")
        self._thread.start()

    def is_sound(self) -> bool:
        """Whether the file is as it was written; waits until all of it has been read."""
        self._thread.join()
        return self._sound

    def _verify(self, entries: list[Entry]) -> None:
        # Read, not mapped: a sector that cannot be read is then an error, not a signal.
        with self._file, suppress(OSError):
            if not self._sound and blocks_are_sound(self._file, entries):
                self._sound = True
                if _file_state(self._file) == self._state:
                    _note(self.path, self._state)


# --- what was verified since the machine was started: until then no write is lost unnoticed


def _file_state(file: BinaryIO) -> list[int]:
    """What changes where anybody writes to a file or puts another in its place."""
    found = os.fstat(file.fileno())
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _note(path: Path, state: list[int]) -> None:
    """Others may do so at the same time: what is lost, or cannot be read, is verified again."""
    if state[1] < _NOTED_FROM or not (start := _started()):
        return
    noted = {**_notes(path.parent), path.name: state}
    there = {name: held for name, held in noted.items() if (path.parent / name).is_file()}
    # In a folder that cannot be written, each process verifies.
    with suppress(OSError), open(path.with_name(_NOTES), "w", opener=private) as file:
        file.write(json.dumps([start, there]))


def _notes(folder: Path) -> dict[str, Any]:
    """State by name, as noted since the machine was started."""
    with suppress(OSError, ValueError):
        start, noted = json.loads((folder / _NOTES).read_bytes())
        if start and start == _started() and isinstance(noted, dict):
            return noted
    return {}


def _started() -> str:
    """What tells one start of the machine from the next; empty where the system does not say."""
    with suppress(OSError, ValueError):
        return _BOOT_ID.read_text("ascii").strip()
    return ""


# Files and folders for the user alone who made them, whatever the umask says.
#
# What there is already keeps the mode that it was given.


def private(path: str, flags: int) -> int:
    """An `opener` for `open`: a file that it makes has the mode 0600."""
    return os.open(path, flags, 0o600)


def make_file(path: Path) -> None:
    """Make an empty file where there is none; SQLite gives its mode to what it puts beside it."""
    with suppress(FileExistsError), open(path, "xb", opener=private):
        pass


def make_folder(folder: Path) -> None:
    """Make a folder of mode 0700 where there is none, and those above it that are missing."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:  # somebody else was faster, or it is a file
        if not folder.is_dir():
            raise


def is_private(path: Path) -> bool:
    """Whether nobody else may read or write a file or folder; on Windows modes do not tell."""
    return os.name == "nt" or not path.stat().st_mode & 0o077


# One at a time, over threads and processes, by a lock on a file.


class FileLock:
    """A lock that any thread and process may wait for; it is not taken twice by one thread.

    The file is an empty SQLite database: its locks work on every system, and the system itself
    lets go of what a process held that was killed. Not `filelock`: an older Clew that is at work
    would not see its locks, and what is said below of errors would have to be written all the same.
    """

    def __init__(self, path: Path, seconds: float, busy: str) -> None:
        """`busy` says what the lock is for and what to do where it is not had within `seconds`."""
        self._path = path
        self._seconds = seconds
        self._busy = busy

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else is inside meanwhile.

        Raises `StoreBusyError` where another keeps the lock for too long, and `StoreError` where
        the file cannot be made.
        """
        with self._locked():
            yield

    def _locked(self) -> closing[sqlite3.Connection]:
        try:
            make_folder(self._path.parent)
            make_file(self._path)
            connection = sqlite3.connect(
                self._path, timeout=self._seconds, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            connection.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise StoreBusyError(self._busy) from error
            raise self._unusable(error) from error
        return closing(connection)

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"cannot lock {str(self._path)!r} ({error}); check the folder's rights and the space on"
            " its disk"
        )
