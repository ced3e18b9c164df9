"""Documents, names and graphs on Neo4j."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import InputError, StoreMismatchError
from clew.plugins.neo4j.store import Neo4jStore
from clew.ports import LoggedReply, StoredDescription
from clew.settings import Neo4jSettings, load_settings
from clew.stores.communities import Communities, Descriptions
from clew.stores.extractions import Enrichments
from clew.stores.sqlite.store import SqliteStore
from clew.stores.state import Replies
from clew.stores.store import Store
from clew.testing.conformance import (
    EMBEDDER,
    FUNCTIONAL,
    DocumentStoreSuite,
    chunk_ids_of,
    make_entry,
    make_link,
)
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from clew.types import (
    AliasEvidence,
    AliasMethod,
    ChunkExtraction,
    Condition,
    ExtractedRelation,
    IndexedDocument,
    Mention,
    NewEntity,
    NewRelation,
    Period,
    Relation,
    Usage,
)
from clew.wiring import store_exists
from tests.contract.filter_suite import FilterSuite
from tests.contract.neo4j_stores import OnNeo4j, Place, new_place
from tests.contract.suites.communities import make_changes
from tests.contract.suites.graph import (
    ExtractionLogSuite,
    GraphStoreSuite,
    ManualGraphSuite,
    NamesSuite,
)
from tests.contract.suites.snapshots import PassageRecordsSuite
from tests.contract.suites.times import (
    LineageSuite,
    RelationTimesSuite,
    TimeIndexSuite,
    UsageLogSuite,
)
from tests.unit.test_enrich import reading

Step: TypeAlias = tuple[Callable[..., object], tuple[Any, ...]]
"""What is done to a store, and its arguments after the store."""
Triple: TypeAlias = tuple[str, str, str]
"""(head, type, tail)"""

UNKNOWN = 999_999
"""An id that no store gives out here."""


def take(store: Store, step: Step) -> tuple[object, bool, bool]:
    """Take a step; (what came of it, whether it counts as a change, as a move of entities)."""
    action, arguments = step
    before = store.generation(), store.mentions_version()
    try:
        came_of_it = action(store, *arguments)
    except InputError as error:
        came_of_it = type(error)
    return came_of_it, store.generation() > before[0], store.mentions_version() > before[1]


# --- what there is to see ----------------------------------------------------------------


def seen(store: Store) -> dict[str, object]:
    """All that can be seen of the graph, with places in the order of ids instead of ids."""
    aliases = store.aliases()
    ids = sorted({alias.entity_id for alias in aliases})
    place = {id_: number for number, id_ in enumerate(ids)}
    chunk = {id_: number for number, id_ in enumerate(store.chunk_ids().tolist())}
    relations = store.relations(ids, 10_000)
    then = store.relations(ids, 10_000, as_of=_year(2002))
    assert store.relations(ids, 2) == relations[:2]
    assert store.relations(ids, 2, as_of=_year(2002)) == then[:2]
    return {
        "aliases": [replace(a, id=0, entity_id=place[a.entity_id]) for a in aliases],
        "known names": [(k.name, place[k.entity_id], k.tier) for k in store.known_names()],
        "entities": [replace(e, id=place[e.id]) for e in store.entities(ids)],
        "found": [[e.name for e in store.find_entities(name)] for name in ("ann", "anna", "o")],
        "relations": [_shown_relation(r, place, chunk) for r in relations],
        "relations then": [_shown_relation(r, place, chunk) for r in then],
        "relations written": [
            _shown_relation(r, place, chunk) for r in store.unstated_relations(ids)
        ],
        "relation counts": store.relation_counts(),
        "mentions": [
            (chunk[row[0]], row[1], place[row[2]], row[3]) for row in store.mention_rows().tolist()
        ],
        "chunks": [[chunk[i] for i in store.entity_chunks(id_).tolist()] for id_ in ids],
        "documents": _placed(store.entity_documents(ids), place),
        "rules": dict(store.link_rules()),
        "made by hand": [place[id_] for id_ in store.made_by_hand()],
        "observations": {place[i]: [o.text for o in t] for i, t in store.observations(ids).items()},
        "unread": ([chunk[i] for i in store.unread(0, 100)], store.count_unread()),
        "unread entities": [place[id_] for id_ in store.unread_entities()],
    }


def _shown_relation(
    relation: Relation, place: Mapping[int, int], chunk: Mapping[int, int]
) -> object:
    """A relation without ids and without the moments at which the store learned things."""
    moment = datetime(1, 1, 1, tzinfo=UTC)

    def learned(told: datetime | None) -> datetime | None:
        """A period without a date begins, and ends another, when the store learned of it."""
        return moment if told and told.year > 2010 else told

    return replace(
        relation,
        id=0,
        from_entity_id=place[relation.from_entity_id],
        to_entity_id=place[relation.to_entity_id],
        valid_from=learned(relation.valid_from),
        valid_until=learned(relation.valid_until),
        recorded_at=moment,
        chunk_id=None if relation.chunk_id is None else chunk[relation.chunk_id],
    )


def _placed(
    documents: Mapping[str, Sequence[int]], place: Mapping[int, int]
) -> list[tuple[str, list[int]]]:
    return [(document, [place[i] for i in ids]) for document, ids in documents.items()]


# --- steps -------------------------------------------------------------------------------


def _entity(store: Store, name: str) -> int:
    return store.resolve([entity_key(name)]).get(entity_key(name), UNKNOWN)


def _year(number: int | None) -> datetime | None:
    return None if number is None else datetime(number, 1, 1, tzinfo=UTC)


def _save(
    store: Store,
    source: str,
    triples: Sequence[Triple],
    year: int | None,
    links: Sequence[tuple[str, str, AliasMethod]],
) -> None:
    entry = make_entry(
        source,
        *(f"{head} and {tail}. {tail} again." for head, _, tail in triples),
        names={name: "person" for head, _, tail in triples for name in (head, tail)},
        about=[(triples[0][0], "name")],
        relations=triples,
        valid_from=_year(year),
        links=[
            AliasEvidence(alias=alias, name=name, method=method, score=0.5, evidence="told")
            for alias, name, method in links
        ],
        origin=source,
    )
    store.save(entry)


def _tell(store: Store, name: str) -> bool:
    """What is told of an entity made by hand is a document of its own."""
    made = store.entities(store.made_by_hand(ids=[_entity(store, name)]))
    for entity in made:
        origin = f"memory:{entity.key}"
        store.save(
            make_entry(f"{origin}#1", f"{name} sings.", about=[(name, "name")], origin=origin)
        )
    return bool(made)


def _delete(store: Store, source: str) -> int:
    return store.delete([d.id for d in store.documents() if d.source == source])


def _merge(store: Store, source: str, target: str) -> None:
    store.merge(_entity(store, source), _entity(store, target), "by hand")


def _split(store: Store, names: Sequence[str]) -> None:
    """The names go out of the first one's entity."""
    store.split(_entity(store, names[0]), [entity_key(name) for name in names])


