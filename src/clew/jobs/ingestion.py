"""What a job of reading documents does: a path, an address, a file sent or a text is read."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from clew.errors import InputError
from clew.indexing.access import existing_path, is_clews_own, permitted_path
from clew.types.sources import file_source, record_source, source_path
from clew.wiring import make_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clew.engine import Engine
    from clew.indexing.inputs import Input
    from clew.ports.jobs import ItemStatus
    from clew.settings import Settings
    from clew.types import Skipped

TEXT_MEDIA_TYPE = "text/markdown"
"""What assistants write; plain text is Markdown without marks."""
_ALL = 2**31
"""Documents of a job at most: every one."""


class Given(TypedDict, total=False):
    """Arguments of a job: exactly one of path, url, data and text, and what is said of it."""

    path: str
    roots: list[str]
    """Of a path: the folders that whoever gave it may have read, whichever process does it."""
    url: str
    data: str
    """A file that was sent, in Base64."""
    name: str
    """Of the file; its ending says how it is read."""
    text: str
    source: str
    title: str
    metadata: dict[str, Any]
    retries: str
    """The job whose files that are not done are all that is to be done."""


class Ingestion:
    """`runner.Kind` that reads and indexes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def plan(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """The source of the text or the file sent, the address, or the files at the path."""
        given = cast("Given", arguments)
        if "path" in given:
            return self._left(given) or self._files(given)
        return [given.get("source") or given.get("url") or "text"]

    def run(
        self, arguments: Mapping[str, Any], names: Sequence[str], advance: Callable[[int], None]
    ) -> Sequence[str | None]:
        """See `runner.Kind`."""
        given = cast("Given", arguments)
        files = 0

        def progress(step: str, done: int, _: int | None) -> None:
            nonlocal files
            files = min(done, len(names)) if step == "index" else files
            advance(files)

        if "path" in given and not _described(given):
            paths = [permitted_path(source_path(name), self._settings(given)) for name in names]
            skipped = self._engine.index(paths, progress=progress).skipped
        else:
            inputs = [self._input(given, name) for name in names]
            skipped = self._engine.documents.add_inputs(inputs, progress=progress).skipped
        return [_failure(name, skipped, "path" in given) for name in names]

    def finish(self, arguments: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """See `runner.Kind`; each document is there already."""

    def _left(self, given: Given) -> list[str]:
        """Files that the job tried again has not done; none where it failed before any."""
        job, jobs = given.get("retries", ""), make_jobs(self._engine.state.journal)
        states: tuple[ItemStatus, ...] = ("failed", "waiting")
        return [item.name for state in states for item in jobs.items(job, status=state, limit=_ALL)]

    def _files(self, given: Given) -> list[str]:
        """Paths below the given one, as sources, but for what links lead to beside it."""
        from clew.indexing.reading.file_discovery import find_files

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

    def _input(self, given: Given, name: str) -> Input:
        """What is to be read of a text, a file or an address, as the caller names it."""
        from clew.indexing.inputs import DocumentOverrides, RawInput, TextInput
        from clew.indexing.reading.reader import text_source

        overrides = DocumentOverrides(
            title=given.get("title", ""), metadata=given.get("metadata") or {}
        )
        if "text" in given:
            text = given["text"]
            source = given.get("source") or text_source(text)
            return TextInput(
                source=source, text=text, media_type=TEXT_MEDIA_TYPE, overrides=overrides
            )
        data, file_name = self._data(given, name)
        return RawInput(
            source=given.get("source") or given.get("url") or name,
            data=data,
            name=file_name,
            settings=self._engine.settings.read,
            overrides=overrides,
        )

    def _data(self, given: Given, name: str) -> tuple[bytes | Path, str]:
        """Bytes, or the file that has them, and a file name."""
        settings = self._settings(given)
        if "url" in given:
            from clew.indexing.reading.fetch import fetch

            found = fetch(given["url"], settings.access)
            return found.data, found.name
        if "data" in given:
            return b64decode(given["data"]), given["name"]
        path = permitted_path(source_path(name), settings)
        return path, path.name


def _described(given: Given) -> bool:
    return any(given.get(name) for name in ("source", "title", "metadata"))


def _failure(name: str, skipped: Sequence[Skipped], is_file: bool) -> str | None:
    """Why a document failed; None where it did not."""
    # A text and an address are one document, whatever source they were given.
    own = [s for s in skipped if not is_file or s.source == name]
    parts = [s for s in skipped if is_file and s.source.startswith(record_source(name, ""))]
    if own:
        return own[0].reason
    if parts:
        return f"{len(parts)} of its records cannot be read; the first: {parts[0].reason}"
    return None
