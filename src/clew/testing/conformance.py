"""What stores and indexes must do, as test classes: derive from each, and give it your store.

    class TestMyDocuments(DocumentStoreSuite):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path, embedder=EMBEDDER, functional=FUNCTIONAL)

Each test says one thing that `clew.ports` promises, checked against plain Python.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from clew.errors import InputError, StoreError
from clew.ports import VectorIndex
from clew.stores.store import Store
from clew.text import entity_key, question_terms, sentences, terms
from clew.types import (
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Condition,
    Document,
    Entity,
    ExtractedRelation,
    Extraction,
    IndexedDocument,
    Mention,
    Metadata,
    Section,
    Split,
    Vector,
)

# Small documents, ready to save, for tests of stores.


DIMENSION = 8
EMBEDDER = ("test-embedder", DIMENSION)
"""The embedder that `make_entry` pretends to use."""
FUNCTIONAL = ("lives_in", "works_at")
"""The relation types that stores under test treat as functional."""


def make_entry(
    source: str,
    *paragraphs: str,
    title: str = "",
    names: Mapping[str, str] | Sequence[str] = (),
    about: Sequence[tuple[str, str]] = (),
    relations: Sequence[tuple[str, str, str]] = (),
    links: Sequence[AliasEvidence] = (),
    metadata: Metadata | None = None,
    chunk_metadata: Sequence[Metadata] = (),
    origin: str = "",
    created_at: datetime | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> IndexedDocument:
    """A document of one section and one chunk a paragraph.

    Args:
        source: Its identity.
        paragraphs: Its text; they are joined by empty lines.
        title: Its title, which is every chunk's context.
        names: Names that are mentioned wherever a sentence holds them; types by name, if given.
        about: (name, type) of what it is about.
        relations: (head, type, tail), said by every sentence that holds both names.
        links: What a linker would have found.
        metadata: The document's.
        chunk_metadata: The chunks' own, in order; chunks beyond have none.
        origin: What it was read from.
        created_at: When it was written.
        valid_from: From when on its relations hold.
        valid_until: Until when they do.
    """
    typed = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "name")
    parts = [p + "\n\n" for p in paragraphs[:-1]] + list(paragraphs[-1:])
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    own = [*chunk_metadata, *[{}] * (len(parts) - len(chunk_metadata))]
    stated = [
        ExtractedRelation(
            head=head,
            tail=tail,
            relation_type=kind,
            sentence=0,
            confidence=0.8,
            valid_from=valid_from,
            valid_until=valid_until,
        )
        for head, kind, tail in relations
    ]
    return IndexedDocument(
        document=Document(
            source=source,
            text="".join(parts),
            title=title,
            sha256=hashlib.sha256("".join(parts).encode()).hexdigest(),
            origin=origin,
            created_at=created_at,
            metadata=metadata or {},
        ),
        split=Split(
            sections=tuple(
                Section(ordinal=i, start=at, end=at + len(part))
                for i, (at, part) in enumerate(zip(starts, parts, strict=True))
            ),
            chunks=tuple(
                Chunk(
                    ordinal=i,
                    section=i,
                    start=at,
                    end=at + len(text),
                    text=text,
                    context=title,
                    metadata=own[i],
                )
                for i, (at, text) in enumerate(zip(starts, paragraphs, strict=True))
            ),
        ),
        vectors=np.array([make_vector(text) for text in paragraphs], np.float32).reshape(
            -1, DIMENSION
        ),
        extraction=Extraction(
            chunks=tuple(_extraction(text, typed, stated) for text in paragraphs),
            about=tuple(about),
        ),
        links=tuple(links),
    )


def make_link(alias: str, name: str) -> AliasEvidence:
    """Evidence that `alias` is short for `name`."""
    return AliasEvidence(
        alias=alias, name=name, method="acronym", score=0.9, evidence=f"{name} ({alias})"
    )


def make_vector(text: str, dimension: int = DIMENSION) -> Vector:
    """(dimension,) unit vector that only the text decides."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    vector = np.random.default_rng(seed).standard_normal(dimension)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _extraction(
    text: str, names: Mapping[str, str], relations: Sequence[ExtractedRelation]
) -> ChunkExtraction:
    ranges = sentences(text)
    mentions: list[Mention] = []
    found: list[ExtractedRelation] = []
    for ordinal, (start, end) in enumerate(ranges):
        mentions += [
            Mention(
                name=name,
                entity_type=entity_type,
                sentence=ordinal,
                start=text.index(name, start),
                end=text.index(name, start) + len(name),
                count=text.count(name, start, end),
            )
            for name, entity_type in names.items()
            if name in text[start:end]
        ]
        found += [
            replace(relation, sentence=ordinal)
            for relation in relations
            if relation.head in text[start:end] and relation.tail in text[start:end]
        ]
    return ChunkExtraction(
        sentences=tuple(ranges), mentions=tuple(mentions), relations=tuple(found)
    )