def _apart(store: Store, name: str, other: str) -> None:
    store.keep_apart(_entity(store, name), _entity(store, other))


def _together(store: Store, name: str, other: str) -> list[str]:
    """Kept apart, and that taken back."""
    said = store.keep_apart(_entity(store, name), _entity(store, other))
    store.forget_rules(said)
    return said


def _rename(store: Store, name: str, other: str) -> None:
    store.rename(_entity(store, name), other)


def _retract(store: Store, name: str, number: int) -> int:
    held = store.relations([_entity(store, name)])
    return store.retract([relation.id for relation in held[number : number + 1]])


def _restore(store: Store, name: str, number: int) -> tuple[int, int]:
    """All of an entity that was retracted, by the ids of before."""
    held = [r.id for r in store.relations([_entity(store, name)])]
    taken = store.retract(held[number : number + 1])
    return taken, store.restore_relations(held)


def _make(store: Store, names: Sequence[str], entity_type: str) -> list[bool]:
    entities = [NewEntity(name=n, entity_type=entity_type, content=f"On {n}.") for n in names]
    return [is_new for _, is_new in store.add_entities(entities)]


def _unmake(store: Store, names: Sequence[str]) -> int:
    return store.delete_entities([_entity(store, name) for name in names])


def _relate(
    store: Store, triple: Triple, weight: float, since: int | None, until: int | None
) -> list[bool]:
    """Written with its times, then once more without them."""
    head, kind, tail = triple
    again = NewRelation(
        source_id=_entity(store, head), target_id=_entity(store, tail), relation_type=kind
    )
    first = replace(
        again,
        weight=weight,
        context=None if since is None else {"since": since},
        valid_from=_year(since),
        valid_until=_year(until),
    )
    return [is_new for _, is_new in store.add_relations([first, again])]


