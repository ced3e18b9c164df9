"""The engine: everything that a user of the library, the command line or a server can do."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack
from zoneinfo import ZoneInfo

from clew.errors import InputError, ModelError, NotFoundError, UnreadableError
from clew.query.cache import RecentlyUsed
from clew.query.stated import read_relations, stating_sentences
from clew.types import IndexReport, NewRelation
from clew.wiring import (
    make_communities,
    make_embedder,
    make_ingest,
    make_reranker,
    make_store,
    make_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clew.graph.analysis import EntityRanks
    from clew.graph.entity_graph import EntityGraph
    from clew.graph.overview import GraphOverview
    from clew.graph.snapshot import Snapshot
    from clew.ingest.assistant import Readings
    from clew.ingest.by_hand import Memory
    from clew.ingest.pipeline import Ingest
    from clew.ingest.reread import Reread
    from clew.ingest.run import IndexRun
    from clew.ingest.take_over import TakenOver
    from clew.ports import CommunityStore, Embedder, Extractor, LanguageModel, Reranker
    from clew.query.entity_search import EntityHit
    from clew.query.moments import Moment
    from clew.query.options import Options
    from clew.query.ranker import Ranker
    from clew.query.relevant import RelevantGraph
    from clew.settings import Settings
    from clew.stores.vectors import VectorMatrix
    from clew.tools.toolbox import Toolbox
    from clew.types import (
        Alias,
        CheckReport,
        Community,
        Document,
        DocumentInfo,
        Entity,
        Fusion,
        Metadata,
        Relation,
        RelationEvidence,
        SearchResult,
        StoredChunk,
        StoredSection,
        TimelineEntry,
        Topic,
        Vector,
    )

    Progress = Callable[[str, int, int | None], None]
    """Called with a step's name, how much of it is done, and of how much (None: unknown)."""

NAMES_KEPT = 4096
"""Names of entities whose embedding is kept."""
NEIGHBOR_DEPTH = 3
"""Steps from an entity to its neighbours, at most."""


_FROM_SETTINGS = (
    *("strategy", "limit", "max_tokens", "max_hops", "fusion", "alpha", "weights", "hierarchy"),
)
"""Options of a question whose defaults are settings of the same name."""


class SearchOptions(TypedDict, total=False):
    """What single strategies can be told; see `clew.query.options.Options` for each."""

    max_hops: int | None
    fusion: Fusion | None
    alpha: float | None
    weights: tuple[float, float, float] | None
    layer: str | None
    hierarchy: str | None
    level: int | None
    expand: bool
    sub_questions: bool
    rerank: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbor:
    """An entity that a relation leads to."""

    entity: Entity
    relation: str
    weight: float
    """0 to 1."""
    depth: int
    """Steps from where the question began, from 1."""
    evidence: str
    """The sentence that says so; empty where there is none."""