# ruff: noqa: D102 - tests are read by their names


# What the suites share.


RIVERS = ("The Danube passes Vienna. Vienna likes it.", "The Rhine passes Basel.")


class StoreSuite:
    """The root of every suite: it wants a store."""

    @pytest.fixture
    def store(self) -> Store:
        """An empty store, to be overridden.

        It is opened with `EMBEDDER` and `FUNCTIONAL` of `clew.testing.conformance`.
        """
        raise NotImplementedError


def moment_between() -> datetime:
    """A moment that is after all that was done and before all that will be."""
    moment = datetime.now(UTC)
    while datetime.now(UTC) <= moment:
        time.sleep(0.0001)
    return moment


def chunk_ids_of(store: Store, source: str) -> list[int]:
    """Ids of a document's chunks, in order; none for an unknown source."""
    found = [document.id for document in store.documents() if document.source == source]
    return [chunk.id for chunk in store.document_chunks(found[0])] if found else []


def entity_of(store: Store, name: str) -> Entity:
    """The entity that has the name as an alias."""
    (entity,) = store.entities([store.resolve([entity_key(name)])[entity_key(name)]])
    return entity


# What a store of documents must do.


_TASK = Condition(name="entity_type", operator="=", value="task")


class DocumentStoreSuite(StoreSuite):
    """Documents as wholes."""

    def test_what_is_saved_comes_back_equal(self, store: Store) -> None:
        entry = make_entry("a", *RIVERS, title="Rivers", metadata={"year": 2020}, origin="o")
        store.save(entry)
        (info,) = store.documents()
        for name in ("id", "source", "origin", "title", "metadata", "sha256"):
            assert getattr(info, name) == getattr(entry.document, name), name
        assert (info.characters, info.sections, info.chunks) == (len(entry.document.text), 2, 2)
        for stored, chunk in zip(store.document_chunks(info.id), entry.split.chunks, strict=True):
            for name in ("text", "context", "start", "end"):
                assert getattr(stored, name) == getattr(chunk, name), name
        assert "".join(s.text for s in store.document_sections(info.id)) == entry.document.text

    def test_documents_are_found_by_the_keys_of_title_and_file(self, store: Store) -> None:
        store.save(make_entry("docs/rfc-0077.txt", *RIVERS, title="Rivers of Europe"))
        store.save(make_entry("more/RFC77.md", "Other."))
        store.save(make_entry("more/RFC777.md", "Another.", title="RFC 78"))

        def found(*keys: str) -> list[str]:
            return [one.source for one in store.named_documents(list(keys))]

        assert found("rfc 77", "rfc 77", "", "rfc") == ["docs/rfc-0077.txt", "more/RFC77.md"]
        assert found("rivers of europe") == ["docs/rfc-0077.txt"]
        (named,) = store.named_documents(["rfc 78"])
        assert (named.source, named.title_key, named.file_key) == (
            "more/RFC777.md",
            "rfc 78",
            "rfc 777",
        )
        assert list(named.chunk_ids) == chunk_ids_of(store, named.source)
        store.delete([make_entry("docs/rfc-0077.txt").document.id])
        assert found("rfc 77", "rivers of europe") == ["more/RFC77.md"]

    def test_documents_are_found_by_what_they_describe_and_when_it_holds(
        self, store: Store
    ) -> None:
        times = {"week": ("2024-05-13", "2024-05-18"), "hour": ("2024-05-14T09:00:00+00:00", "")}
        for source, (start, last) in times.items():
            event = {"entity_type": "event", "start": start, **({"last": last} if last else {})}
            store.save(make_entry(source, "Met.", metadata=event))
        store.save(make_entry("card", "Ada.", metadata={"entity_type": "person"}))
        store.save(make_entry("plain", "Met.", metadata={"start": "2024-05-14"}))

        def found(*asked: str) -> list[str]:
            return [one.source for one in store.described(*asked)]

        for asked, expected in (
            (["event"], ["hour", "week"]),
            (["event", "2024-05-14", "2024-05-15"], ["hour", "week"]),
            (["event", "2024-05-15", "2024-05-16"], ["week"]),
            (["event", "2024-05-12", "2024-05-13"], []),
            (["event", "2024-05-19"], []),
            (["person"], ["card"]),
            (["place"], []),
        ):
            assert found(*asked) == expected, asked
        store.save(make_entry("week", "Met.", metadata={"entity_type": "task"}))
        assert (found("event"), found("task")) == (["hour"], ["week"])
        assert store.described("task")[0] == store.documents(where=[_TASK])[0]

    def test_ids_are_answered_in_the_order_asked_and_unknown_ones_left_out(
        self, store: Store
    ) -> None:
        store.save(make_entry("a", *RIVERS))
        first, second = chunk_ids_of(store, "a")
        assert [c.id for c in store.chunks([second, 999_999, first])] == [second, first]
        sections = [c.section_id for c in store.chunks([second, first])]
        assert [s.id for s in store.sections([sections[0], 999_999, sections[1]])] == sections

    def test_saving_again_replaces_the_former_version(self, store: Store) -> None:
        store.save(make_entry("a", *RIVERS, names=["Danube", "Vienna"]))
        old = chunk_ids_of(store, "a")
        store.save(make_entry("a", "The Seine passes Paris.", names=["Paris"]))
        assert [d.source for d in store.documents()] == ["a"]
        assert store.chunks(old) == []
        assert set(old).isdisjoint(chunk_ids_of(store, "a"))
        assert set(store.resolve(["danube", "vienna", "paris"])) == {"paris"}

    def test_deleting_leaves_nothing_without_a_source(self, store: Store) -> None:
        relations = [("Danube", "passes", "Vienna")]
        store.save(make_entry("a", *RIVERS, names=["Danube", "Vienna"], relations=relations))
        store.save(make_entry("b", "Vienna is a city.", names=["Vienna"]))
        ids = {d.source: d.id for d in store.documents()}
        assert store.delete([ids["a"], "unknown"]) == 1
        assert set(store.resolve(["danube", "vienna"])) == {"vienna"}
        assert store.relations([entity_of(store, "Vienna").id]) == []
        assert store.search_keywords(terms("Danube"), 10)[0].tolist() == []
        assert store.chunk_ids().tolist() == chunk_ids_of(store, "b")
        assert store.delete([ids["b"]]) == 1
        assert store.aliases() == []
        assert len(store.mention_rows()) == len(store.embeddings()[0]) == 0

    def test_what_was_deleted_since_is_known(self, store: Store) -> None:
        store.save(make_entry("a", *RIVERS))
        store.save(make_entry("b", "One.", "Two."))
        first, second = (set(chunk_ids_of(store, source)) for source in "ab")
        moments = {store.generation(): first | second}
        store.delete([make_entry("a").document.id, "unknown"])
        moments[store.generation()] = second
        store.save(make_entry("b", "Three."))  # in place of what it said
        for since, gone in moments.items():
            found = store.deleted_since(since)
            assert found is not None
            assert found.tolist() == sorted(found.tolist())
            assert gone <= set(found.tolist()) - set(store.chunk_ids().tolist())
        assert store.deleted_since(-1) is None

    def test_documents_are_asked_by_id_origin_and_metadata_and_ordered_by_source(
        self, store: Store
    ) -> None:
        for source, origin, year in [("b", "x", 1), ("a", "x", 2), ("c", "y", 3)]:
            store.save(make_entry(source, "Text.", origin=origin, metadata={"year": year}))
        ids = {d.source: d.id for d in store.documents()}
        assert list(ids) == ["a", "b", "c"]
        assert [d.source for d in store.documents(ids=[ids["c"], ids["b"]])] == ["b", "c"]
        assert [d.source for d in store.documents(origin="x")] == ["a", "b"]
        where = [Condition(name="year", operator=">", value="1")]
        assert [d.source for d in store.documents(origin="x", where=where)] == ["a"]

    @pytest.mark.parametrize(
        ("name", "operator", "value", "expected"),
        [
            ("year", "=", "2020", {"a"}),
            ("year", "!=", "2020", {"b"}),
            ("year", ">=", "20", {"a", "b"}),
            ("year", "<", 2020.5, {"a", "b"}),
            ("year", "<", 2019, {"b"}),
            ("day", ">", "2024-01-31T12:00:00+01:00", {"a"}),
            ("day", "<=", "2024-02-01", {"a"}),
            ("author", "=", "Ann", {"a", "b"}),
            ("author", "=", "Bo", {"a"}),
            ("author", "=", "Ann, Bo", set()),
            ("draft", "=", "true", {"b"}),
            ("null", "!=", "x", set()),
            ("title", "=", "First", {"a"}),
            ("title", "=", "front matter", {"b"}),  # a column goes before metadata
            ("source", "!=", "a", {"b"}),
            ("with \"quotes' and ]", "=", "yes", {"a"}),
            ("source", "~", "A", {"a"}),
            ("author", "~", "b*", {"a"}),
            ("author", "!~", "b*", {"b"}),
            ("path", "=", "notes/a.md", {"a"}),
            ("path", "~", "notes/", {"a", "b"}),
            ("path", "~", "*.md", {"a"}),
            ("path", "!~", "*.md", {"b"}),
            ("type", "=", "markdown", {"a"}),
            ("type", "=", "md", {"a"}),
            ("type", "!=", "md", {"b"}),
            ("type", "~", "text/*", {"a", "b"}),
            ("date", ">=", "2019-03", {"a"}),
            ("date", "=", "2019-03-02", {"a"}),
            ("created_at", "=", "2019", {"a"}),
            ("created_at", "<", "2019", set()),
        ],
    )
    def test_conditions(
        self, store: Store, name: str, operator: str, value: str | float, expected: set[str]
    ) -> None:
        first = {"year": 2020, "day": "2024-02-01", "author": ["Ann", "Bo"], "null": None}
        first |= {"with \"quotes' and ]": "yes", "title": "front matter"}
        second = {"year": "99", "author": "Ann", "draft": True, "title": "front matter"}
        marked = make_entry("a", "One.", title="First", metadata=first, origin="/my/notes/a.md")
        march = replace(
            marked.document,
            media_type="text/markdown",
            created_at=datetime(2019, 3, 1, tzinfo=UTC),
            date_precision="month",
        )
        store.save(replace(marked, document=march))
        store.save(make_entry("b", "Two.", metadata=second, origin="/my/notes/b.txt"))
        where = [Condition(name=name, operator=operator, value=value)]  # type: ignore[arg-type]
        found = store.matching_chunks(where)
        assert {c.source for c in store.chunks(found.tolist())} == expected
        assert found.tolist() == sorted(found.tolist())
        assert {d.source for d in store.documents(where=where)} == expected

    @pytest.mark.parametrize("name", ["yearr", "nothing", "year' OR 1=1 --"])
    def test_a_field_that_no_document_has_finds_nothing_and_is_named(
        self, store: Store, name: str
    ) -> None:
        where = [Condition(name, "!=", "x")]
        assert store.matching_chunks(where).tolist() == store.documents(where=where) == []
        own = [{"speaker": "Bo"}]
        store.save(make_entry("a", "One.", metadata={"year": 2020}, chunk_metadata=own))
        assert store.matching_chunks(where).tolist() == store.documents(where=where) == []
        (note,) = store.unknown_fields([*where, Condition("year", "=", 1999)])
        assert f"no document has the field {name!r}" in note
        near = name == "yearr"
        assert ("did you mean 'year'?" in note) is near
        assert ("speaker, title, type, updated_at, year" in note) is not near
        assert store.unknown_fields([Condition("speaker", "is null")]) == []
        year = Condition("year", "=", 1999)
        assert store.matching_chunks([year]).tolist() == store.documents(where=[year]) == []

    def test_a_chunks_own_metadata_goes_before_its_documents(self, store: Store) -> None:
        own = [{"speaker": "Bo"}, {}]
        store.save(make_entry("a", "One.", "Two.", metadata={"speaker": "Ann"}, chunk_metadata=own))
        first, second = chunk_ids_of(store, "a")
        bo, ann = (Condition(name="speaker", operator="=", value=name) for name in ("Bo", "Ann"))
        for where, expected in (
            ([bo], [first]),
            ([ann], [second]),
            ([ann, bo], []),
            ([], [first, second]),
        ):
            assert store.matching_chunks(where).tolist() == expected
        assert [c.metadata["speaker"] for c in store.chunks([first, second])] == ["Bo", "Ann"]

    def test_an_empty_store_answers_with_nothing(self, store: Store) -> None:
        found = [store.documents(), store.chunks([1]), store.sections([1])]
        assert [*found, store.document_chunks("x"), store.document_sections("x")] == [[]] * 5
        assert (store.matching_chunks([]).tolist(), store.delete(["x"])) == ([], 0)

    def test_a_failed_save_changes_nothing(self, store: Store) -> None:
        store.save(make_entry("a", "One.", metadata={"n": 1}))
        before = store.generation()
        with pytest.raises(InputError, match="metadata of 'a' is no JSON"):
            store.save(make_entry("a", "Two.", metadata={"n": object()}))
        assert [c.text for c in store.chunks(chunk_ids_of(store, "a"))] == ["One."]
        assert store.generation() == before


