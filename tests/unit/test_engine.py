"""The engine: indexing, asking, changing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import clew
from clew.errors import InputError, NotFoundError
from clew.mcp.calls import Engines
from clew.operations.spec import Caller
from clew.operations.toolbox import OPERATIONS
from clew.search.pipeline import STRATEGIES
from clew.settings import Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import TERM, Document, NamedStrategy, Vectors

# --- The engine as a user of the library meets it, with a light embedder.


TOWER = (
    "# Tower of Vell\n\nThe Tower of Vell was finished in 1820. Ada Morn built its great clock.\n"
)
NOTES = {
    "tower.md": TOWER,
    "morn.md": "# Ada Morn\n\nAda Morn came from Lisse. She was an apprentice of Piet Oss.\n",
    "oss.md": "# Piet Oss\n\nPiet Oss kept a workshop by the canal for thirty years.\n",
}
QUESTION = "Whose apprentice built the clock of the Tower of Vell?"


class CountingEmbedder(HashEmbedder):
    """Remembers every text that it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
def engine(tmp_path: Path, embedder: CountingEmbedder) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=embedder) as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


# --- indexing


def test_what_cannot_be_read_is_reported_and_what_was_there_stays(
    engine: clew.Clew, folder: Path
) -> None:
    engine.index([folder])
    (folder / "morn.md").write_bytes(b"\x00\x01\x02" * 100)
    (folder / "empty.txt").write_text(" \n")
    report = engine.index([folder])
    assert {(Path(s.source).name, s.reason) for s in report.skipped} == {
        ("morn.md", "binary"),
        ("empty.txt", "empty"),
    }
    assert "apprentice of Piet Oss" in engine.documents.text("morn.md")


def test_a_store_is_a_collection_of_documents(engine: clew.Clew, folder: Path) -> None:
    assert not len(engine)
    assert engine, "an empty store is one"
    engine.index(str(folder))
    infos = list(engine)
    assert len(engine) == len(infos) == engine.count() == len(NOTES)
    assert infos == [engine.get(one.source) for one in infos]
    assert infos[0].id in engine
    assert "no such" not in engine
    found = engine.search(QUESTION)
    assert list(found) == list(found.hits)
    assert len(found) == len(found.to_dicts()) > 0
    assert [one["text"] for one in found.to_dicts()] == [hit.chunk.text for hit in found]
    for names, where in ((None, ()), ([infos[0].id], "draft = true")):
        with pytest.raises(InputError, match="one of the two"):
            engine.delete(names, where=where)
    engine.add("The bell cracked.", source="draft", metadata={"draft": True})
    assert engine.delete(where="draft = true") == 1
    assert list(engine) == infos
    listed = {"Clew", "open", "SearchResult"} | {"search", "index", "add", "delete", "ask"}
    assert listed <= {*dir(clew), *dir(clew.Clew)}


