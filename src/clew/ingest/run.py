"""One run of indexing: which documents are new or changed, which are gone, what was skipped."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clew.errors import UnreadableError
from clew.ingest.read import file_digest, file_source, read_file
from clew.types import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clew.settings import ReadSettings
    from clew.types import Document, DocumentInfo

    Progress = Callable[[str, int, int | None], None]

    class Known(Protocol):
        """What a run needs of a store."""

        def document_digests(self) -> Mapping[str, tuple[str, str, str]]:
            """(origin, sha256, recipe) by source."""
            ...

        def documents(self, *, ids: Sequence[str]) -> list[DocumentInfo]:
            """Documents by id."""
            ...

        def delete(self, document_ids: Sequence[str]) -> int:
            """Delete documents."""
            ...


class IndexRun:
    """Keeps the books of one run; the documents it yields are to be indexed, in that order."""

    def __init__(
        self, store: Known, recipe: str, settings: ReadSettings, progress: Progress | None = None
    ) -> None:
        self._store = store
        self._recipe = recipe
        self._settings = settings
        self._progress = progress
        self._known = dict(store.document_digests())
        self._stored: defaultdict[str, set[str]] = defaultdict(set)
        for source, (origin, _, _) in self._known.items():
            self._stored[origin].add(source)
        self._last: set[str] = set()  # with one of these saved, a file is done
        self._total = 0
        self._done = 0
        self.added = 0
        self.changed = 0
        self.unchanged = 0
        self.pruned = 0
        self.skipped: list[Skipped] = []

    def changed_files(self, files: Sequence[Path]) -> Iterator[Document]:
        """Read files; yield what is new or changed. What cannot be read is noted and left."""
        self._total = len(files)
        for path in files:
            try:
                changed = self._changed_in(path)
            except UnreadableError as error:
                self.skipped.append(Skipped(source=error.source, reason=error.reason))
                changed = []
            if changed:
                self._last.add(changed[-1].source)
                yield from changed
            else:
                self._advance()

    def changed_documents(self, documents: Sequence[Document]) -> Iterator[Document]:
        """Of documents in hand, those that are new or changed; blank ones are noted and left."""
        self._total = len(documents)
        for document in documents:
            if not document.text.strip():
                self.skipped.append(Skipped(source=document.source, reason="empty"))
            elif not self._is_unchanged(document.source, document.sha256):
                self._last.add(document.source)
                yield document
                continue
            self._advance()

    def permitted(
        self, documents: Iterable[Document], quota: int, full: Callable[[], str | None]
    ) -> Iterator[Document]:
        """Those that fit; others are noted and left.

        `quota` is how many documents there may be, `full` says why there is no room at all.
        """
        new: set[str] = set()
        for document in documents:
            reason = full()
            if reason is None and document.source not in self._known:
                new.add(document.source)
                if len(self._known) + len(new) > quota:
                    new.discard(document.source)
                    reason = (
                        f"there are {quota} documents, as many as the namespace may have (the"
                        " setting quota.documents); delete some or raise it"
                    )
            if reason is None:
                yield document
                continue
            self.skipped.append(Skipped(source=document.source, reason=reason))
            if document.source in self._last:
                self._advance()

    def saved(self, document: Document) -> None:
        """Note that a document is stored."""
        if document.source in self._known:
            self.changed += 1
        else:
            self.added += 1
        if document.source in self._last:
            self._advance()

    def prune(self, roots: Sequence[Path]) -> None:
        """Drop documents whose file lies below one of the roots and is gone from the disk."""
        below = [file_source(root) for root in roots]
        for origin, sources in self._stored.items():
            lies_below = any(origin == b or origin.startswith(b.rstrip("/") + "/") for b in below)
            if lies_below and _is_gone(Path(origin)):
                self._drop(sources)

    def _changed_in(self, path: Path) -> list[Document]:
        source, digest = file_source(path), file_digest(path, self._settings)
        if self._is_unchanged(source, digest):
            return []
        result = read_file(path, self._settings, digest)
        self.skipped.extend(result.skipped)
        # A record that cannot be read has no name: what it was before may be any of those missing.
        if not result.skipped:
            self._drop(self._stored[source] - {document.source for document in result.documents})
        return [d for d in result.documents if not self._is_unchanged(d.source, d.sha256)]

    def _is_unchanged(self, source: str, digest: str) -> bool:
        known = self._known.get(source)
        if known is None or not digest or known[1:] != (digest, self._recipe):
            return False
        self.unchanged += 1
        return True

    def _drop(self, sources: Iterable[str]) -> None:
        from clew.types import document_id

        self.pruned += self._store.delete([document_id(source) for source in sorted(sources)])

    def _advance(self) -> None:
        self._done += 1
        if self._progress:
            self._progress("index", self._done, self._total)


def _is_gone(path: Path) -> bool:
    """Whether there is no such file; one that cannot be looked at may still be there."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False
