"""What is left on a disk when the power fails: `disk_log.c` writes down what a process does.

A disk promises that a write, a truncation or a name lasts once its file (or, for a name, its
folder) was synced afterwards. All else may have happened or not, each by itself, and of a write any
of its sectors. So one run of a process gives as many failures as one likes.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

_NUMBERS = struct.Struct("<QQQ")
_SECTOR = 512

Unsynced = Literal["none", "all", "some"]
"""What happens to what was not synced."""


class Op(NamedTuple):
    """Something that a process did to a file."""

    kind: str
    """w: write, t: truncate, s: sync, r: rename, l: another name, u: unlink."""
    path: str
    data: bytes
    """What was written, or the new name."""
    offset: int


def _preloaded(folder: Path) -> Path:
    """The library that writes down what a process does; on Linux, where there is a C compiler."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None and "CI" not in os.environ:
        pytest.skip("there is no C compiler")
    library = folder / "disk_log.so"
    source = Path(__file__).with_name("disk_log.c")
    options = ["-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run([compiler or "cc", *options], check=True)
    return library


def recorded(folder: Path, root: Path, program: str, *arguments: Path) -> list[Op]:
    """What a Python program does to the files below `root`; `folder` is for the log."""
    log = folder / "log"
    env = {
        **os.environ,
        "LD_PRELOAD": str(_preloaded(folder)),
        "DISK_LOG": str(log),
        "DISK_ROOT": str(root),
    }
    command = [sys.executable, "-c", program, *map(str, arguments)]
    subprocess.run(command, env=env, check=True, timeout=120)
    return _read_log(log)


def restored(files: Mapping[str, bytes], store: Path, folder: Path) -> Path:
    """The files of a store's folder, elsewhere, as its next process finds them."""
    folder.mkdir(parents=True)
    for path, data in files.items():
        # Every process is gone, so that SQLite makes the index of its log anew.
        if Path(path).parent == store and not path.endswith("-shm"):
            (folder / Path(path).name).write_bytes(data)
    return folder


def _read_log(path: Path) -> list[Op]:
    """What was done, in order."""

    def ops(data: bytes) -> Iterator[Op]:
        at = 0
        while at < len(data):
            kind = chr(data[at])
            name, length, offset = _NUMBERS.unpack_from(data, at + 1)
            at += 1 + _NUMBERS.size
            yield Op(
                kind, data[at : at + name].decode(), data[at + name : at + name + length], offset
            )
            at += name + length

    return list(ops(path.read_bytes()))


@dataclass
class _File:
    data: bytearray = field(default_factory=bytearray)
    synced: int = -1
    """The last sync of it, by its place in the log."""


def after_power_loss(
    ops: Sequence[Op], unsynced: Unsynced, chance: random.Random | None = None
) -> dict[str, bytes]:
    """The files of a disk, by path, after all of `ops` and no more.

    Where "all" of what was not synced happened, it is what is left when the process is killed.
    """
    disk = _Disk(*_last_syncs(ops), unsynced, chance or random.Random(0))
    for place, op in enumerate(ops):
        disk.do(place, op)
    return {path: bytes(file.data) for path, file in disk.names.items()}


class _Disk:
    """What has reached a disk."""

    def __init__(
        self,
        begun: dict[int, _File],
        folders: dict[str, int],
        unsynced: Unsynced,
        chance: random.Random,
    ) -> None:
        self.names: dict[str, _File] = {}
        self._seen: dict[str, _File] = {}  # as the process saw them
        self._begun, self._folders = begun, folders
        self._unsynced, self._chance = unsynced, chance

    def do(self, place: int, op: Op) -> None:
        folder = self._folders.get(os.path.dirname(op.path), -1)
        if place in self._begun:
            file = self._seen[op.path] = self._begun[place]
            if self._lasts(place, file.synced, folder):
                self.names[op.path] = file
        if op.path not in self._seen:  # a folder
            return
        file = self._seen[op.path]
        if op.kind in "wt":
            self._change(place, op, file)
        elif op.kind in "rl":
            self._name(op, file, self._lasts(place, file.synced, folder))
        elif op.kind == "u":
            del self._seen[op.path]
            if self.names.get(op.path) is file and self._lasts(place, folder):
                del self.names[op.path]

    def _name(self, op: Op, file: _File, lasts: bool) -> None:
        for names in (self._seen, self.names) if lasts else (self._seen,):
            names[op.data.decode()] = file
            if op.kind == "r":
                names.pop(op.path, None)

    def _change(self, place: int, op: Op, file: _File) -> None:
        if op.kind == "t" and self._lasts(place, file.synced):
            del file.data[op.offset :]
            file.data.extend(bytes(op.offset - len(file.data)))
        for start, part in _sectors(op):
            if self._lasts(place, file.synced):
                file.data.extend(bytes(max(0, start - len(file.data))))
                file.data[start : start + len(part)] = part

    def _lasts(self, place: int, *syncs: int) -> bool:
        return (
            place < max(syncs)
            or self._unsynced == "all"
            or (self._unsynced == "some" and self._chance.random() < 0.5)
        )


def _last_syncs(ops: Sequence[Op]) -> tuple[dict[int, _File], dict[str, int]]:
    """New files by the place in the log where each begins; the last sync of folders by path."""
    files: dict[int, _File] = {}
    names: dict[str, _File] = {}
    folders: dict[str, int] = {}
    for place, op in enumerate(ops):
        if op.kind in "wt" and op.path not in names:
            names[op.path] = files[place] = _File()
        elif op.kind == "s" and op.path in names:
            names[op.path].synced = place
        elif op.kind == "s":
            folders[op.path] = place
        elif op.kind in "rl" and op.path in names:
            names[op.data.decode()] = names[op.path] if op.kind == "l" else names.pop(op.path)
        elif op.kind == "u":
            names.pop(op.path, None)
    return files, folders


def _sectors(op: Op) -> Iterator[tuple[int, bytes]]:
    """(offset, data) of the parts of a write that a disk writes at once."""
    start = 0
    while start < len(op.data):
        end = min(len(op.data), start + _SECTOR - (op.offset + start) % _SECTOR)
        yield op.offset + start, op.data[start:end]
        start = end