def _unrelate(store: Store, name: str, number: int) -> int:
    held = store.unstated_relations([_entity(store, name)])
    return store.delete_relations([relation.id for relation in held[number : number + 1]])


def _read(store: Store, triple: Triple, confidence: float, year: int | None) -> int:
    """An assistant reads the first passage and says the same of it twice."""
    relation = replace(_extracted(triple, confidence), valid_from=_year(year))
    mention = Mention(name=triple[2], sentence=0, start=0, end=4, count=3)
    reading = ChunkExtraction(mentions=(mention,), relations=(relation, relation))
    described = NewEntity(name=triple[0], entity_type="person", content=f"Read of {triple[0]}.")
    chunks = [*store.chunk_ids().tolist(), UNKNOWN]
    return store.record_readings({chunks[0]: reading}, [described])


def _find(store: Store, triples: Sequence[Triple]) -> tuple[int, int]:
    """Two passages are read once more for relations of the first triple's head."""
    chunks = [*store.chunk_ids().tolist()[:2], UNKNOWN]
    found = [(chunk_id, _extracted(triple, 0.25)) for chunk_id in chunks for triple in triples]
    entity_id = _entity(store, triples[0][0])
    facts, added = store.add_found_relations(found, {entity_id}, "patterns")
    store.log_reading({entity_id: len(facts)})
    return len(facts), added


def _extracted(triple: Triple, confidence: float) -> ExtractedRelation:
    head, kind, tail = triple
    return ExtractedRelation(
        head=head, tail=tail, relation_type=kind, sentence=1, confidence=confidence
    )


# --- any steps ---------------------------------------------------------------------------

first_steps: list[Step] = [
    (_save, ("a", [("Anna", "lives_in", "Rome"), ("Ann", "knows", "Anna")], 2001, [])),
    (_save, ("b", [("Ann", "lives_in", "東京")], 2002, [])),
    (_save, ("c", [("Ann", "knows", "Roma")], None, [("Roma", "Rome", "fuzzy")])),
    (_make, (["Ann", "東京"], "person")),
    (_relate, (("Ann", "lives_in", "Roma"), 1.0, 2003, None)),
]
"""Without them, most of any steps would find nothing to change."""

# Few of each, so that steps meet what others have left.
_names = st.sampled_from(("Roma", "Anna", "Rome", "Ann", "東京"))
_triples = st.sampled_from(
    (
        ("Ann", "lives_in", "Roma"),
        ("Anna", "lives_in", "Rome"),
        ("Anna", "lives_in", "東京"),
        ("Ann", "knows", "Anna"),
        ("Roma", "knows", "Roma"),
    )
)
_sources = st.sampled_from(("a", "b", "c"))
_years = st.none() | st.integers(2000, 2004)
_methods: st.SearchStrategy[AliasMethod] = st.sampled_from(("acronym", "fuzzy"))
_numbers = st.integers(0, 2)


def _some(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, min_size=1, max_size=2)


def _call(
    action: Callable[..., object], *arguments: st.SearchStrategy[Any]
) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(action), st.tuples(*arguments))


_links = st.lists(st.tuples(_names, _names, _methods), max_size=2)
any_steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        _call(_save, _sources, _some(_triples), _years, _links),
        _call(_delete, _sources),
        _call(_tell, _names),
        _call(_merge, _names, _names),
        _call(_split, _some(_names)),
        _call(_apart, _names, _names),
        _call(_rename, _names, st.one_of(_names, st.just("Anna Morn"))),
        _call(_retract, _names, _numbers),
        _call(_together, _names, _names),
        _call(_restore, _names, _numbers),
        _call(_make, _some(_names), st.sampled_from(("name", "person"))),
        _call(_unmake, _some(_names)),
        _call(_relate, _triples, st.sampled_from((0.25, 1.0)), _years, _years),
        _call(_unrelate, _names, _numbers),
        _call(_read, _triples, st.sampled_from((0.5, 0.75)), _years),
        _call(_find, _some(_triples)),
    ),
    min_size=5,
    max_size=15,
)


