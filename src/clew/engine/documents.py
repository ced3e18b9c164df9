"""Documents: indexing, deleting and reading them.

What only indexing needs is imported inside the functions that index.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.derived_files import folder_size
from clew.engine.state import EngineState
from clew.errors import (
    DID_YOU_MEAN,
    InputError,
    NotFoundError,
    StoreError,
    UnreadableError,
    check_several,
    not_one,
)
from clew.filters import Where, read_where
from clew.models.given import OwnVectors
from clew.stores.backend import Progress
from clew.stores.sqlite.backend import free_bytes
from clew.stores.sqlite.journal import SqliteRefusals
from clew.text import whole_number
from clew.types import (
    Document,
    DocumentInfo,
    DocumentVersion,
    IndexPreview,
    IndexReport,
    StoredChunk,
    StoredSection,
    check_given,
    document_id,
    file_source,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from clew.indexing.inputs import FileInput, Input
    from clew.indexing.pipeline import IncrementalIndexer, Quota
    from clew.ports import Embedder
    from clew.types import Vectors

LISTING = "`clew documents` or list_documents"
"""Shows the documents, on the command line or as a tool."""


READ_AGAIN = 10
"""How often vectors are read at another state of the store before an error is told."""
PAGE = 500
"""Documents that are read at once where all are gone through."""
LISTS = (".vcf", ".csv", ".tsv")
"""Endings of files that list things by their names in full; they are read first."""


class Documents:
    """The documents of a store."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._updating = threading.Lock()

    def index(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        prune: bool = False,
        retry: bool = False,
        follow_links: bool = False,
        only: Collection[Path] | None = None,
        shard: tuple[int, int] | None = None,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index files and folders; what has not changed is left as it is.

        Symbolic links that lead out of the paths given are left out unless `follow_links`. What
        cannot be read is reported in `skipped`, and what was stored of it before stays. What took
        more than a limit of the settings (`limits`) is reported again without being read, until it
        or a limit changes, or `retry` is given. What was read from files below the paths that are
        gone, and records that their file no longer holds, are in `gone`; `prune` drops them. A path
        that is missing or empty tells nothing, drops nothing and is in `skipped`. `only` leaves all
        other files alone, `shard` (i, n) all but the i-th of n parts, which every worker cuts
        alike. Raises `InputError` for a path that does not exist, unless `prune`.

        Example:
            >>> from pathlib import Path
            >>> _ = Path("loom.txt").write_text("The loom is red.")
            >>> report = store.index("loom.txt")
            >>> report.added
            1
        """
        from clew.indexing.inputs import roots_of

        check_several(only=only)
        roots = roots_of(paths)
        there = [root for root in roots if os.path.exists(root) or not prune]
        inputs = self._files(there, include, exclude, follow_links, shard)
        if only is not None:
            wanted = {os.path.realpath(path) for path in only}
            inputs = [item for item in inputs if os.path.realpath(item.path) in wanted]
        worker = shard[0] if shard else 0
        done = self.add_inputs(
            inputs, roots=roots, prune=prune, retry=retry, worker=worker, progress=progress
        )
        if not done.added + done.changed:
            return done
        from clew.packs import formats_of_packs

        # Packs that have more to say of these files.
        names = (item.path.name.lower() for item in inputs)
        return replace(done, for_packs=formats_of_packs(names, self._state.store.packs()))

    def preview(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        follow_links: bool = False,
        shard: tuple[int, int] | None = None,
    ) -> IndexPreview:
        """What `index` would do; nothing is read or written.

        Example:
            >>> from pathlib import Path
            >>> _ = Path("loom.txt").write_text("The loom is red.")
            >>> len(store.preview("loom.txt").new)
            1
        """
        from clew.indexing.inputs import roots_of

        roots = roots_of(paths)
        inputs = self._files(roots, include, exclude, follow_links, shard)
        return self._indexer().preview(inputs, roots)

    def _files(
        self,
        roots: Sequence[Path],
        include: Sequence[str],
        exclude: Sequence[str],
        follow_links: bool,
        shard: tuple[int, int] | None,
    ) -> list[FileInput]:
        from clew.indexing.inputs import FileInput, is_in_shard
        from clew.indexing.reading.files import find_files

        check_several(include=include, exclude=exclude)
        read = self._state.settings.read
        files = find_files(
            roots, include=include, exclude=exclude, settings=read, follow_links=follow_links
        )
        # What others call by a short name or initials is known in full before.
        in_order = sorted(files, key=lambda path: path.suffix.lower() not in LISTS)
        inputs = [FileInput(path, read) for path in in_order]
        return inputs if shard is None else [i for i in inputs if is_in_shard(i.source, *shard)]

    def add_documents(
        self, documents: Iterable[Document], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that the caller has made, in place of those with the same sources.

        Those that are unchanged are left alone. One may bring its `vector`, as in `add`.

        Example:
            >>> loom = clew.Document(source="loom", text="The loom is red.")
            >>> oven = clew.Document(source="oven", text="The oven is old.")
            >>> store.add_documents([loom, oven]).added
            2
        """
        from clew.indexing.inputs import DocumentInput

        given = list(documents)
        for one in given:
            if not isinstance(one, Document):
                raise InputError(f"{one!r:.80} is no document; expected a list of clew.Document")
        given = [replace(one, vector=self._unit(one.vector)) for one in given]
        check_given(*(document.origin for document in given))
        return self.add_inputs([DocumentInput(one) for one in given], progress=progress)

    def add(
        self,
        text: str,
        *,
        source: str | None = None,
        title: str = "",
        media_type: str = "text/plain",
        metadata: dict[str, Any] | None = None,
        vector: ArrayLike | None = None,
    ) -> str:
        """Index one text in place of the one with the same `source`; the document's id.

        `vector` is its embedding where the caller brings it, and that of each of its passages where
        it has several; it lasts until the store is indexed again by another model. Raises
        `UnreadableError` for a text of white space alone, `InputError` for a vector of another
        length than the store's.

        Example:
            >>> store.add("The loom is red.", source="loom", metadata={"year": 1902})
            '784a2ddf5d4d61b6'
            >>> store.get("loom").metadata
            {'year': 1902}
        """
        from clew.indexing.inputs import DocumentOverrides, TextInput, text_source

        given = TextInput(
            source=source or text_source(text),
            text=text,
            media_type=media_type,
            overrides=DocumentOverrides(title=title, metadata=metadata or {}),
            vector=self._unit(vector),
        )
        for skipped in self.add_inputs([given]).skipped:
            raise UnreadableError(skipped.source, skipped.reason)
        return document_id(given.source)

    def update(
        self,
        name: str,
        *,
        text: str | None = None,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        vector: ArrayLike | None = None,
    ) -> str:
        """Change a document that was given as a text; its id, which stays.

        What is not given stays as it is, and so does the vector of a text that stays. `metadata` is
        laid over that of the document: a field that is None goes.

        Raises `NotFoundError` for an unknown id or source, and `InputError` for a document that was
        read from a file, which the next `index` would read again.

        Example:
            >>> _ = store.update("clock", metadata={"year": 1882, "place": "Ostrava"})
            >>> store.get("clock").metadata
            {'year': 1882, 'place': 'Ostrava'}
        """
        with self._updating:  # no thread may change what another one has read meanwhile
            return self._update(name, text, title, metadata, vector)

    def _update(
        self,
        name: str,
        text: str | None,
        title: str | None,
        metadata: dict[str, Any] | None,
        vector: ArrayLike | None,
    ) -> str:
        old = self.named(name)
        if old.read_from:
            raise InputError(
                f"{old.source!r} was read from a file; change the file and index it again, or add"
                " a text under a source of its own"
            )
        # An embedder reads the title with the text.
        says_the_same = title is None or isinstance(self._state.embedder, OwnVectors)
        if text is None and vector is None and says_the_same:
            (kept,) = self.vectors([old.id])
            vector = kept[0] if len(kept) and (kept == kept[0]).all() and kept[0].any() else None
        given = metadata or {}
        changed = Document(
            source=old.source,
            text=self.text(old.id) if text is None else text,
            title=old.title if title is None else title,
            media_type=old.media_type,
            created_at=old.created_at,
            date_source=old.date_source,
            date_precision=old.date_precision,
            metadata={
                field: value
                for field, value in {**old.metadata, **given}.items()
                if value is not None or field not in given
            },
            vector=self._unit(vector),
        )
        for skipped in self.add_documents([changed]).skipped:
            raise UnreadableError(skipped.source, skipped.reason)
        return old.id

    def _unit(self, vector: ArrayLike | None) -> tuple[float, ...] | None:
        return None if vector is None else self._state.unit(vector)

    def add_inputs(
        self,
        inputs: Sequence[Input],
        *,
        roots: Sequence[Path] = (),
        prune: bool = False,
        retry: bool = False,
        worker: int | None = None,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Read and index what is given; what is unchanged is left alone. The rest as in `index`.

        What is stored from below the `roots` and gone is reported, or dropped to `prune`.
        A `worker`, from 1, saves beside others and settles what it saved; 0 settles all.

        Example:
            >>> from clew.indexing.inputs import TextInput
            >>> store.add_inputs([TextInput(source="loom", text="The loom is red.")]).added
            1
        """
        check_several(roots=roots)
        check_given(*(item.source for item in inputs))
        for item in inputs:
            if not item.read_from:
                self._state.check_length("name", item.source)
        state = self._state
        ingest, started = state.bound_ingest(), time.perf_counter()
        tokens, cost = _spent(state.embedder)
        sources = [item.source for item in inputs]
        run = self._indexer(sources, map(file_source, roots), retry=retry, progress=progress)
        beside = state.store.beside_others(worker) if worker else nullcontext()
        with state.store.grouping(), beside:
            done = ingest.run(run.changed(inputs), run.saved, state.writing)
        if worker is not None:
            ingest.settle(worker, state.writing)
        gone = run.gone(roots, state.writing if prune else None)
        if run.added or run.updated or run.pruned:
            state.persist()
        tokens_then, cost_then = _spent(state.embedder)
        return IndexReport(
            added=run.added,
            changed=run.updated,
            unchanged=run.unchanged,
            pruned=run.pruned,
            chunks=done.chunks,
            skipped=tuple(run.skipped),
            seconds=time.perf_counter() - started,
            embedding_seconds=done.embedding_seconds,
            embedding_tokens=tokens_then - tokens,
            embedding_cost=None if cost is None else (cost_then or 0.0) - cost,
            moved=() if prune else tuple(run.moved()),
            gone=gone,
            lacks=tuple(sorted(run.lacks)),
        )

    def _indexer(
        self,
        sources: Sequence[str] | None = None,
        folders: Iterable[str] = (),
        *,
        retry: bool = False,
        progress: Progress | None = None,
    ) -> IncrementalIndexer:
        from clew.indexing.pipeline import IncrementalIndexer

        state = self._state
        return IncrementalIndexer(
            state.store,
            state.bound_ingest(),
            SqliteRefusals(state.journal),
            state.settings.limits,
            full=self._quota().reached,
            most=state.settings.quota.documents,
            sources=sources,
            folders=tuple(folders),
            retry=retry,
            progress=progress,
        )

    def quota_reached(self, documents: int = 0) -> str | None:
        """Why the namespace cannot have so many documents, or take anything in; None: it can.

        Example:
            >>> store.quota_reached(documents=10) is None
            True
        """
        return self._quota().reached(documents)

    def _quota(self) -> Quota:
        from clew.indexing.pipeline import Quota

        return Quota(self._state.settings.quota, self._measured)

    def _measured(self) -> int:
        """Bytes of the store's folder, those aside that SQLite uses again."""
        with self._state.journal.read() as connection:
            free = free_bytes(connection)
        return folder_size(self._state.store.folder) - free

    def delete(self, names: Sequence[str] | None = None, *, where: Where = ()) -> int:
        """Delete documents and whatever only they hold; the number deleted.

        By name, or all that meet filters (docs/filters.md): one of the two. All names are looked up
        first, as in `named`: where one is unknown, `NotFoundError` is raised and nothing is
        deleted.

        Example:
            >>> store.delete(["bakery"]), store.delete(where="year < 1900")
            (1, 1)
            >>> [document.source for document in store]
            ['teacher']
        """
        check_several(names=names)
        if (names is None) != bool(where):
            raise InputError("give names or where; one of the two: nothing was deleted")
        names = [one.id for one in self.list(where)] if names is None else names
        ids = [self.named(name).id for name in names]
        with self._state.writing:
            deleted = self._state.store.delete(ids)
        self._state.persist()
        return deleted

    def get(self, name: str) -> DocumentInfo:
        """A document as in `named`, or by the only ending of a source that fits; for reading.

        Raises `NotFoundError` where none or more than one fits.

        Example:
            >>> store.get("clock").title
            'The clock'
        """
        found = self._named(name) or [
            document
            for document in self._state.store.documents()
            if name and document.source.endswith(name)
        ]
        if len(found) == 1:
            return found[0]
        raise NotFoundError(not_one("document", name, [repr(d.source) for d in found], LISTING))

    def named(self, name: str) -> DocumentInfo:
        """The document with this id, source or path: what deletes or changes one asks here.

        Raises `NotFoundError` where none or more than one has it, and names those that are near.

        Example:
            >>> store.named("clock").title
            'The clock'
        """
        found = self._named(name)
        if len(found) == 1:
            return found[0]
        shown = [f"{d.source!r} ({d.id})" for d in found] or self._near(name)
        raise NotFoundError(not_one("document", name, shown, LISTING, DID_YOU_MEAN))

    def _named(self, name: str) -> list[DocumentInfo]:
        self._state.check_length("name", name)
        ids = [name, document_id(name)]
        with suppress(ValueError):  # what no path has: zero bytes, half characters
            ids.append(document_id(file_source(Path(name))))
        return self._state.store.documents(ids=ids)

    def _near(self, name: str) -> list[str]:
        """Sources that hold the name, or whose title does; else those spelled most alike.

        Each as it is shown, with its title where that does not stand in it.
        """
        titles = {d.source: d.title for d in self._state.store.documents()}
        near = [s for s, title in titles.items() if name.casefold() in f"{s}\n{title}".casefold()]
        near.sort(key=lambda s: (titles[s].casefold() != name.casefold(), len(s)))
        if not near:
            from clew.indexing.linking import most_alike

            near = most_alike(name, titles, 5)
        return [repr(s) if titles[s] in s else f"{s!r} (titled {titles[s]!r})" for s in near]

    def versions(self, name: str) -> list[DocumentVersion]:
        """The texts that a document has had, oldest first: digests, and when each was held.

        Example:
            >>> _ = store.add("Ivo Quill taught Ada Marsh.", source="teacher")
            >>> [one.version for one in store.versions("teacher")]
            [1, 2]
        """
        return self._state.store.lineage(self.get(name).id)

    def sections(self, name: str) -> list[StoredSection]:
        """A document's sections in order.

        Example:
            >>> [section.text for section in store.sections("teacher")]
            ['Ada Marsh was taught by Ivo Quill in Lund.']
        """
        return self._state.store.document_sections(self.get(name).id)

    def chunks(self, name: str) -> list[StoredChunk]:
        """A document's chunks in order.

        Example:
            >>> [chunk.text for chunk in store.chunks("teacher")]
            ['Ada Marsh was taught by Ivo Quill in Lund.']
        """
        return self._state.store.document_chunks(self.get(name).id)

    def earlier_text(self, name: str, version: int) -> str:
        """The text of a version of a document; raises `NotFoundError` where it is not kept.

        Example:
            >>> _ = store.add("Ivo Quill taught Ada Marsh.", source="teacher")
            >>> store.earlier_text("teacher", 1)
            'Ada Marsh was taught by Ivo Quill in Lund.'
        """
        document = self.get(name)
        if version == document.version:
            return self.text(document.id)
        text = self._state.store.earlier_text(document.id, version)
        if text is None:
            kept = [str(v.version) for v in self.versions(document.id) if v.is_kept]
            raise NotFoundError(
                f"the text of version {version} of {document.source!r} is not kept; there are"
                f" {', '.join(kept)} (the setting versions.keep says how many are)"
            )
        return text

    def text(self, name: str) -> str:
        """A document's text, or a chunk's for `<document id>#<ordinal>`, as hits name it.

        `<document id>@<version>` is the text of an earlier version.

        Example:
            >>> store.text("teacher")
            'Ada Marsh was taught by Ivo Quill in Lund.'
        """
        whole, _, version = name.partition("#")[0].rpartition("@")
        earlier = whole_number(version)
        if earlier is not None and self._state.store.documents(ids=[whole]):
            return self.earlier_text(whole, earlier)
        document, _, ordinal = name.rpartition("#")
        number = whole_number(ordinal)
        if number is not None and self._state.store.documents(ids=[document]):
            for chunk in self._state.store.document_chunks(document):
                if chunk.ordinal == number:
                    return chunk.text
        return "".join(section.text for section in self.sections(name))

    def vectors(self, names: Sequence[str]) -> list[Vectors]:
        """The embeddings of documents: of each (passages, dimension) float32, in order.

        Raises `NotFoundError` for an unknown name.

        Example:
            >>> (of_clock,) = store.vectors(["clock"])
            >>> of_clock.shape
            (1, 256)
        """
        check_several(names=names)
        ids = [self.named(name).id for name in names]
        left = READ_AGAIN
        while True:
            try:
                return [self._vectors_of(id_) for id_ in ids]
            except StoreError:  # one was written again between its passages and their vectors
                left -= 1
                if not left:
                    raise

    def _vectors_of(self, document_id: str) -> Vectors:
        return self._state.vectors.vectors(
            [passage.id for passage in self._state.store.document_chunks(document_id)]
        )

    def unknown_fields(self, where: Where) -> Sequence[str]:
        """A note for each field of a filter that no document has, with the nearest ones.

        Example:
            >>> store.unknown_fields("yaer = 1881")
            ["no document has the field 'yaer'; did you mean 'year'?"]
        """
        return self._state.store.unknown_fields(read_where(where))

    def count(self, where: Where = ()) -> int:
        """How many documents there are, or meet the filters.

        Example:
            >>> store.count(), store.count("year >= 1880")
            (3, 1)
        """
        return len(self.list(where)) if where else self._state.store.count_documents()

    def __len__(self) -> int:
        """How many documents there are."""
        return self.count()

    def __bool__(self) -> bool:
        """A store is one, empty or not."""
        return True

    def __iter__(self) -> Iterator[DocumentInfo]:
        """All documents, by source, read in pages."""
        page = self.list(limit=PAGE)
        while page:
            yield from page
            page = self.list(after=page[-1].source, limit=PAGE)

    def __contains__(self, name: object) -> bool:
        """Whether a document has this id, source or path."""
        try:
            return len(self._named(str(name))) == 1
        except InputError:  # longer than any has
            return False

    # Last: in what follows, `list` would be the method.
    def list(
        self, where: Where = (), *, after: str = "", limit: int | None = None
    ) -> list[DocumentInfo]:
        """All documents, or those that meet the filters, by source.

        A page has the first `limit` (at least 1) of those whose source comes after `after`. Raises
        `FilterError` for a filter that cannot be read; see docs/filters.md.

        Example:
            >>> [one.source for one in store.list("year >= 1880")]
            ['clock']
            >>> [one.source for one in store.list(limit=2)]
            ['bakery', 'clock']
        """
        if limit is not None and limit < 1:
            raise InputError(f"limit {limit!r} cannot be; expected at least 1")
        if limit is not None and not where:
            return self._state.store.documents_after(after, limit)
        found = self._state.store.documents(where=read_where(where))
        return [one for one in found if one.source > after][:limit]


def _spent(embedder: Embedder) -> tuple[int, float | None]:
    """Tokens and US dollars that an embedder on a server has counted."""
    return getattr(embedder, "tokens", 0), getattr(embedder, "cost", None)
