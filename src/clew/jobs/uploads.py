"""Files that arrive in parts: kept beside the store until a job has read them.

Each upload is a folder of its own, in which every file is put in place whole: `upload.json` says
what is to come, `<n>.part` is one part of it, `queued` says that a job is to read it, and `outcome`
what came of that, after which the parts go. So whoever was interrupted goes on with what is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, PositiveInt

from clew.errors import InputError, NotFoundError, StoreError
from clew.private_files import make_folder, private
from clew.types.values import random_id

if TYPE_CHECKING:
    from pathlib import Path

    from clew.settings import Settings

MEGABYTE = 1024 * 1024
MOST = 100
"""Uploads of a namespace that are not read yet, at most."""
_ID = re.compile(r"[0-9a-f]{32}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ABOUT, _QUEUED, _OUTCOME = "upload.json", "queued", "outcome"


class Upload(BaseModel):
    """A file that is to arrive."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str
    """Random, so that nobody guesses it."""
    name: str
    """Of the file; its ending says how it is read."""
    size: PositiveInt
    """Bytes."""
    sha256: str
    """Digest that the bytes must have, in hex."""
    part_bytes: PositiveInt
    """Bytes of each part but the last."""

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return -(-self.size // self.part_bytes)

    @property
    def source(self) -> str:
        """Identity of its document where none is given."""
        return f"upload:{self.sha256[:12]}/{self.name}"

    def length(self, part: int) -> int:
        """Bytes of a part, counted from 1. Raises `InputError` for one that it has not."""
        if not 1 <= part <= self.parts:
            raise InputError(
                f"upload {self.id!r} has no part {part}; its parts are 1 to {self.parts}"
            )
        return min(self.part_bytes, self.size - (part - 1) * self.part_bytes)


class Uploads:
    """The uploads of one namespace; threads and processes may share them.

    Args:
        folder: The folder of the namespace's store.
        settings: How large a file may be, how much may wait, and for how long.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder / "uploads"
        self._settings = settings

    def begin(self, *, name: str, size: int, sha256: str, part_bytes: int) -> Upload:
        """Make room for a file; raises `InputError` where it is too large or there is no room."""
        self._check(name, size, sha256)
        self.forget_old()
        upload = Upload(
            id=random_id(32), name=name, size=size, sha256=sha256, part_bytes=part_bytes
        )
        with _disk_errors():
            make_folder(self._path(upload.id))
            self._put(upload.id, _ABOUT, upload.model_dump_json().encode())
        # Looked at afterwards: of several who begin at once, none slips through.
        try:
            self._check_room()
        except InputError:
            self.remove(upload.id)
            raise
        return upload

    def upload(self, upload_id: str) -> Upload:
        """An upload by id. Raises `NotFoundError`, also for one whose files are damaged."""
        path = self._path(upload_id) / _ABOUT
        try:
            if not _ID.fullmatch(upload_id) or self._is_old(path.parent):
                raise FileNotFoundError
            upload = Upload.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise NotFoundError(
                f"no upload {upload_id!r}; ids come from beginning an upload, and idle ones are"
                f" forgotten after {self._settings.serve.upload_hours:g} hours. Begin it again"
            ) from None
        except ValueError:
            raise _damaged(upload_id) from None
        if upload.id != upload_id:
            raise _damaged(upload_id)
        return upload

    def write(self, upload: Upload, part: int, data: bytes) -> None:
        """Keep one part, in any order; a part that is there already is replaced.

        Raises `InputError` where it has another length than it should, or a job reads the upload.
        """
        expected = upload.length(part)
        if len(data) != expected:
            raise InputError(
                f"part {part} of upload {upload.id!r} has {len(data)} bytes; expected {expected}."
                " Send it again whole"
            )
        if self.queued(upload):
            raise InputError(
                f"upload {upload.id!r} is complete and being read; begin another for other bytes"
            )
        with _disk_errors():
            self._put(upload.id, f"{part}.part", data)

    def missing(self, upload: Upload) -> list[int]:
        """Parts that have not arrived; none once a job is to read them."""
        if self.queued(upload):
            return []
        there = {path.name for path in self._path(upload.id).glob("*.part")}
        return [part for part in range(1, upload.parts + 1) if f"{part}.part" not in there]

    def queued(self, upload: Upload) -> bool:
        """Whether a job is to read it, or has."""
        folder = self._path(upload.id)
        return (folder / _QUEUED).exists() or (folder / _OUTCOME).exists()

    def complete(self, upload: Upload) -> None:
        """Verify that all bytes are there and keep them for a job; may be called twice.

        Raises `InputError` where parts are missing or the digest is another.
        """
        if self.queued(upload):
            return
        missing = self.missing(upload)
        if missing:
            shown = ", ".join(map(str, missing[:10])) + (", …" if len(missing) > 10 else "")
            raise InputError(
                f"upload {upload.id!r} lacks {len(missing)} of {upload.parts} parts ({shown}); send"
                " them, then finish it again"
            )
        digest = hashlib.sha256()
        for block in self._blocks(upload):
            digest.update(block)
        if digest.hexdigest() != upload.sha256:
            raise InputError(
                f"upload {upload.id!r} has the SHA-256 {digest.hexdigest()!r}; expected"
                f" {upload.sha256!r}. Send the parts again, or begin again with the right digest"
            )
        with _disk_errors():
            self._put(upload.id, _QUEUED, b"")

    def read(self, upload: Upload) -> bytes:
        """All bytes of an upload that is complete. Raises `InputError` where they changed since."""
        with _disk_errors():
            data = b"".join(self._blocks(upload))
        if hashlib.sha256(data).hexdigest() != upload.sha256:
            raise InputError(f"upload {upload.id!r} was changed while it was finished; begin again")
        return data

    def settle(self, upload: Upload, error: str | None) -> None:
        """Keep what came of reading it, and no longer its bytes."""
        with _disk_errors():
            self._put(upload.id, _OUTCOME, json.dumps(error).encode())
        for path in self._path(upload.id).glob("*.part"):
            path.unlink(missing_ok=True)

    def outcome(self, upload: Upload) -> tuple[str | None] | None:
        """What `settle` was told, in a tuple; None before. Raises `NotFoundError` for damage."""
        try:
            error = json.loads((self._path(upload.id) / _OUTCOME).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise _damaged(upload.id) from None
        return (error,) if error is None else (str(error),)

    def remove(self, upload_id: str) -> None:
        """Forget an upload."""
        shutil.rmtree(self._path(upload_id), ignore_errors=True)

    def _check(self, name: str, size: int, sha256: str) -> None:
        if not name.strip() or re.search(r"[/\\\x00-\x1f]", name):
            raise InputError(f"name {name!r} is no name of a file; give one such as report.pdf")
        if not _SHA256.fullmatch(sha256):
            raise InputError(f"sha256 {sha256!r} is no digest; give 64 hex digits in lower case")
        largest = self._settings.read.max_megabytes
        if not 0 < size <= largest * MEGABYTE:
            raise InputError(
                f"a file of {size} bytes cannot be taken; expected 1 byte to {largest:g} MB (the"
                " setting read.max_megabytes). Split it, or raise the limit"
            )

    def _check_room(self) -> None:
        """Raises `InputError` where more is under way than may be."""
        sizes = [upload.size for upload in self._waiting()]
        largest = self._settings.serve.upload_megabytes
        if len(sizes) > MOST or sum(sizes) > largest * MEGABYTE:
            raise InputError(
                f"too much is in upload: at most {MOST} files of {largest:g} MB together (the"
                " setting serve.upload_megabytes). Finish or remove one, then begin again"
            )

    def _waiting(self) -> Iterator[Upload]:
        for folder in self._folders():
            with suppress(NotFoundError):
                upload = self.upload(folder.name)
                if self.outcome(upload) is None:
                    yield upload

    def _folders(self) -> list[Path]:
        return list(self._folder.iterdir()) if self._folder.is_dir() else []

    def forget_old(self) -> None:
        """Forget uploads that were idle for too long."""
        for folder in self._folders():
            if self._is_old(folder):
                self.remove(folder.name)

    def _is_old(self, folder: Path) -> bool:
        """Whether nothing has happened to it for so long that nobody will come back to it."""
        hours = self._settings.serve.upload_hours
        if (folder / _QUEUED).exists() and not (folder / _OUTCOME).exists():
            # As long as the job that is to read it may be waiting.
            hours = max(hours, self._settings.jobs.retention_days * 24)
        try:
            return folder.stat().st_mtime < time.time() - hours * 3600
        except FileNotFoundError:
            return False

    def _blocks(self, upload: Upload) -> Iterator[bytes]:
        for part in range(1, upload.parts + 1):
            yield (self._path(upload.id) / f"{part}.part").read_bytes()

    def _put(self, upload_id: str, name: str, data: bytes) -> None:
        """Write a file whole or not at all."""
        path = self._path(upload_id) / name
        temporary = path.with_name(f"{name}.{secrets.token_hex(4)}.tmp")
        try:
            with open(temporary, "wb", opener=private) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    def _path(self, upload_id: str) -> Path:
        return self._folder / upload_id


def _damaged(upload_id: str) -> NotFoundError:
    return NotFoundError(f"what is kept of upload {upload_id!r} is damaged; begin it again")


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the upload cannot be kept or read ({error.strerror}); where room is short, free some,"
            " then send it again"
        ) from error