# A class of tests for each suite that asks for nothing but a store.
for _suite in (
    DocumentStoreSuite,
    FilterSuite,
    LineageSuite,
    NamesSuite,
    TimeIndexSuite,
    UsageLogSuite,
    GraphStoreSuite,
    RelationTimesSuite,
    ManualGraphSuite,
    ExtractionLogSuite,
    PassageRecordsSuite,
):
    globals()[f"Test{_suite.__name__}"] = type(_suite.__name__, (OnNeo4j, _suite), {})


# --- what the two stores show of the same documents ---------------------------------------


def content(store: Store) -> list[object]:
    """All that a store says of names and relations."""
    rows = [store.relations_by_id([int(i)])[0] for i in store.relation_rows().ids]
    return [store.mention_rows().tolist(), store.aliases(), rows]


def some_entry(chance: random.Random) -> IndexedDocument:
    """A document of a few sources, with none to three chunks; sometimes the same text as before."""
    source, year = f"source {chance.randrange(5)}", 2000 + chance.randrange(3)
    texts = [f"Paragraph {chance.randrange(3)} of {year}. Ünïcode 😀." for _ in range(year % 4)]
    entry = make_entry(
        source,
        *texts,
        title=chance.choice(["", "Title"]),
        names={str(year): "date", f"Paragraph {year % 2}": "work"},
        metadata=chance.choice([{}, {"year": year, "author": ["Ann", "Bo"]}]),
        chunk_metadata=chance.choice([(), ({"date": f"{year}-05-07", "speaker": "Cy"},)]),
        origin=chance.choice(["", "archive.zip"]),
        created_at=chance.choice([None, datetime(year, 1, 1, tzinfo=timezone(timedelta(hours=3)))]),
    )
    chunks = tuple(replace(chunk, page=1, key=f"k{chunk.ordinal}") for chunk in entry.split.chunks)
    return replace(
        entry, split=replace(entry.split, chunks=chunks), pipeline_fingerprint='{"extractor": "x"}'
    )


def shown(store: Store) -> object:
    """All that is shown of documents, chunks and times, but for the moments of indexing."""
    moment = datetime(2000, 1, 1, tzinfo=UTC)
    documents = store.documents()
    chunks = store.chunk_ids().tolist()
    ids, vectors = store.embeddings()
    origins = store.provenance(chunks)
    where = [Condition(name="year", operator=">", value="2000")]
    some_time = Period(start=datetime(2001, 1, 1), end=datetime(2001, 6, 1))
    return (
        [replace(document, indexed_at=moment) for document in documents],
        [replace(d, indexed_at=moment) for d in store.documents(where=where, origin="archive.zip")],
        [[(v.version, v.sha256, v.derived_from) for v in store.lineage(d.id)] for d in documents],
        [store.document_sections(d.id) for d in documents],
        [store.document_chunks(d.id) for d in documents],
        {chunk: replace(origin, indexed_at=moment) for chunk, origin in origins.items()},
        store.sentence_ranges(chunks),
        store.chunk_times(chunks),
        store.published_at(chunks),
        store.matching_chunks(where).tolist(),
        store.chunks_within(some_time).tolist(),
        store.chunks_as_of(datetime(2001, 5, 7)).tolist(),
        (ids.tolist(), vectors.tolist()),
        (store.generation(), store.newest_date(datetime(2100, 1, 1))),
    )


class TestBeside(OnNeo4j):
    """Neo4j beside SQLite, which is the reference."""

    def test_any_documents_show_what_they_show_in_sqlite(
        self, neo4j_store: Neo4jStore, tmp_path: Path
    ) -> None:
        reference = SqliteStore(tmp_path / "file", embedder=EMBEDDER, functional=FUNCTIONAL)
        chance = random.Random(3)
        for step in range(40):
            if chance.random() < 0.2:
                gone = [d.id for d in reference.documents() if chance.random() < 0.4]
                assert neo4j_store.delete(gone) == reference.delete(gone)
            else:
                entry = some_entry(chance)
                reference.save(entry)
                neo4j_store.save(entry)
            if step % 4 == 3:
                assert shown(neo4j_store) == shown(reference), step
        reference.close()


