"""What may be added to reading and extraction from outside: see `clew.packs`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from clew.errors import InputError, UnreadableError, check_several
from clew.indexing.reading.common import RawFile, ReadResult, json_safe
from clew.indexing.reading.files import open_real
from clew.indexing.reading.reader import document_from_text, file_digest, read_file, read_raw
from clew.text import text_digest
from clew.types import Document, document_id, file_source

if TYPE_CHECKING:
    from clew.hookspecs import Reader
    from clew.settings import LimitSettings, ReadSettings
    from clew.types import Extraction, Structure

    Readers = Mapping[str, Sequence[Reader]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """What a model that reads passages is told beside what it is always told."""

    entity_types: tuple[str, ...] = ()
    relation_types: tuple[str, ...] = ()
    """To be used where they fit; others may be, too."""
    instructions: tuple[str, ...] = ()


class Extension(Protocol):
    """Further formats, structures and meanings of relations; can be sent to another process."""

    @property
    def fingerprint(self) -> str:
        """Changes where documents have to be indexed again; empty for nothing added."""

    @property
    def readers(self) -> Mapping[str, Sequence[Reader]]:
        """As in `RawFile`."""

    @property
    def structures(self) -> Sequence[Callable[[Document], Structure]]:
        """As `indexing.structure.READERS`."""

    def normalised(self, extraction: Extraction) -> Extraction:
        """The extraction with relations in the direction and with the marks of their types."""


class NoExtension:
    """Implements `Extension`: nothing is added."""

    fingerprint = ""
    readers: Mapping[str, Sequence[Reader]] = {}
    structures: Sequence[Callable[[Document], Structure]] = ()

    def normalised(self, extraction: Extraction) -> Extraction:
        """See `Extension`."""
        return extraction


# What can be read: a file, bytes, a text, or a document made by the caller.
#
# Each is a value that can be sent to another process, and has `source` (what it is called;
# documents
# within it add a part of their own), `size` (bytes or characters, about), `read_from` (of its
# documents, see `Document`), `digest` (tells one state of it from another; raises
# `UnreadableError`
# where it cannot be read) and `read` (its documents; `readers` as in `RawFile`; raises
# `UnreadableError` and `LimitError`).


def roots_of(paths: Sequence[str | Path]) -> list[Path]:
    """What a command was given to read. Raises `InputError` for an empty one."""
    check_several(paths=paths)
    if "" in paths:
        raise InputError("a path is empty; expected a file or a folder (is a variable not set?)")
    return [Path(path).expanduser() for path in paths]


def is_in_shard(source: str, shard: int, shards: int) -> bool:
    """Whether a source is of the part `shard`, from 1, of so many. Raises `InputError`."""
    if not 1 <= shard <= shards:
        raise InputError(f"there is no shard {shard}/{shards}; expected i/n with i from 1 to n")
    return int(document_id(source), 16) % shards == shard - 1


@dataclass(frozen=True, slots=True)
class FileInput:
    """A file as it is."""

    path: Path
    settings: ReadSettings
    read_from: ClassVar[str] = "file"

    @property
    def source(self) -> str:
        """See `Input`."""
        return file_source(self.path)

    @property
    def size(self) -> int:
        """See `Input`."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def digest(self) -> str:
        """See `Input`."""
        return file_digest(self.path, self.settings)

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        return read_file(self.path, self.settings, limits=limits, readers=readers)


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentOverrides:
    """Title and metadata from the caller, which override those of the document."""

    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def of(self, document: Document) -> Document:
        """The document with these."""
        metadata = json_safe(self.metadata)
        if not metadata and not self.title:
            return document
        # A change of these counts as a change of the document.
        overrides = json.dumps([document.sha256, self.title, metadata], sort_keys=True)
        return replace(
            document,
            title=self.title or document.title,
            metadata={**document.metadata, **metadata},
            sha256=text_digest(overrides),
        )

    def digest(self, digest: str) -> str:
        """A digest of these and of the document's own digest."""
        return text_digest(
            json.dumps([digest, self.title, json_safe(self.metadata)], sort_keys=True)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RawInput:
    """Bytes in hand, or those of a file, under a source of the caller's."""

    source: str
    data: bytes | Path
    name: str
    """Of the file; its ending says how it is read."""
    settings: ReadSettings
    overrides: DocumentOverrides = DocumentOverrides()

    @property
    def size(self) -> int:
        """See `Input`."""
        if isinstance(self.data, bytes):
            return len(self.data)
        return FileInput(self.data, self.settings).size

    @property
    def read_from(self) -> str:
        """See `Input`; a file is one, too, where title and metadata are the caller's."""
        is_file = isinstance(self.data, Path) and self.source == file_source(self.data)
        return "file" if is_file else ""

    def digest(self) -> str:
        """See `Input`."""
        if isinstance(self.data, Path):
            return self.overrides.digest(file_digest(self.data, self.settings))
        import hashlib

        return self.overrides.digest(hashlib.sha256(self.data).hexdigest())

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        if isinstance(self.data, bytes):
            data = self.data
        else:
            with open_real(self.data) as file:
                data = file.read()
        raw = RawFile(
            source=self.source,
            data=data,
            settings=self.settings,
            name=self.name,
            read_from=self.read_from,
            limits=limits,
            readers=readers,
        )
        found = read_raw(raw)
        return replace(found, documents=tuple(map(self.overrides.of, found.documents)))


@dataclass(frozen=True, kw_only=True, slots=True)
class TextInput:
    """A text, which may be marked up."""

    source: str
    text: str
    media_type: str = "text/plain"
    overrides: DocumentOverrides = DocumentOverrides()
    read_from: ClassVar[str] = ""

    @property
    def size(self) -> int:
        """See `Input`."""
        return len(self.text)

    def digest(self) -> str:
        """See `Input`."""
        return self.overrides.digest(text_digest(f"{self.media_type}\n{self.text}"))

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        document = document_from_text(
            self.text,
            source=self.source,
            title=self.overrides.title,
            media_type=self.media_type,
            metadata=self.overrides.metadata,
        )
        return ReadResult(documents=(document,))


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """A document that the caller has made."""

    document: Document

    @property
    def source(self) -> str:
        """See `Input`."""
        return self.document.source

    @property
    def read_from(self) -> str:
        """See `Input`."""
        return self.document.read_from

    @property
    def size(self) -> int:
        """See `Input`."""
        return len(self.document.text)

    def digest(self) -> str:
        """See `Input`."""
        return self.document.sha256 or text_digest(self.document.text)

    def read(self, limits: LimitSettings, readers: Readers) -> ReadResult:
        """See `Input`."""
        if not self.document.text.strip():
            raise UnreadableError(self.source, "empty")
        return ReadResult(documents=(self.document,))


Input = FileInput | RawInput | TextInput | DocumentInput