class Clew:
    """One namespace's store and what can be done with it; made by `clew.open`.

    Threads may share an engine. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        reranker: Reranker | None = None,
        language_model: LanguageModel | None = None,
    ) -> None:
        self.settings = settings
        self.store = make_store(settings)
        self.embedder = embedder or make_embedder(settings)
        """The model that texts and questions are embedded with."""
        self.reranker = reranker or make_reranker(settings)
        """Reads question and passage together; None where none is configured."""
        self.language_model = language_model
        """None where none is given: everything works without."""
        self.query_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(settings.search.cache)
        """Embeddings of questions asked before."""
        self.name_vectors: RecentlyUsed[str, Vector] = RecentlyUsed(NAMES_KEPT)
        """Embeddings of entities' names."""
        self._answers: RecentlyUsed[object, SearchResult] = RecentlyUsed(settings.search.cache)
        self._extractor = extractor
        self._communities = make_communities(self.store)
        self._entity_graph: EntityGraph | None = None
        self._entity_ranks: EntityRanks | None = None
        self._vectors = make_vectors(self.store)
        self._snapshot: Snapshot | None = None
        self._before_close: list[Callable[[], None]] = []
        self._loading: threading.Thread | None = None
        self._answers_meanwhile = False
        self._refreshing = threading.Lock()
        self._writing = threading.Lock()

    def __enter__(self) -> Self:
        """The engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the engine."""
        self.close()

    def close(self) -> None:
        """Let go of files; may be called twice."""
        while self._before_close:
            self._before_close.pop()()
        self.store.close()

    def before_close(self, action: Callable[[], None]) -> None:
        """Have something done when the engine closes, while the store is still open."""
        self._before_close.append(action)

    def warm(self, *, meanwhile: bool = False) -> None:
        """Load the embedding model in the background, while the caller prepares its question.

        Where it cannot be loaded, the first question says so. With `meanwhile`, questions do not
        wait for it: they are answered from words and ties, and their notes say so.
        """
        self._answers_meanwhile = meanwhile
        self._loading = threading.Thread(target=self._load_model, name="clew-warm")
        self._loading.start()

    @property
    def ready(self) -> bool:
        """Whether nothing is being loaded in the background (see `warm`)."""
        return self._loading is None or not self._loading.is_alive()

    def _load_model(self) -> None:
        with suppress(ModelError):
            self.embedder.embed_query("warm")

    # --- what questions are asked of (see `clew.query.asking.Library`)

    @property
    def vectors(self) -> VectorMatrix:
        """The vector index, brought up to the store's generation."""
        with self._refreshing:
            self._vectors.refresh()
        return self._vectors

    @property
    def snapshot(self) -> Snapshot:
        """The graph, brought up to the store's generation."""
        from clew.graph.snapshot_files import current_snapshot

        with self._refreshing:
            self._snapshot = current_snapshot(self.store, self.store.folder, self._snapshot)
            return self._snapshot

    @property
    def entity_graph(self) -> EntityGraph:
        """The graph of entities alone, brought up to the store's generation."""
        from clew.graph.entity_graph_files import current_entity_graph

        snapshot = self.snapshot
        with self._refreshing:
            self._entity_graph = current_entity_graph(
                self.store, snapshot, self.store.folder, self._entity_graph
            )
            return self._entity_graph

    @property
    def entity_ranks(self) -> EntityRanks:
        """How much each entity matters, brought up to the store's generation."""
        from clew.graph.entity_graph_files import current_entity_ranks

        with self._refreshing:
            self._entity_ranks = current_entity_ranks(
                self.store, self._snapshot, self.store.folder, self._entity_ranks
            )
            return self._entity_ranks

    @property
    def communities(self) -> CommunityStore:
        """Communities and topics, brought up to the store's generation."""
        self.update_communities()
        return self._communities

    @property
    def ranker(self) -> Ranker:
        """The learned ranker that ships."""
        from clew.query.ranker import shipped

        return shipped()

    # --- indexing

    def index(
        self,
        paths: Sequence[str | Path],
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        prune: bool = False,
        progress: Progress | None = None,
    ) -> IndexReport:
        """Index files and folders; what has not changed is left as it is.

        What cannot be read is reported in `skipped`, and what was stored of it before stays.
        `prune` drops documents whose file below the given paths is gone. Raises `InputError` for a
        path that does not exist.
        """
        from clew.ingest.read import find_files

        roots = [Path(path).expanduser() for path in paths]
        there = [root for root in roots if root.exists() or not prune]
        read = self.settings.read
        files = list(find_files(there, include=include, exclude=exclude, settings=read))
        run = self._start(progress)
        return self._finish(run, run.changed_files(files), prune=roots if prune else ())

    def add_documents(
        self, documents: Iterable[Document], *, progress: Progress | None = None
    ) -> IndexReport:
        """Index documents that the caller has made; those that are unchanged are left alone."""
        run = self._start(progress)
        return self._finish(run, run.changed_documents(list(documents)))

    def add(
        self,
        text: str,
        *,
        source: str | None = None,
        title: str = "",
        media_type: str = "text/plain",
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Index one text in place of the one with the same `source`; the document's id.

        Raises `UnreadableError` for a text of white space alone.
        """
        from clew.ingest.read import document_from_text

        document = document_from_text(
            text, source=source, title=title, media_type=media_type, metadata=metadata
        )
        report = self.add_documents([document])
        for skipped in report.skipped:
            raise UnreadableError(skipped.source, skipped.reason)
        return document.id

    @cached_property
    def _ingest(self) -> Ingest:
        return make_ingest(self.settings, self.store, self.embedder, self._extractor)

    @property
    def recipe(self) -> str:
        """How documents are split, embedded and extracted now, as JSON."""
        return self._ingest.recipe

    def _start(self, progress: Progress | None) -> IndexRun:
        from clew.ingest.run import IndexRun

        self._claim_embedder()
        return IndexRun(self.store, self._ingest.recipe, self.settings.read, progress)

    def _finish(
        self, run: IndexRun, documents: Iterator[Document], prune: Sequence[Path] = ()
    ) -> IndexReport:
        started = time.perf_counter()
        with self._writing:
            done = self._ingest.run(documents, run.saved)
            run.prune(prune)
        if run.added or run.changed or run.pruned:
            self._persist()
        return IndexReport(
            added=run.added,
            changed=run.changed,
            unchanged=run.unchanged,
            pruned=run.pruned,
            chunks=done.chunks,
            skipped=tuple(run.skipped),
            seconds=time.perf_counter() - started,
            embedding_seconds=done.embedding_seconds,
        )

    def _claim_embedder(self) -> None:
        """Make sure that the store holds vectors of this embedder and of no other."""
        self.store.claim(self.embedder.name, self.embedder.dimension)

    def _persist(self) -> None:
        """Write down what is derived from the store, so that the next process need not."""
        from clew.graph.snapshot_files import write_snapshot

        self.vectors.persist()
        write_snapshot(self.snapshot, self.store.folder)

    # --- asking

    def search(
        self,
        question: str,
        *,
        strategy: str | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        where: Sequence[str] = (),
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
        temporal: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResult:
        """The passages that answer the question, best first, each with why it was found.

        What is not given comes from the settings.

        Args:
            question: In words.
            strategy: How passages are found; `auto` lets the router choose and say why.
            limit: Passages, at most.
            max_tokens: Tokens of the assembled context, at most.
            where: Filters on metadata (`year>=2020`), inside the search.
            since: Only passages of this time or later: a date, or words such as "last week".
            until: Only passages of this time or earlier, the day or year named included.
            as_of: Ask the store as it stood, and of what held, at the end of that day.
            temporal: Keep to the period that the question names, ignore it, or prefer it (None).
            options: See `SearchOptions`.

        Raises `InputError` for an unknown strategy, for what names no time and for values that
        cannot be.
        """
        from clew.query.conditions import parse_conditions
        from clew.query.moments import read_end, read_last, read_start
        from clew.query.options import Options

        defaults, now = self.settings.search, self._now()
        given = {"strategy": strategy, "limit": limit, "max_tokens": max_tokens, **options}
        return self._answer(
            question,
            Options(
                where=parse_conditions(where),
                since=read_start("since", since, now),
                until=read_end("until", until, now),
                as_of=read_last("as_of", as_of, now),
                temporal=temporal,
                now=now,
                **{
                    **{name: getattr(defaults, name) for name in _FROM_SETTINGS},
                    **{name: value for name, value in given.items() if value is not None},
                },
            ),
        )

    def _now(self) -> datetime:
        return datetime.now(ZoneInfo(self.settings.search.time_zone))

    def _answer(self, question: str, options: Options) -> SearchResult:
        """The answer that is still known, or a new one."""
        from clew.query.meanwhile import ask_meanwhile
        from clew.query.pipeline import ask

        self._claim_embedder()
        started = time.perf_counter()
        # What is meant by "today" changes with the day alone.
        key = (self.store.generation(), question, replace(options, now=_midnight(options.now)))
        known = None if self.settings.usage.weight else self._answers.get(key)
        if known is not None:
            return replace(known, timings_ms={"cache": 1000 * (time.perf_counter() - started)})
        if self._answers_meanwhile and not self.ready:
            return ask_meanwhile(self, question, options)
        result = ask(self, question, options)
        if self.settings.usage.weight:
            self.store.record_use([hit.chunk.id for hit in result.hits], options.now)
        self._answers.put(key, result)
        return result

    # --- documents

    def documents(self, where: Sequence[str] = ()) -> list[DocumentInfo]:
        """All documents, or those that meet every filter, by source."""
        from clew.query.conditions import parse_conditions

        return self.store.documents(where=parse_conditions(where))

    def document(self, name: str) -> DocumentInfo:
        """A document by id, by source, by path, or by the only ending of a source that fits.

        Raises `NotFoundError` where none or more than one fits.
        """
        from clew.types import document_id

        resolved = Path(name).resolve().as_posix()
        ids = [name, document_id(name), document_id(resolved)]
        found = self.store.documents(ids=ids)
        if not found:
            found = [d for d in self.store.documents() if d.source.endswith(name) and name]
        if len(found) == 1:
            return found[0]
        raise NotFoundError(_not_one("document", name, [d.source for d in found], "clew documents"))

    def sections(self, name: str) -> list[StoredSection]:
        """A document's sections in order."""
        return self.store.document_sections(self.document(name).id)

    def chunks(self, name: str) -> list[StoredChunk]:
        """A document's chunks in order."""
        return self.store.document_chunks(self.document(name).id)

    def text(self, name: str) -> str:
        """A document's text, or a chunk's for `<document id>#<ordinal>`, as hits name it."""
        document, mark, ordinal = name.rpartition("#")
        if mark and ordinal.isdecimal() and self.store.documents(ids=[document]):
            for chunk in self.store.document_chunks(document):
                if chunk.ordinal == int(ordinal):
                    return chunk.text
        return "".join(section.text for section in self.sections(name))

    def delete(self, names: Sequence[str]) -> int:
        """Delete documents and whatever only they hold; the number deleted.

        All names are looked up first: where one is unknown, `NotFoundError` is raised and nothing
        is deleted.
        """
        ids = [self.document(name).id for name in names]
        with self._writing:
            deleted = self.store.delete(ids)
        self._persist()
        return deleted

    # --- the graph

    def entity(self, name: str) -> Entity:
        """An entity by name, alias or id. Raises `NotFoundError` that names the nearest ones."""
        return self.entity_ranks.applied([self._entity(name)])[0]

    def _entity(self, name: str) -> Entity:
        """The same, without how much it matters, which may have to be computed."""
        from clew.text import entity_key

        found = self.store.resolve([entity_key(name)]).get(entity_key(name))
        if found is None and name.isdecimal():
            found = int(name)
        entities = self.store.entities([found]) if found is not None else []
        if entities:
            return entities[0]
        near = self.store.find_entities(name, 5) or [
            entity for word in name.split() for entity in self.store.find_entities(word, 5)
        ]
        names = list(dict.fromkeys(entity.name for entity in near))
        raise NotFoundError(_not_one("entity", name, names, "clew stats --graph"))

    def find_entities(self, text: str, limit: int = 10) -> list[Entity]:
        """Entities whose name is, begins with or holds the text, best first."""
        return self.entity_ranks.applied(self.store.find_entities(text, limit))

    def search_entities(
        self,
        question: str,
        *,
        depth: int = 2,
        limit: int = 10,
        vector_weight: float = 0.6,
        graph_weight: float = 0.4,
    ) -> tuple[list[EntityHit], tuple[str, ...]]:
        """Entities that answer a question, best first, and notes; see `query.entity_search`.

        Raises `InputError` for a depth outside 1 to 3.
        """
        from clew.query.entity_search import search_entities
        from clew.query.meanwhile import NOTE

        self._claim_embedder()
        waits = self.ready or not self._answers_meanwhile
        vector = self._query_vector(question) if waits else None
        hits = search_entities(
            self,
            question,
            vector,
            depth=depth,
            limit=limit,
            vector_weight=vector_weight,
            graph_weight=graph_weight,
        )
        return hits, () if waits else (NOTE,)

    def _query_vector(self, question: str) -> Vector:
        return self.query_vectors.get_or_make(question, lambda: self.embedder.embed_query(question))

    def aliases(self, name: str) -> list[Alias]:
        """The names of an entity, and why they are."""
        return self.store.aliases(entity_id=self._entity(name).id)

    def relations(self, name: str, limit: int = 50) -> list[RelationEvidence]:
        """An entity's relations, heaviest first."""
        return read_relations(self.store, self.store.relations([self._entity(name).id], limit))

    def neighbors(self, name: str, *, depth: int = 1, limit: int = 50) -> list[Neighbor]:
        """Entities that relations lead to, nearest and heaviest first, each once.

        Raises `InputError` for a depth outside 1 to 3.
        """
        if not 1 <= depth <= NEIGHBOR_DEPTH:
            raise InputError(f"depth {depth!r} cannot be; expected 1 to {NEIGHBOR_DEPTH}")
        start = self._entity(name).id
        seen, edge = {start}, [start]
        found: list[Neighbor] = []
        for step in range(1, depth + 1):
            reached = self._step(edge, seen, step, limit - len(found))
            found.extend(reached)
            edge = [neighbor.entity.id for neighbor in reached]
            if not edge:
                break
        return found

    def _step(self, edge: list[int], seen: set[int], depth: int, room: int) -> list[Neighbor]:
        relations = self.store.relations(edge) if room > 0 else []
        sentences = stating_sentences(self.store, relations)
        reached: dict[int, Relation] = {}
        for relation in relations:
            for end in (relation.from_entity_id, relation.to_entity_id):
                if end not in seen and len(reached) < room:
                    seen.add(end)
                    reached[end] = relation
        return [
            Neighbor(
                entity=entity,
                relation=reached[entity.id].relation_type,
                weight=reached[entity.id].weight,
                depth=depth,
                evidence=sentences[reached[entity.id].id],
            )
            for entity in self.entity_ranks.applied(self.store.entities(list(reached)))
        ]

    def paths(
        self, source: str, target: str, *, max_hops: int = 3, limit: int = 5
    ) -> tuple[list[tuple[RelationEvidence, ...]], tuple[str, ...]]:
        """The paths between two entities, fewest hops first, and a note for each limit met.

        Each path is its ties: relations that are stated, in their own direction, or sentences that
        name both ends. Raises `InputError` for hops outside 1 to 5 or a limit below 1.
        """
        from clew.graph.paths import all_paths
        from clew.query.ways import entity_rows, read_paths

        ends = self._entity(source), self._entity(target)
        graph = self.entity_graph
        rows = entity_rows(graph, [entity.id for entity in ends])
        if len(rows) < 2:
            raise InputError(
                f"{source!r} and {target!r} are not two entities of the graph; a path needs two"
            )
        found = all_paths(graph, rows[0], rows[1], max_hops=max_hops, limit=limit)
        return read_paths(self.store, graph, found.paths), found.met

    def timeline(
        self, name: str, *, limit: int = 100, as_of: Moment | None = None
    ) -> list[TimelineEntry]:
        """What is known of an entity, in order of time."""
        from clew.query.moments import read_last
        from clew.query.timeline import read_timeline

        moment = read_last("as_of", as_of, self._now())
        return read_timeline(self.store, self._entity(name).id, limit=limit, as_of=moment)

    def subgraph(
        self,
        question: str,
        *,
        hops: int | None = None,
        limit: int = 50,
        max_tokens: int | None = None,
    ) -> RelevantGraph:
        """The part of the graph that matters to a question, at most `limit` entities of it.

        It is the tree that ties the question's entities together at the least cost
        (prize-collecting Steiner tree); with `hops`, all that lies so near to them. As text it
        takes at most `max_tokens`. Raises `InputError` for a limit below 2 and for hops outside 1
        to 3.
        """
        from clew.query.options import Options
        from clew.query.relevant import relevant_graph

        self._claim_embedder()
        options = Options(
            strategy="local",
            limit=limit,
            max_tokens=self.settings.search.max_tokens if max_tokens is None else max_tokens,
            now=self._now(),
        )
        return relevant_graph(self, question, options, self.entity_ranks, hops)

    @cached_property
    def memory(self) -> Memory:
        """Entities, observations and relations written by hand."""
        from clew.ingest.by_hand import Memory

        return Memory(self.store, self._claimed_ingest, self._writing)

    def import_memory(self, path: str | Path) -> TakenOver:
        """Take over another memory: the reference memory server's file, or a SQLite file.

        Raises `UnreadableError` for a file that cannot be read, `InputError` for a database of
        another kind.
        """
        from clew.ingest.readers.memory import read_memory
        from clew.ingest.take_over import take_over

        return take_over(self.memory, read_memory(Path(path).expanduser()))

    @cached_property
    def readings(self) -> Readings:
        """Entities and relations that an assistant finds by reading passages."""
        from clew.ingest.assistant import Readings

        return Readings(self.store, self._claimed_ingest, self._writing)

    def _claimed_ingest(self) -> Ingest:
        self._claim_embedder()
        return self._ingest

    def add_relation(
        self,
        source_id: int,
        target_id: int,
        relation_type: str,
        *,
        weight: float = 1.0,
        is_causal: bool = False,
        context: Metadata | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Relation:
        """Write a relation between two entities by hand; the same one again is brought up to date.

        `relation_type` is a snake_case name, `weight` 0 to 1. Raises `InputError` for values that
        cannot be, `NotFoundError` for an unknown entity.
        """
        relation = NewRelation(
            source_id=source_id,
            target_id=target_id,
            relation_type=relation_type,
            weight=weight,
            is_causal=is_causal,
            context=context,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        return self.memory.add_relations([relation])[0][0]

    def community_reports(self, level: int = 0, limit: int = 50) -> list[Community]:
        """The communities of a level (0: the coarsest), largest first, with their reports.

        Each says where its report's sentences come from. Raises `InputError` for a level that
        there is not.
        """
        from clew.query.reports import check_level

        kept = self.communities
        found = kept.communities(level=check_level(kept, level))[:limit]
        origins = self.store.provenance([id_ for c in found for id_ in c.sources])
        return [
            replace(c, provenance=tuple(origins[id_] for id_ in c.sources if id_ in origins))
            for c in found
        ]

    def topics(self, limit: int = 50) -> list[Topic]:
        """Key phrases that several passages are on, those of most documents first."""
        return self.communities.topics()[:limit]

    def extract_relations(
        self,
        entity_ids: Sequence[int] | None = None,
        *,
        limit: int | None = None,
        proceed: Callable[[int, int], bool] = lambda done, total: True,
    ) -> Reread:
        """Read the passages of entities once more for relations, and add those that are new.

        Without ids, the first `limit` entities of which no passage was read for relations with
        success. `proceed` is told documents done and in all, and may end it by False.
        """
        from clew.ingest.reread import reread

        ids = self.store.unread_entities(limit) if entity_ids is None else entity_ids
        return reread(self.store, self._ingest.extractor, ids, proceed)

    def merge(self, source: str, target: str) -> None:
        """Take the first entity for the second from now on; `split` undoes it."""
        with self._writing:
            self.store.merge(self._entity(source).id, self._entity(target).id, "merged by hand")

    def split(self, name: str, alias_names: Sequence[str]) -> Entity:
        """Take names out of an entity, into one of their own."""
        from clew.text import entity_key

        with self._writing:
            made = self.store.split(self._entity(name).id, [entity_key(a) for a in alias_names])
        return self.entity_ranks.applied(self.store.entities([made]))[0]

    def rename(self, name: str, new_name: str) -> None:
        """Show an entity under another name; the old one still finds it."""
        with self._writing:
            self.store.rename(self._entity(name).id, new_name)

    @cached_property
    def tools(self) -> Toolbox:
        """Everything that an assistant may call, by name: `tools.call("search", {"query": …})`."""
        # The tools call the engine; that it offers them is all that it knows of them.
        from clew.tools.catalogue import make_toolbox

        return make_toolbox(self)

    # --- upkeep

    def update_communities(self, progress: Progress | None = None) -> None:
        """Make the communities and topics anew that changes touched; done already where none did.

        Whatever needs them does it, too; `progress` is told the steps.
        """
        from clew.graph.upkeep import bring_up_to_date

        if self._communities.built() == self.store.generation():
            return
        say = None if progress is None else partial(_begin, progress)
        bring_up_to_date(
            self.store, self._communities, self.snapshot, self.entity_graph, self.vectors, say
        )

    def graph_statistics(self, limit: int = 10) -> GraphOverview:
        """The graph of entities in numbers, its hubs and bridges, at most `limit` of each kind."""
        from clew.graph.overview import overview

        return overview(self.store, self.entity_graph, limit)

    def stats(self) -> dict[str, Any]:
        """Counts of everything in the store, its embedder, its size on disk."""
        return self.store.statistics()

    def check(self, repair: bool = False) -> CheckReport:
        """Verify every invariant of the store; with `repair`, mend what is derived."""
        return self.store.check(repair=repair)

    def backup(self, path: str | Path) -> int:
        """Write the store as it is now to a new file and check that file; its bytes.

        Raises `InputError` where there is such a file already.
        """
        from clew.stores.sqlite_backup import back_up

        return back_up(self.store, Path(path).expanduser())

    def restore(self, path: str | Path) -> None:
        """Put a backup's content in place of the store's; jobs and the audit log stay.

        Raises `StoreError` for a backup that is not sound or of another embedder; then nothing has
        changed.
        """
        from clew.stores.sqlite_backup import restore

        with self._writing:
            restore(self.store, Path(path).expanduser())

    def export(self, format: Literal["graphml", "jsonl"]) -> Iterator[str]:
        """The store as pieces of text: the graph as GraphML, or everything as JSON Lines."""
        from clew.graph.export import export

        return export(self.store, format)


def _begin(progress: Progress, step: str) -> None:
    progress(step, 0, None)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _not_one(kind: str, name: str, found: Sequence[str], command: str) -> str:
    if not found:
        return f"no {kind} {name!r}; `{command}` shows what there is"
    shown = ", ".join(repr(item) for item in found[:5])
    return f"no single {kind} {name!r}; near it: {shown}"