def test_a_record_that_vanished_from_its_file_is_dropped_where_that_is_wanted(
    engine: clew.Clew, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    records = [{"_id": f"r{n}", "text": f"Record number {n} of Ada Morn."} for n in range(3)]
    file.write_text("\n".join(map(json.dumps, records)))
    assert engine.index([file]).added == 3
    file.write_text("\n".join(map(json.dumps, records[:2])))
    for prune, gone in ((False, (f"{file}#r2",)), (True, ())):
        report = engine.index([file], prune=prune)
        assert (report.unchanged, report.pruned, report.gone) == (2, int(prune), gone)
    file.write_text(json.dumps(records[0]) + "\n{broken")
    report = engine.index([file], prune=True)
    assert (report.unchanged, report.pruned, len(report.skipped)) == (1, 0, 1)


# --- asking


def test_what_another_process_saves_and_deletes_is_seen(
    engine: clew.Clew, tmp_path: Path, folder: Path
) -> None:
    engine.index([folder])
    assert engine.search("Brida Kall").entities == ()
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as other:
        other.add("Brida Kall mended the clock of the Tower of Vell.", source="kall")
        other.delete([str(folder / "oss.md")])
    result = engine.search("Brida Kall")
    assert result.entities == ("Brida Kall",)
    assert result.hits[0].chunk.source == "kall"
    assert "Piet Oss" not in {hit.chunk.title for hit in result.hits}


def test_a_question_is_embedded_once_and_for_words_alone_never(
    engine: clew.Clew, folder: Path
) -> None:
    engine.index([folder])
    asked = [("keyword", 10), ("vector", 10), ("vector", 1)]
    steps = [
        engine.search("clock", strategy=NamedStrategy(s), limit=n).timings_ms.keys()
        for s, n in asked
    ]
    assert [{"embed", "embed_cache"} & step for step in steps] == [
        set(),
        {"embed"},
        {"embed_cache"},
    ]


# --- answers that are still known


def test_an_answer_is_known_until_the_store_changes(engine: clew.Clew, folder: Path) -> None:
    engine.index([folder])
    first, again = (engine.search(QUESTION) for _ in range(2))
    assert "cache" not in first.timings_ms
    assert again.timings_ms.keys() == {"cache"}
    assert (again.hits, again.context) == (first.hits, first.context)
    for options in ({"limit": 2}, {"strategy": "vector"}, {"as_of": "2020"}, {"temporal": False}):
        assert "cache" not in engine.search(QUESTION, **options).timings_ms
    engine.add("Ada Morn built bells, too.", source="bells")
    assert "cache" not in engine.search(QUESTION).timings_ms
    engine.delete(["bells"])
    assert "cache" not in engine.search(QUESTION).timings_ms


# --- usage

LIKE = [f"Ada Morn mended clock number {number}." for number in range(6)]


@pytest.mark.parametrize("weight", [0.0, 0.9])
def test_what_was_found_often_moves_up_where_usage_counts(tmp_path: Path, weight: float) -> None:
    settings = clew.load_settings(store=tmp_path, usage={"weight": weight})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        engine.add_documents([Document(source=f"n{n}", text=text) for n, text in enumerate(LIKE)])
        before = sources(engine, "Ada Morn mended a clock")
        for _ in range(9):
            engine.search("clock number 4", strategy="keyword", limit=1)
        after = sources(engine, "Ada Morn mended a clock")
        used = engine.store.usage(engine.store.chunk_ids().tolist())
    expected = ["n4", *(name for name in before if name != "n4")] if weight else before
    assert (sorted(after), after[0], bool(used)) == (sorted(before), expected[0], bool(weight))


def sources(engine: clew.Clew, question: str) -> list[str]:
    hits = engine.search(question, strategy="vector", limit=6).hits
    return [hit.chunk.source for hit in hits]


# --- time

DATED = {"2017-05-01": "old", "2019-05-01": "middle", "2021-05-01": "new"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"since": "2019"}, {"middle", "new"}),
        ({"since": "2019-05-02"}, {"new"}),
        ({"until": "2019"}, {"old", "middle"}),
        ({"until": datetime(2019, 5, 1, tzinfo=UTC)}, {"old"}),
        ({"until": date(2019, 5, 1)}, {"old", "middle"}),
        ({"since": "2018", "until": "2020"}, {"middle"}),
        ({"as_of": "2020"}, {"old", "middle"}),
        ({"as_of": "2020", "since": "2018"}, {"middle"}),
    ],
    ids=lambda value: None if isinstance(value, set) else str(value),
)
def test_times_given_by_hand_are_kept_to(
    engine: clew.Clew, options: dict[str, Any], expected: set[str]
) -> None:
    for day, source in DATED.items():
        text = f"The clock of Vell was seen, entry {source}."
        engine.add(text, source=source, metadata={"date": day})
    for strategy in STRATEGIES:
        result = engine.search("the clock of Vell", strategy=NamedStrategy(strategy), **options)
        assert {hit.chunk.source for hit in result.hits} == expected, strategy


def test_as_of_asks_what_held_then(engine: clew.Clew) -> None:
    for date_, town in (("2015-01-01", "Lisse"), ("2020-01-01", "Kolm")):
        engine.add(f"Ada Morn lives in {town}.", source=town, metadata={"date": date_})

    def towns(as_of: str) -> set[str]:
        result = engine.search("Where does Ada Morn live?", strategy="graph", as_of=as_of)
        return {r.tail for hit in result.hits for r in hit.relations if r.relation == "lives_in"}

    assert towns("2016") == {"Lisse"}
    assert towns("2022") == {"Kolm"}
    past, future = (engine.search("Ada Morn", as_of=year) for year in ("2016", "2100"))
    assert "it says what it knows now of 2016-12-31" in "\n".join(past.notes)
    assert future.notes == ()


# --- where it comes from


# --- export


def test_export_holds_everything_and_is_well_formed(engine: clew.Clew, folder: Path) -> None:
    engine.index([folder])
    engine.add("Ada <Morn> was taught by Piet \x0bOss & Sons.", title="A & B")
    lines = [json.loads(line) for line in engine.maintenance.export("jsonl")]
    kinds = Counter(line["kind"] for line in lines)
    counts = engine.maintenance.stats()
    names = {"document": "documents", "chunk": "chunks", "entity": "entities"}
    for kind, name in {**names, "relation": "relations"}.items():
        assert kinds[kind] == counts[name]
    texts = {line["title"]: line["text"] for line in lines if line["kind"] == "document"}
    assert texts["Tower of Vell"] == TOWER
    root = ElementTree.fromstring("".join(engine.maintenance.export("graphml")))
    stated = [line for line in lines if line["kind"] == "relation"]
    ends = {line[end] for line in stated for end in ("from_entity_id", "to_entity_id")}
    entities = [line for line in lines if line["kind"] == "entity"]
    known = [one for one in entities if one["entity_type"] != TERM or one["id"] in ends]
    assert len(root.findall("{*}graph/{*}node")) == len(known) < len(entities)
    assert len(root.findall("{*}graph/{*}edge")) == counts["relations"]
    with pytest.raises(InputError, match="unknown format 'xml'; expected graphml or jsonl"):
        engine.maintenance.export("xml")  # type: ignore[arg-type]


