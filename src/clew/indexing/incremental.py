"""One run of indexing: which documents are new or changed, which are gone, what was skipped."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clew.errors import LimitError, UnreadableError
from clew.indexing.isolation.requests import Contents, Prepare
from clew.indexing.isolation.steps import Prepared
from clew.indexing.reading.formats.common import text_digest
from clew.types import IndexPreview, Skipped
from clew.types.sources import file_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clew.indexing.inputs import Input
    from clew.indexing.pipeline import IndexingPipeline
    from clew.ports import RefusalLog
    from clew.settings import LimitSettings
    from clew.types import Document

    Progress = Callable[[str, int, int | None], None]

    class DocumentIndex(Protocol):
        """What a run needs of a store."""

        def count_documents(self) -> int:
            """How many documents there are."""
            ...

        def last_chunk(self) -> int:
            """The highest id of a chunk; there are no more documents than this."""
            ...

        def document_digests(
            self, sources: Sequence[str] | None = None
        ) -> Mapping[str, tuple[str, str, str]]:
            """(origin, sha256, pipeline fingerprint) by source, of all or of some."""
            ...

        def same_documents(self, digests: Sequence[str]) -> list[tuple[str, str, str]]:
            """(source, origin, sha256) of the documents with these digests."""
            ...

        def delete(self, document_ids: Sequence[str]) -> int:
            """Delete documents."""
            ...


INDEX, DOCUMENTS = "index", "documents"
"""Steps of the progress: files that are done, and what is stored of those that hold several."""
_BETWEEN_REPORTS = 100
"""Documents of a file."""
_ASKED_AT_ONCE = 10_000
"""Digests."""


class IncrementalIndexer:
    """Counts one run, and yields the documents to index, in order.

    Input that exceeded a limit is not read again while it and the limits are the same, unless
    `retry`.
    """

    def __init__(
        self,
        store: DocumentIndex,
        pipeline: IndexingPipeline,
        refusals: RefusalLog,
        limits: LimitSettings,
        *,
        full: Callable[[int, str], str | None],
        most: int,
        sources: Sequence[str] | None = None,
        retry: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """`full` says why the store cannot hold so many documents, of `most`, or one more text.

        Given `sources`, the run reads those alone, and of the store what it holds of them.
        """
        self._store = store
        self._fingerprint = pipeline.pipeline_fingerprint
        self._runner = pipeline.runner
        self._refusals = refusals
        self._limits = limits.model_dump(exclude={"isolation", "workers"})
        self._full = full
        self._retry = retry
        self._progress = progress
        self._known = dict(store.document_digests(sources))
        # To count a million documents takes longer than to add one.
        self._held = store.last_chunk()
        if 2 * self._held > most:
            self._held = store.count_documents()
        self._stored: defaultdict[str, set[str]] = defaultdict(set)
        for source, (origin, _, _) in self._known.items():
            self._stored[origin].add(source)
        self._new: set[str] = set()
        self._last: set[str] = set()  # with one of these saved, a file is done
        self._total = 0
        self._done = 0
        self._documents = 0  # in the files that were read, of those that are new or changed
        self.added = 0
        self.updated = 0
        self.unchanged = 0
        self.pruned = 0
        self._arrived: dict[str, str] = {}
        self.skipped: list[Skipped] = []

    def changed(self, inputs: Sequence[Input]) -> Iterator[Prepared]:
        """Read inputs; yield new and changed documents. Unreadable ones go to `skipped`."""
        self._total = len(inputs)
        for item in inputs:
            try:
                yield from self._changed_in(item)
            except UnreadableError as error:
                self.skipped.append(Skipped(source=error.source, reason=error.reason))
                self._advance()

    def saved(self, document: Document) -> None:
        """Count a document as stored."""
        if document.source in self._known:
            self.updated += 1
        else:
            self.added += 1
            self._arrived.setdefault(document.sha256, document.source)
        if document.source in self._last:
            self._advance()
        elif self._progress and not (done := self.added + self.updated) % _BETWEEN_REPORTS:
            self._progress(DOCUMENTS, done, self._documents)

    def moved(self) -> list[tuple[str, str]]:
        """(former, new) sources of new documents with the text of one whose file is gone."""
        arrived, digests = self._arrived, list(self._arrived)
        same: list[tuple[str, str, str]] = []
        for first in range(0, len(digests), _ASKED_AT_ONCE):
            same += self._store.same_documents(digests[first : first + _ASKED_AT_ONCE])
        former = {sha256: source for source, origin, sha256 in same
                  if source not in self._new and _is_gone(Path(origin))}  # fmt: skip
        return [(former[digest], arrived[digest]) for digest in digests if digest in former]

    def prune(self, roots: Sequence[Path]) -> None:
        """Delete documents whose file lay below one of the roots and no longer exists."""
        for origin in self._gone(roots):
            self._drop(self._stored[origin])

    def preview(self, inputs: Sequence[Input], roots: Sequence[Path]) -> IndexPreview:
        """What `changed` would read of the inputs, and `prune` drop below the roots."""
        found: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": []}
        for item in inputs:
            if self._is_unchanged(item.source, item.digest()):
                found["unchanged"].append(item.source)
            else:
                found["changed" if item.source in self._stored else "new"].append(item.source)
        return IndexPreview(
            **{name: tuple(sources) for name, sources in found.items()},
            gone=tuple(source for origin in self._gone(roots) for source in self._stored[origin]),
        )

    def _gone(self, roots: Sequence[Path]) -> list[str]:
        """Origins below the roots whose files no longer exist."""
        below = [file_source(root) for root in roots]
        return [
            origin
            for origin in self._stored
            if any(origin == b or origin.startswith(b.rstrip("/") + "/") for b in below)
            and _is_gone(Path(origin))
        ]

    def _changed_in(self, item: Input) -> Iterator[Prepared]:
        source, digest = item.source, item.digest()
        if self._is_unchanged(source, digest):
            self._advance()
            return
        state = text_digest(json.dumps([digest, self._fingerprint, self._limits]))
        if not self._retry and (reason := self._refusals.reason(source, state)):
            raise LimitError(source, reason)
        try:
            yield from self._prepared(item)
        except LimitError as error:
            self._refusals.refuse(source, state, error.reason)
            raise

    def _prepared(self, item: Input) -> Iterator[Prepared]:
        stored = self._stored[item.source]
        same = {s: self._known[s][1] for s in stored if self._known[s][2] == self._fingerprint}
        with closing(self._runner.run(Prepare(input=item, known=same), self._show)) as found:
            for part in found:
                if not isinstance(part, Prepared):
                    self._take(part, stored)
                elif self._fits(part.document):
                    yield part

    def _fits(self, document: Document) -> bool:
        """Whether the store may hold one more document; if not, it goes to `skipped`."""
        new = {document.source} - self._known.keys() - self._new
        reason = self._full(self._held + len(self._new) + len(new), document.text)
        if reason is None:
            self._new |= new
            return True
        self.skipped.append(Skipped(source=document.source, reason=reason))
        if document.source in self._last:
            self._advance()
        return False

    def _take(self, contents: Contents, stored: set[str]) -> None:
        self.skipped.extend(contents.skipped)
        self.unchanged += len(contents.sources) - len(contents.changed)
        # A record that cannot be read has no name: what it was before may be any of those missing.
        if not contents.skipped:
            self._drop(stored - set(contents.sources))
        self._documents += len(contents.changed)
        if contents.changed:
            self._last.add(contents.changed[-1])
        else:
            self._advance()

    def _is_unchanged(self, source: str, digest: str) -> bool:
        known = self._known.get(source)
        if known is None or not digest or known[1:] != (digest, self._fingerprint):
            return False
        self.unchanged += 1
        return True

    def _drop(self, sources: Iterable[str]) -> None:
        from clew.types import document_id

        if ids := [document_id(source) for source in sorted(sources)]:
            self.pruned += self._store.delete(ids)

    def _advance(self) -> None:
        self._done += 1
        self._show()

    def _show(self) -> None:
        """Report progress; the callback may raise to end the run."""
        if self._progress:
            self._progress(INDEX, self._done, self._total)


def _is_gone(path: Path) -> bool:
    """Whether there is no such file; False where that cannot be determined."""
    try:
        path.stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False