# --- saving ------------------------------------------------------------------------------


def queries_of(caplog: pytest.LogCaptureFixture, store: Neo4jStore, entry: IndexedDocument) -> int:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="clew"):
        store.save(entry)
    return sum(record.message.startswith("neo4j rows=") for record in caplog.records)


class TestSaving(OnNeo4j):
    def test_a_batch_is_one_commit_of_which_each_save_is_whole(
        self, neo4j_store: Neo4jStore, neo4j_place: Place, tmp_path: Path
    ) -> None:
        neo4j_store.save(make_entry("b", "Ulm.", names=["Ulm"]))
        broken = make_entry("b", "Paris.", names=["Paris"])
        text = replace(broken.document, text="Par\ud800.")
        with neo4j_place.store(tmp_path) as other:

            def save() -> None:
                with neo4j_store.batch():
                    neo4j_store.save(make_entry("a", "Vienna.", names=["Vienna"]))
                    assert len(neo4j_store.documents()) == 2  # seen at once, here
                    assert len(other.documents()) == 1  # but not elsewhere
                    neo4j_store.save(replace(broken, document=text))

            with pytest.raises(InputError, match="half a character"):
                save()
            assert [d.source for d in other.documents()] == ["a", "b"]
            assert [c.text for c in other.chunks(other.chunk_ids().tolist())] == ["Ulm.", "Vienna."]
            assert sorted(alias.key for alias in other.aliases()) == ["ulm", "vienna"]

    def test_a_document_of_any_length_is_one_commit(self, neo4j_store: Neo4jStore) -> None:
        before = neo4j_store.generation()
        texts = [f"Paragraph {number} of 1999 is about Vienna." for number in range(1100)]
        entry = make_entry("a", *texts, names={"Vienna": "place", "1999": "date"})
        neo4j_store.save(entry)
        assert neo4j_store.generation() == before + 1
        chunks = neo4j_store.document_chunks(entry.document.id)
        assert [chunk.text for chunk in chunks] == texts
        assert len(neo4j_store.mention_rows()) == 2 * len(texts)
        assert len(neo4j_store.chunk_times([chunk.id for chunk in chunks])) == len(texts)

    def test_a_new_document_takes_few_round_trips(
        self, neo4j_store: Neo4jStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        names = {f"Person {number}x": "person" for number in range(8)}
        relations = [("Person 1x", "met", "Person 2x"), ("Person 3x", "knows", "Person 4x")]
        for number in range(3):
            text = f"{number}: {', '.join(names)}."
            entry = make_entry(f"document {number}", text, names=names, relations=relations)
            # A lock, what there is, what comes; beginning and commit go with them.
            assert queries_of(caplog, neo4j_store, entry) == 3
        changed = make_entry("document 0", "Person 1x met Ann.", names=[*names, "Ann"])
        assert queries_of(caplog, neo4j_store, changed) <= 12

    def test_texts_that_cannot_be_looked_up_are_refused(self, neo4j_store: Neo4jStore) -> None:
        long = "N" * 9000
        for entry in (make_entry(long, "Text."), make_entry("a", long, names=[long])):
            with pytest.raises(InputError, match="9000 bytes long; expected names and sources"):
                neo4j_store.save(entry)
        assert neo4j_store.documents() == []

    def test_vectors_of_another_embedder_are_refused(
        self, neo4j_store: Neo4jStore, neo4j_place: Place
    ) -> None:
        neo4j_store.save(make_entry("a", "One."))
        with neo4j_place.database() as database:
            query = "MATCH (s:ClewStore {namespace: $namespace}) SET s.dimension = 9"
            database.write(lambda: database.rows(query))
            with pytest.raises(
                StoreMismatchError, match="9 dimensions by now, those of 'a' have 8"
            ):
                neo4j_store.save(make_entry("a", "Two."))
            database.write(lambda: database.rows(query.replace("= 9", "= 8")))
        assert [c.text for c in neo4j_store.chunks([1])] == ["One."]

    def test_filters_see_what_others_commit(
        self, neo4j_store: Neo4jStore, neo4j_place: Place, tmp_path: Path
    ) -> None:
        where = [Condition(name="year", operator="=", value="2020")]
        neo4j_store.save(make_entry("a", "One.", metadata={"year": 2020}))
        assert neo4j_store.matching_chunks(where).tolist() == [1]
        with neo4j_place.store(tmp_path) as other:
            other.save(make_entry("b", "Two.", metadata={"year": 2020}))
            other.save(make_entry("a", "Three.", metadata={"year": 2021}))
        assert neo4j_store.matching_chunks(where).tolist() == [2]
        with neo4j_store.batch():
            neo4j_store.delete([make_entry("b").document.id])
            assert neo4j_store.matching_chunks(where).tolist() == []


# --- namespaces --------------------------------------------------------------------------


@pytest.fixture
def two_stores(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path: Path
) -> Iterator[tuple[Neo4jStore, Neo4jStore]]:
    with (
        new_place(neo4j_address, neo4j_settings) as one,
        new_place(neo4j_address, neo4j_settings) as other,
        one.store(tmp_path / "one") as first,
        other.store(tmp_path / "other") as second,
    ):
        yield first, second


def test_namespaces_never_meet(two_stores: tuple[Neo4jStore, Neo4jStore]) -> None:
    first, second = two_stores
    dated = datetime(2020, 1, 1, tzinfo=UTC)
    entry = make_entry(
        "a",
        "Ann lives in Ulm since 1999.",
        names={"Ann": "person", "Ulm": "place", "1999": "date"},
        relations=[("Ann", "lives_in", "Ulm")],
        created_at=dated,
        metadata={"year": 2020},
    )

    def state() -> object:
        return shown(first), first.aliases(), first.relation_rows().ids.tolist(), first.usage([1])

    for store in (first, second):
        store.save(entry)
    before = state()
    second.record_use([1], dated)
    linked = make_entry("b", "Anna, Ann.", names=["Anna", "Ann"], links=[make_link("Ann", "Anna")])
    second.save(linked)
    second.save(make_entry("a", "Bea lives in Ulm.", names=["Bea", "Ulm"]))
    second.delete([linked.document.id, entry.document.id])
    assert state() == before
    assert second.aliases() == []
    assert second.check().problems == first.check().problems == ()


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ("{name: 'clew', version: 14}", "version 14 of an earlier layout, "),
        ("{name: 'store', version: 2}", "version 2, "),
    ],
)
def test_another_schema_is_refused(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path: Path, node: str, found: str
) -> None:
    with new_place(neo4j_address, neo4j_settings) as place, place.database() as database:
        with place.store(tmp_path):
            pass
        database.define(f"MERGE (s:ClewSchema {{name: 'store'}}) SET s = {node}")
        try:
            with (
                pytest.raises(StoreMismatchError, match=found),
                place.store(tmp_path),
            ):
                pass
        finally:
            database.define("MATCH (s:ClewSchema) SET s = {name: 'store', version: 1}")