# --- progress


def test_progress_counts_a_file_once_it_is_stored(engine: clew.Clew, folder: Path) -> None:
    (folder / "records.jsonl").write_text("\n".join(f'{{"text": "Note {n}"}}' for n in range(5)))
    (folder / "empty.md").write_text("")
    seen: list[tuple[int, int | None, int]] = []

    def progress(step: str, done: int, total: int | None) -> None:
        seen.append((done, total, engine.maintenance.stats()["documents"]))

    engine.index([folder], progress=progress)
    assert [done for done, _, _ in seen] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in seen} == {5}
    assert seen[-1][2] == 8, "the bar is full only when everything is stored"
    seen.clear()
    engine.index([folder], progress=progress)
    assert [done for done, _, _ in seen] == [1, 2, 3, 4, 5]


def test_what_is_not_asked_for_is_not_made(engine: clew.Clew, folder: Path) -> None:
    engine.index([folder])
    whole = engine.search(QUESTION, strategy="graph")
    bare = engine.search(QUESTION, strategy="graph", explain=False, context=False)
    assert [hit.chunk.id for hit in bare.hits] == [hit.chunk.id for hit in whole.hits]
    assert any(hit.path for hit in whole.hits)
    assert not any(hit.path or hit.relations or hit.entities for hit in bare.hits)
    assert (bare.context.text, bare.context.tokens, bare.notes) == ("", 0, ())


# --- An index run that is interrupted keeps what it has embedded; one more changes nothing.


@pytest.mark.parametrize("after", [1, 9])
def test_nothing_is_embedded_twice(
    engine: clew.Clew,
    embedder: CountingEmbedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: int,
) -> None:
    monkeypatch.setattr("clew.indexing.pipeline.BATCH_CHUNKS", 8)
    for number in range(32):
        (tmp_path / f"{number}.md").write_text(f"Weir {number} of the Lorne.")

    interrupted: list[int] = []

    def interrupt(message: str, done: int, total: int | None) -> None:
        if len(engine.store.chunk_ids()) >= after and not interrupted:
            interrupted.append(done)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.index([tmp_path], progress=interrupt)
    kept = len(engine.store.chunk_ids())
    assert after <= kept == len(embedder.embedded) < 32
    report = engine.index([tmp_path])
    assert (report.added, report.changed, report.unchanged) == (32 - kept, 0, kept)
    generation = engine.store.generation()
    assert engine.index([tmp_path]).unchanged == 32
    assert engine.store.generation() == generation
    assert len(embedder.embedded) == len(set(embedder.embedded)) == 32


# --- Several collections asked together.