# What the keyword and the vector index must find.


class KeywordIndexSuite(StoreSuite):
    """`ports.KeywordIndex`."""

    @pytest.mark.parametrize(
        ("text", "question"),
        [
            ("Река Волга впадает в Каспийское море.", "волги"),
            ("Η Αθήνα είναι πρωτεύουσα.", "ΑΘΗΝΑ"),  # noqa: RUF001
            ("القاهرة عاصمة مصر.", "القاهرة"),
            ("北京是中国的首都。", "首都"),
            ("東京タワーは港区にある。", "タワー"),
            ("서울은 한국의 수도이다.", "서울은"),
            ("मुंबई भारत में है।", "भारत"),
            ("กรุงเทพเป็นเมืองหลวง", "เมืองหลวง"),
            ("Im Jahr 1683 in Łódź.", "1683 łódź"),
            ("def parse_file_name(x): ...", "parse_file_name"),
        ],
    )
    def test_every_script_is_found(self, store: Store, text: str, question: str) -> None:
        store.save(make_entry("other", "Nothing of the kind."))
        store.save(make_entry("a", text))
        assert store.search_keywords(terms(question), 10)[0].tolist() == chunk_ids_of(store, "a")

    @pytest.mark.parametrize(
        ("language", "text", "questions"),
        [
            ("de", "Die Häuser der Städte.", ("Haus", "wo steht das Hauses", "STADT Häuser")),
            ("fr", "L'installation des paquets est terminée.", ("installations", "quel paquet")),
            ("es", "Las canciones de la región.", ("canción", "regiones")),
            ("it", "Gli alberi dell'isola.", ("albero", "quali isole")),
            ("ru", "Книги лежат на столах.", ("книга", "стола")),
            ("sv", "Hundarna sover i husen.", ("hund", "vilka hus")),
            ("", "The houses of towns.", ("house", "a town")),
        ],
    )
    def test_words_are_found_across_the_inflection_of_their_language(
        self, store: Store, language: str, text: str, questions: tuple[str, ...]
    ) -> None:
        for name, code, words in (("en", "en", "Nothing of it."), ("a", language, text)):
            entry = make_entry(name, words)
            store.save(replace(entry, document=replace(entry.document, language=code)))
        assert store.languages() == {"en", language} - {""}
        for question in questions:
            found, _ = store.search_keywords(question_terms(question, store.languages()), 10)
            assert found.tolist() == chunk_ids_of(store, "a"), question
        assert store.check().problems == ()
        where = [Condition(name="language", operator="=", value=language or "unknown")]
        assert store.matching_chunks(where).tolist() == chunk_ids_of(store, "a")

    def test_only_holders_of_a_term_are_found_and_context_counts(self, store: Store) -> None:
        store.save(make_entry("a", "A quiet town.", title="Basel"))
        store.save(make_entry("b", "Nothing."))
        ids, scores = store.search_keywords(terms("Basel quiet unheard"), 10)
        assert (ids.tolist(), scores[0] > 0) == (chunk_ids_of(store, "a"), True)

    def test_rare_terms_weigh_more_and_repeated_ones_too(self, store: Store) -> None:
        for i in range(6):
            store.save(make_entry(f"common {i}", "alpha beta gamma"))
        store.save(make_entry("rare", "alpha beta delta"))
        store.save(make_entry("twice", "alpha delta delta"))
        ids, scores = store.search_keywords(terms("alpha delta"), 3)
        assert ids.tolist()[:2] == chunk_ids_of(store, "twice") + chunk_ids_of(store, "rare")
        assert (np.diff(scores) <= 0).all()
        assert len(ids) == 3

    def test_ties_go_to_the_smaller_id_and_repeats_of_a_question_change_nothing(
        self, store: Store
    ) -> None:
        for i in range(5):
            store.save(make_entry(f"{i}", "twin words"))
        ids, _ = store.search_keywords(["twin"], 3)
        assert ids.tolist() == store.chunk_ids().tolist()[:3]
        once, twice = (store.search_keywords(["twin"] * n, 5)[1].tolist() for n in (1, 2))
        assert once == twice

    def test_several_words_of_a_term_must_stand_in_a_row(self, store: Store) -> None:
        for source, text in (("a", "alpha beta gamma"), ("b", "beta alpha gamma")):
            store.save(make_entry(source, text))
        for phrase, source in (("alpha beta", "a"), ("alpha gamma", "b"), ("gamma alpha", "")):
            found, _ = store.search_keywords([phrase], 5)
            assert found.tolist() == chunk_ids_of(store, source), phrase

    def test_allowed_restricts_the_search_itself(self, store: Store) -> None:
        for i in range(5):
            store.save(make_entry(f"{i}", "word " * (6 - i)))
        last = store.chunk_ids()[-1:]
        assert store.search_keywords(["word"], 1, last)[0].tolist() == last.tolist()
        assert store.search_keywords(["word"], 1, last[:0])[0].tolist() == []

    @pytest.mark.parametrize("words", [[], ['"', 'a" OR b'], ["AND", "NOT *"]])
    def test_no_terms_and_odd_ones_find_nothing(self, store: Store, words: list[str]) -> None:
        store.save(make_entry("a", "Some text."))
        ids, scores = store.search_keywords(words, 10)
        assert (ids.tolist(), scores.tolist()) == ([], [])
        assert ids.dtype == np.int64
        assert scores.dtype == np.float32


