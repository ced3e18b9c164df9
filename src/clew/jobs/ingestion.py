"""What a job of reading documents does: a path, an address, an upload or a text is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from clew.errors import InputError
from clew.ingest.access import existing_path, is_clews_own, open_real, permitted_path
from clew.ingest.readers.common import RawFile, json_safe, text_digest
from clew.jobs.uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Clew
    from clew.ingest.readers.common import ReadResult
    from clew.settings import Settings
    from clew.types import Document, Skipped

TEXT_MEDIA_TYPE = "text/markdown"
"""What assistants write; plain text is Markdown without marks."""


class Given(TypedDict, total=False):
    """Arguments of a job: exactly one of path, url, upload and text, and what is said of it."""

    path: str
    roots: list[str]
    """Of a path: the folders that whoever gave it may have read, whichever process does it."""
    url: str
    upload: str
    text: str
    source: str
    title: str
    metadata: dict[str, Any]


class Ingestion:
    """`runner.Kind` that reads and indexes."""

    def __init__(self, engine: Clew) -> None:
        self._engine = engine
        self._uploads = Uploads(engine.store.folder, engine.settings)

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """The source of the text or the upload, the address, or the files at the path."""
        given = cast("Given", arguments)
        if "path" in given:
            return self._files(given)
        return [given.get("source") or given.get("url") or "text"]

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`."""
        given = cast("Given", arguments)
        if "upload" in given:
            return [self._run_upload(given, names, advance)]
        return self._run(given, names, advance)

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """See `runner.Kind`; each document is there already."""

    def _run_upload(
        self, given: Given, names: Sequence[str], advance: Callable[[int], None]
    ) -> str | None:
        """Read the bytes once: whoever comes back after a crash is told what came of it."""
        upload = self._uploads.upload(given["upload"])
        known = self._uploads.outcome(upload)
        if known is not None:
            return known[0]
        try:
            (error,) = self._run(given, names, advance)
        except InputError as refused:
            error = str(refused)
        self._uploads.settle(upload, error)
        return error

    def _run(
        self, given: Given, names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        def progress(_: str, done: int, __: int | None) -> None:
            advance(min(done, len(names)))

        if "path" in given and not _described(given):
            for name in names:
                permitted_path(name, self._settings(given))
            skipped = self._engine.index(names, progress=progress).skipped
        else:
            documents, unread = self._read(given, names)
            added = self._engine.add_documents(documents, progress=progress)
            skipped = (*unread, *added.skipped)
        return [_failure(name, skipped, "path" in given) for name in names]

    def _files(self, given: Given) -> list[str]:
        """Paths below the given one, as sources, but for what links lead to beside it."""
        from clew.ingest.read import file_source, find_files

        settings = self._settings(given)
        root = existing_path(given["path"], settings)
        if root.is_dir() and (given.get("source") or given.get("title")):
            raise InputError(
                f"path {given['path']!r} is a folder; title and source are for one document, so"
                " give a file, or leave them out"
            )
        found = find_files([root], settings=settings.read)
        files = [file for file in found if not is_clews_own(file, settings)]
        if not files:
            raise InputError(
                f"no files to read below {given['path']!r}; hidden files and what git ignores are"
                " left out"
            )
        return [file_source(file) for file in files]

    def _settings(self, given: Given) -> Settings:
        """The engine's, with the rights of whoever gave the path."""
        settings = self._engine.settings
        if "roots" not in given:
            return settings
        roots = tuple(Path(root) for root in given["roots"])
        access = settings.access.model_copy(update={"roots": roots})
        return settings.model_copy(update={"access": access})

    def _read(
        self, given: Given, names: Sequence[str]
    ) -> tuple[list[Document], tuple[Skipped, ...]]:
        from clew.ingest.read import document_from_text

        if "text" in given:
            document = document_from_text(
                given["text"],
                source=given.get("source"),
                title=given.get("title", ""),
                media_type=TEXT_MEDIA_TYPE,
                metadata=given.get("metadata"),
            )
            return [document], ()
        results = [self._read_whole(given, name) for name in names]
        documents = [_completed(d, given) for result in results for d in result.documents]
        return documents, tuple(s for result in results for s in result.skipped)

    def _read_whole(self, given: Given, name: str) -> ReadResult:
        """The documents of a file or of what an address answers, under the source given."""
        from clew.ingest.read import file_digest, read_raw

        settings = self._settings(given)
        if "url" in given:
            from clew.ingest.fetch import fetch

            found = fetch(given["url"], settings.access)
            data, file_name = found.data, found.name
        elif "upload" in given:
            upload = self._uploads.upload(given["upload"])
            data, file_name = self._uploads.read(upload), upload.name
        else:
            path = permitted_path(name, settings)
            file_digest(path, settings.read)  # says why where it cannot be read
            with open_real(path) as file:
                data, file_name = file.read(), path.name
        source = given.get("source") or given.get("url") or name
        return read_raw(RawFile(source=source, data=data, settings=settings.read, name=file_name))


def _described(given: Given) -> bool:
    return any(given.get(name) for name in ("source", "title", "metadata"))


def _completed(document: Document, given: Given) -> Document:
    """The document with what the caller says of it, which goes before what it says itself."""
    metadata, title = json_safe(given.get("metadata") or {}), given.get("title", "")
    if not metadata and not title:
        return document
    # A change of what is said counts as a change of the document.
    said = json.dumps([document.sha256, title, metadata], sort_keys=True)
    return replace(
        document,
        title=title or document.title,
        metadata={**document.metadata, **metadata},
        sha256=text_digest(said),
    )


def _failure(name: str, skipped: Sequence[Skipped], is_file: bool) -> str | None:
    """Why a document failed; None where it did not."""
    # A text and an address are one document, whatever source they were given.
    own = [s for s in skipped if not is_file or s.source == name]
    parts = [s for s in skipped if is_file and s.source.startswith(f"{name}#")]
    if own:
        return own[0].reason
    if parts:
        return f"{len(parts)} of its records cannot be read; the first: {parts[0].reason}"
    return None
