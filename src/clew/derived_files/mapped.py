"""Large derived files, mapped; each is verified once after a start of the machine.

Reading gigabytes in every process that asks would cost more than what is asked. A write is lost
unnoticed by a power failure alone: until the machine is started anew, a file that was verified is
sound while it has the size, the times and the inode that it had then.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from clew.derived_files import Entry, blocks_are_sound, read_table
from clew.private_files import private

if TYPE_CHECKING:
    from clew.derived_files import Array

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
        self._sound = _is_noted(path, self._state)
        try:
            entries = read_table(self._file)
            self.arrays = {entry.name: _map_array(self._file, entry) for entry in entries}
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


def _is_noted(path: Path, state: list[int]) -> bool:
    return state[1] >= _NOTED_FROM and _notes(path.parent).get(path.name) == state


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


def _map_array(file: BinaryIO, entry: Entry) -> Array:
    return np.memmap(
        file, dtype=entry.dtype, mode="r", offset=entry.offset, shape=tuple(entry.shape)
    )