class VectorIndexSuite(StoreSuite):
    """`ports.VectorIndex`, over a store."""

    @pytest.fixture
    def index(self, store: Store) -> VectorIndex:
        """An index over `store`; to be overridden."""
        raise NotImplementedError

    @staticmethod
    def fill(store: Store, count: int) -> dict[int, Vector]:
        """Save documents of one chunk; embeddings by chunk id."""
        for i in range(count):
            store.save(make_entry(f"{i:03}", f"text {i}"))
        ids, vectors = store.embeddings()
        return dict(zip(ids.tolist(), vectors, strict=True))

    @staticmethod
    def brute_force(held: dict[int, Vector], query: Vector, limit: int) -> list[int]:
        """Ids by cosine, computed one by one in float64."""
        cosine = {i: float(np.dot(v.astype(float), query.astype(float))) for i, v in held.items()}
        return sorted(cosine, key=lambda i: (-cosine[i], i))[:limit]

    @pytest.mark.parametrize("every", [1, 7])
    def test_agrees_with_a_scan_of_200_vectors(
        self, store: Store, index: VectorIndex, every: int
    ) -> None:
        """Of all of them, and of those that are allowed."""
        held = self.fill(store, 200)
        among = {id_: held[id_] for id_ in sorted(held)[::every]}
        allowed = None if every == 1 else np.array(list(among), dtype=np.int64)
        for text in ("one", "two", "three"):
            query = make_vector(text)
            ids, scores = index.search_vector(query, 20, allowed)
            assert ids.tolist() == self.brute_force(among, query, 20)
            assert scores == pytest.approx([held[i] @ query for i in ids.tolist()], abs=1e-6)
            assert scores.dtype == np.float32

    def test_sees_what_is_saved_and_deleted_later(self, store: Store, index: VectorIndex) -> None:
        self.fill(store, 20)
        query = make_vector("text 3")
        assert index.search_vector(query, 1)[0].tolist() == chunk_ids_of(store, "003")
        store.delete([d.id for d in store.documents() if d.source == "003"])
        store.save(make_entry("new", "something new"))
        ids, vectors = store.embeddings()
        held = dict(zip(ids.tolist(), vectors, strict=True))
        assert index.search_vector(query, 50)[0].tolist() == self.brute_force(held, query, 50)

    def test_ties_go_to_the_smaller_id(self, store: Store, index: VectorIndex) -> None:
        for i in range(7):
            store.save(make_entry(f"{i}", "one and the same"))
        ids, _ = index.search_vector(make_vector("q"), 4)
        assert ids.tolist() == store.chunk_ids().tolist()[:4]

    def test_where_nothing_is_stored_or_allowed_nothing_is_found(
        self, store: Store, index: VectorIndex
    ) -> None:
        for allowed in (None, store.chunk_ids()[:0]):
            ids, scores = index.search_vector(make_vector("q"), 5, allowed)
            assert (ids.tolist(), scores.tolist()) == ([], [])
            assert (ids.dtype, scores.dtype) == (np.dtype(np.int64), np.dtype(np.float32))
            self.fill(store, 3)

    def test_vectors_come_in_the_order_asked(self, store: Store, index: VectorIndex) -> None:
        held = self.fill(store, 10)
        wanted = sorted(held, reverse=True)[:4]
        expected = np.array([held[i] for i in wanted])
        assert index.vectors(wanted) == pytest.approx(expected, rel=0, abs=1e-6)
        with pytest.raises(StoreError, match="no embedding of the chunks"):
            index.vectors([wanted[0], 999_999])