TEXTS = {
    "mills": ["The mill at Harrow Ford was built by Jonas Reed.", "Jonas Reed feared the Lorne."],
    "rivers": ["The Lorne is a slow river with seven weirs.", "Jonas Reed drowned in the Lorne."],
    "secret": ["Jonas Reed was paid by the duke of the Lorne."],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("place")
    for namespace, texts in TEXTS.items():
        with clew.open(folder, namespace=namespace, embedder=HashEmbedder()) as engine:
            for number, text in enumerate(texts):
                engine.add(text, title=f"{namespace} {number}")
    return folder


@pytest.fixture
def collections_engine(place: Path) -> Iterator[clew.Clew]:
    with clew.open(place, namespace="mills", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("strategy", ["vector", "keyword", "hybrid", "graph", "multi_hop"])
def test_answers_are_fused_by_rank_and_say_where_they_are_from(
    collections_engine: clew.Clew, place: Path, strategy: str
) -> None:
    asked: dict[str, Any] = {"strategy": strategy, "limit": 3}
    alone = {"mills": collections_engine.search("Jonas Reed and the Lorne", **asked)}
    with clew.open(place, namespace="rivers", embedder=HashEmbedder()) as other:
        alone["rivers"] = other.search("Jonas Reed and the Lorne", **asked)
    together = collections_engine.search(
        "Jonas Reed and the Lorne", namespaces=["mills", "rivers"], **asked
    )
    ranks = {
        (name, hit.chunk.public_id): rank
        for name, result in alone.items()
        for rank, hit in enumerate(result.hits)
    }
    found = [ranks[hit.namespace, hit.chunk.public_id] for hit in together.hits]
    assert found == sorted(ranks.values())[:3]
    assert {hit.namespace for hit in together.hits} == {"mills", "rivers"}
    assert together.to_dict()["results"][0]["metadata"]["namespace"] in alone


def test_of_the_first_of_each_the_surest_comes_first(tmp_path: Path) -> None:
    texts = {"one": "The baker sells bread.", "two": "Jonas Reed built the mill.", "xyz": "Rain."}
    for namespace, text in texts.items():
        with clew.open(tmp_path, namespace=namespace) as made:
            made.add(text, title=namespace)
    with clew.open(tmp_path, namespace="one") as engine:
        found = engine.search("Who built the mill?", namespaces=list(texts))
    sure = [hit.confidence or 0 for hit in found.hits]
    assert found.hits[0].namespace == "two"
    assert sure == sorted(sure, reverse=True)
    assert found.context.parts[0].text.startswith("[1] two: two")


def test_the_context_is_numbered_anew_and_keeps_to_its_budget(
    collections_engine: clew.Clew,
) -> None:
    whole = collections_engine.search(
        "Who feared the Lorne?", namespaces=["mills", "rivers"]
    ).context
    assert [citation.number for citation in whole.citations] == [1, 2, 3, 4]
    for part in whole.parts:
        (citation,) = part.citations
        name = citation.title.split()[0]
        assert part.text.startswith(f"[{citation.number}] {name}: {citation.title}\n")
    count = collections_engine.state.embedder.count_tokens
    for budget in range(5, 80, 5):
        cut = collections_engine.search(
            "Who feared the Lorne?", namespaces=["mills", "rivers"], max_tokens=budget
        ).context
        assert count(cut.text) <= cut.tokens <= budget
        assert len(cut.parts) + cut.left_out == 4


@pytest.mark.parametrize("name", ["nowhere", "../mills", "", "mills/../secret"])
def test_what_is_no_namespace_is_an_error_and_is_not_made(
    collections_engine: clew.Clew, place: Path, name: str
) -> None:
    before = sorted(place.rglob("*.db"))
    with pytest.raises(NotFoundError, match="no namespace"):
        collections_engine.search("Jonas Reed", namespaces=["mills", name])
    assert sorted(place.rglob("*.db")) == before


def test_a_caller_without_a_right_is_told_the_same_as_if_there_were_none(
    collections_engine: clew.Clew,
) -> None:
    caller = Caller(namespaces=("mills", "rivers"), scopes=frozenset({"read"}))
    told = {}
    for name in ("secret", "nowhere"):
        arguments = {"query": "Who paid Jonas Reed?", "namespaces": ["mills", name]}
        outcome = collections_engine.tools.call("query_documents", arguments, caller=caller)
        assert outcome.is_error
        assert "duke" not in outcome.text
        told[name] = outcome.text.replace(name, "…")
    assert told["secret"] == told["nowhere"]
    assert collections_engine.tools.call(
        "query_documents", {"query": "x", "namespaces": ["rivers"]}
    ).is_error


def test_a_server_asks_the_engines_that_it_has(place: Path) -> None:
    settings: Settings = load_settings(store=place, namespace="mills")
    caller = Caller(namespaces=("mills", "rivers", "empty"))
    with (
        clew.open(settings=settings, embedder=HashEmbedder()) as first,
        closing(Engines(settings, OPERATIONS, first)) as engines,
        engines.acquire("mills") as opened,
    ):
        found, none = (
            opened.toolbox.call(
                "query_documents", {"query": "Jonas Reed", "namespaces": names}, caller=caller
            )
            for names in (["rivers", "mills"], ["empty"])
        )
    places = {hit["metadata"]["namespace"] for hit in found.content["results"]}
    assert places == {"mills", "rivers"}
    assert none.is_error
    assert not (place / "empty").exists()


def test_the_first_question_that_needs_communities_says_that_they_are_made(place: Path) -> None:
    question = "Give an overview of all that is known here"
    with clew.open(place, namespace="rivers", embedder=HashEmbedder()) as engine:
        engine.add("The Lorne Estate owns the weirs of the Lorne.", source="new")
        steps: list[str] = []
        engine.state.progress = lambda step, done, total: steps.append(step)
        first, again = (engine.search(question, strategy="global").notes for _ in range(2))
        other = engine.search("What is the Lorne Estate?", strategy="global").notes
        engine.delete(["new"])
    assert steps
    assert [
        any("communities and topics were made" in n for n in notes)
        for notes in (first, again, other)
    ] == [True, False, False]