_EMPTY = "MATCH (n) WHERE n.namespace = $namespace AND NOT n:ClewStore DETACH DELETE n"


@pytest.fixture(scope="module")
def shared_store(
    neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Neo4jStore]:
    """One for all examples, since making a store's indexes takes longer than a whole example."""
    folder = tmp_path_factory.mktemp("neo4j")
    with new_place(neo4j_address, neo4j_settings) as place, place.store(folder) as store:
        yield store


@given(steps=any_steps)
@settings(max_examples=3)
def test_any_steps_show_what_they_show_in_sqlite(
    shared_store: Neo4jStore, tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    database, folder = shared_store.database, tmp_path_factory.mktemp("sqlite")
    database.write(lambda: database.rows(_EMPTY))
    model = SqliteStore(folder, embedder=EMBEDDER, functional=FUNCTIONAL)
    try:
        for step in [*first_steps, *steps]:
            assert take(shared_store, step) == take(model, step)
            assert seen(shared_store) == seen(model)
        assert shared_store.check().problems == model.check().problems == ()
    finally:
        model.close()


# --- What a model found in passages is added and taken back on a server as in a file.


class TestBoth(OnNeo4j):
    """What is done in a file and on a server leaves the same in both."""

    @pytest.fixture
    def here(self, tmp_path: Path) -> Iterator[SqliteStore]:
        with closing(SqliteStore(tmp_path / "file", embedder=EMBEDDER)) as here:
            yield here

    def test_what_was_found_in_passages(self, store: Neo4jStore, here: SqliteStore) -> None:
        assert steps(here) == steps(store)

    def test_what_was_described(self, store: Neo4jStore, here: SqliteStore) -> None:
        assert described(here) == described(store)

    def test_what_models_were_asked(self, store: Neo4jStore, here: SqliteStore) -> None:
        assert replies_steps(here) == replies_steps(store)


def fill(store: Neo4jStore | SqliteStore) -> None:
    for source, text in (("a", "Anna met the smith."), ("b", "Anna met the smith again.")):
        relations = [("Anna", "met", "smith")]
        store.save(make_entry(source, text, names=["Anna"], relations=relations))


def described(store: Neo4jStore | SqliteStore) -> list[object]:
    """What is shown of things that were described, before and after a document is deleted."""
    fill(store)
    communities, log = Communities(store.backend), Descriptions(store.backend)
    assert communities.write(make_changes())
    ids = [document.id for document in store.documents()]
    (entity,) = store.find_entities("Anna", 1)
    topic = communities.topics()[0]
    theme = topic.theme_phrase
    keys = f"document:{ids[0]}", f"entity:{entity.id}", f"topic:{topic.id}", f"theme:{theme}"
    made = [
        StoredDescription(
            key=key,
            name=f"name of {key}",
            title=f"Title {key}",
            text=f"Said of “{key}” [1].",
            sources=(f"{ids[0]}#0",),
            documents=(document,),
            basis="b",
            reason="malformed" if key.startswith("entity") else "",
        )
        for key, document in zip((*keys, "community:3"), (*ids[:1] * 3, *ids[1:2] * 2), strict=True)
    ]
    log.describe(made)
    log.describe(made[:2])

    def shown() -> list[object]:
        kinds = log.descriptions("entity", "topic", "theme", "community", "document", "part")
        return [
            dict(sorted(kinds.items())),
            [document.summary for document in store.documents()],
            [one.description for one in store.find_entities("Anna", 1)],
            communities.topics(),
            communities.communities(),
        ]

    found = shown()
    assert store.check().problems == ()
    store.delete([ids[0]])
    found += shown()
    log.forget(["community:3", "unknown"])
    return found + shown()


def steps(store: Neo4jStore | SqliteStore) -> list[object]:
    fill(store)
    (chunk,), (other,) = chunk_ids_of(store, "a"), chunk_ids_of(store, "b")
    log, before = Enrichments(store.backend), content(store)
    found = reading(("Anna", "met", "smith"), ("the smith", "greeted", "Anna"))
    smith = NewEntity(name="the smith", entity_type="person")
    new = log.record_extraction({chunk: found}, [smith])
    log.fail("extract", {other: "malformed"})
    seen = [new, log.done("extract"), _shown(content(store))]
    log.undo_extraction([chunk, other])
    after = content(store)
    assert after == before
    assert store.check().problems == ()
    return [*seen, log.done("extract"), _shown(after), *_situated(store, log)]


def _situated(store: Neo4jStore | SqliteStore, log: Enrichments) -> list[object]:
    """A passage is given a context and loses it again; its mentions and relations stay with it."""
    (chunk,) = chunk_ids_of(store, "a")
    vector = np.eye(1, EMBEDDER[1], dtype=np.float32)
    log.record_contexts({chunk: "A tale of a smithy.", 999: "gone"}, np.repeat(vector, 2, axis=0))
    (new,) = chunk_ids_of(store, "a")
    ids, vectors = store.embeddings()
    found = [
        new > chunk,
        store.chunks([new])[0].context,
        store.search_keywords(["smithi"], 10)[0].tolist() == [new],
        log.done("context"),
        len(store.chunk_relations([new])),
        len(store.mention_rows()),
        vectors[ids.tolist().index(new)].tolist() == vector[0].tolist(),
        store.check().problems,
    ]
    log.undo_contexts([new])
    (last,) = chunk_ids_of(store, "a")
    store.save(make_entry("c", "Bo came.", names=["Bo"]))
    assert store.check().problems == ()
    return [*found, store.chunks([last])[0].context, last > new, log.done("context")]


def _shown(found: list[object]) -> list[str]:
    """Without the moments, which differ."""
    return [repr(found[:2])] + [
        f"{r.from_entity_id} {r.relation_type} {r.to_entity_id} {r.weight} {r.extractor}"
        for r in found[2]  # type: ignore[attr-defined]
    ]


# --- What language models were asked, kept on a server as in a file.


ENTRY = LoggedReply(
    key="a",
    task="extract",
    model="small",
    subject="d1#0",
    documents=("d1",),
    reason="",
    reply='{"text": "yes"}',
    characters=40,
    usage=Usage(input_tokens=12, cached_tokens=8, output_tokens=5),
    cost=0.25,
    seconds=1.5,
    at="2026-01-02T03:04:05+00:00",
)


def replies_steps(store: Neo4jStore | SqliteStore) -> list[object]:
    """All that can be asked of the log, and what comes back."""
    store.save(make_entry("diary", "Ada kept bees."))
    replies, generation = Replies(store.backend), store.generation()
    (document,) = store.documents()
    replies.record(ENTRY)
    replies.record(replace(ENTRY, key="b", reason="empty", reply="", cost=None))
    replies.record(replace(ENTRY, key="c", documents=(document.id,), at="2026-01-03T00:00:00"))
    seen: list[object] = [replies.find(key, counted=key != "a") for key in "abx"]
    seen += [replies.find("a", counted=True), replies.entries(), store.generation() - generation]
    replies.record(replace(ENTRY, key="b"))
    seen.append(replies.find("b", counted=False))
    store.delete([document.id])
    seen += [[entry.key for entry in replies.entries()], replies.clear(), replies.entries()]
    assert seen[3] == ENTRY
    assert seen[-3:] == [["a", "b"], 2, []]
    return seen


# --- The store on Neo4j read in one look, and with its vectors in Qdrant.


class TestNamespaces(OnNeo4j):
    def test_a_namespace_is_not_made_by_asking_whether_there_is_one(
        self, neo4j_place: Place, tmp_path: Path
    ) -> None:
        login = {**neo4j_place.settings.model_dump(), "local": tmp_path}
        with neo4j_place.store(tmp_path):
            for namespace, made in (
                ("never", False),
                ("never", False),
                (neo4j_place.namespace, True),
            ):
                wanted = load_settings(store=neo4j_place.address, namespace=namespace, neo4j=login)
                assert store_exists(wanted) == made

    def test_a_namespace_is_copied_renamed_and_deleted_with_its_indexes(
        self, neo4j_address: str, neo4j_settings: Neo4jSettings, tmp_path: Path
    ) -> None:
        login = {**neo4j_settings.model_dump(), "local": tmp_path}
        embedder = HashEmbedder(8)
        with (
            new_place(neo4j_address, neo4j_settings) as one,
            new_place(neo4j_address, neo4j_settings) as other,
            new_place(neo4j_address, neo4j_settings) as third,
        ):
            wanted = load_settings(store=neo4j_address, namespace=one.namespace, neo4j=login)
            with clew.open(settings=wanted, embedder=embedder) as store:
                with store.namespaces.open(other.namespace) as beside:
                    beside.add("Anna keeps bees.", source="bees")
                store.namespaces.rename(other.namespace, third.namespace)
                assert other.namespace not in store.namespaces
                assert {one.namespace, third.namespace} <= set(store.namespaces)
                with store.namespaces.open(third.namespace) as beside:
                    assert beside.text("bees") == "Anna keeps bees."
                store.namespaces.delete(third.namespace)
                assert third.namespace not in store.namespaces
            with third.database() as database:
                everything = "MATCH (n {namespace: $namespace}) RETURN count(n)"
                assert database.value(everything) == 0
                own = "SHOW INDEXES YIELD name WHERE name ENDS WITH $namespace RETURN name"
                assert database.rows(own) == []
