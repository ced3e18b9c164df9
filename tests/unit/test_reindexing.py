"""Indexing again: built beside the store, switched to at once, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import clew
from clew import Clew
from clew.engine.maintenance import MAKE, SWITCH
from clew.errors import ModelError, StoreBusyError, StoreError, StoreMismatchError
from clew.testing.fakes import HashEmbedder
from clew.types import (
    ChunkExtraction,
    ExtractedRelation,
    Mention,
    NamedStrategy,
    NewEntity,
    NewRelation,
    Vectors,
)
from tests.content import content

PEOPLE = ("Ada Morn", "Piet Oss", "Brida Kall", "Tobias Fenn", "Edda Rowe", "Muhammad Ali")
SMALLER = {"chunk_tokens": 20, "section_tokens": 40}
QUESTION = "Who taught Ada Morn in 1818?"
DOCUMENTS = 24
PATIENCE = 20.0


class Watched(HashEmbedder):
    """Says which texts it was given; does something before each batch, and fails if asked to."""

    def __init__(self, dimension: int = 64, *, name: str | None = None) -> None:
        super().__init__(dimension, name=name)
        self.before: Callable[[], object] = lambda: None
        self.fails_after: int | None = None
        self.texts: list[str] = []
        self._batches = 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.before()
        self._batches += 1
        if self.fails_after is not None and self._batches > self.fails_after:
            raise ModelError("the model was unplugged")
        self.texts += texts
        return super().embed_documents(texts)


class Steps:
    """Progress that is remembered, and what is to be done at a step."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int, int | None]] = []
        self.waiting: dict[tuple[str, int], Callable[[], object]] = {}

    def at(self, step: str, done: int, act: Callable[[], object]) -> None:
        """Do something once, when so much of the step is done."""
        self.waiting[step, done] = act

    def __call__(self, step: str, done: int, total: int | None) -> None:
        self.said.append((step, done, total))
        self.waiting.pop((step, done), lambda: None)()


@dataclass
class Library:
    """A folder of letters and the stores that they are indexed into."""

    root: Path
    opened: list[Clew] = field(default_factory=list)

    @property
    def letters(self) -> Path:
        return self.root / "letters"

    def open(
        self,
        store: str = "store",
        *,
        embedder: HashEmbedder | None = None,
        split: Mapping[str, int] | None = None,
    ) -> Clew:
        settings = clew.load_settings(
            store=self.root / store,
            access={"roots": [self.root]},
            split=split or {},
            busy_seconds=0.2,
        )
        self.opened.append(clew.open(settings=settings, embedder=embedder or Watched()))
        return self.opened[-1]

    def content(self, store: str = "store") -> dict[str, list[Any]]:
        return content(self.root / store / "default" / "clew.db")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """Of letters; the store that was opened last is sound in the end."""
    library = Library(tmp_path)
    library.letters.mkdir()
    for number in range(DOCUMENTS):
        first, second = PEOPLE[number % 6], PEOPLE[(number * 5 + 1) % 6]
        spelled = second.replace("Muhammad", "Mohammad") if number % 2 else second
        (library.letters / f"{number:02}.md").write_text(
            f"# Letter {number}\n\n{first} was taught by {spelled}. In {1800 + number} they met at"
            f" the Guild of Lisse (GOL). {first} lived in Delft until 1850. The weather was fair,"
            f" and the barges went up to Amsterdam with wool and came back with lime.\n\n"
            f"## Answer\n\n{second} wrote back from Delft on 3 May {1801 + number}."
        )
    yield library
    assert library.opened[-1].maintenance.check().problems == ()
    for engine in library.opened:
        engine.close()


def add_all(library: Library, engine: Clew) -> None:
    engine.index([library.letters])
    told = " ".join(f"Edda Rowe wrote letter {number} from Ostby." for number in range(20))
    engine.add(told, source="by hand", metadata={"year": 1850})


def indexed(library: Library, store: str = "store") -> Clew:
    engine = library.open(store)
    add_all(library, engine)
    return engine


def found(engine: Clew, strategy: str) -> list[tuple[str, str]]:
    result = engine.search(QUESTION, strategy=NamedStrategy(strategy))
    return [(hit.chunk.public_id, hit.chunk.text) for hit in result.hits]


@pytest.mark.parametrize(
    ("dimension", "split"),
    [(64, SMALLER), (128, {}), (128, SMALLER)],
    ids=["split", "model", "both"],
)
def test_the_outcome_is_that_of_indexing_afresh(
    library: Library, dimension: int, split: dict[str, int]
) -> None:
    before = indexed(library)
    assert before.search(QUESTION, strategy="global").hits  # communities have vectors, too
    fresh = library.open("fresh", embedder=Watched(dimension), split=split)
    add_all(library, fresh)

    engine = library.open(embedder=Watched(dimension), split=split)
    report = engine.maintenance.reindex()

    assert report.changed == len(engine.documents.list()) == DOCUMENTS + 1
    assert library.content() == library.content("fresh")
    for strategy in ("vector", "keyword", "graph"):
        assert found(engine, strategy) == found(fresh, strategy) != []
    for strategy in ("global", "topic"):
        assert found(engine, strategy)


# --- others meanwhile


def write(engine: Clew) -> None:
    """What a person, an assistant and another indexer may do to a store."""
    store, letters = engine.store, engine.documents.list()
    engine.delete([letters[0].id])
    engine.add("Piet Oss moved to Lisse in 1851. He kept bees.", source=letters[1].source)
    engine.add("Tobias Fenn joined the Guild of Lisse in 1852.", source="new")
    ids = {name: store.resolve([name.casefold()])[name.casefold()] for name in PEOPLE[:4]}
    ((lock, _),) = store.add_entities([NewEntity(name="Harrow Lock", entity_type="place")])
    store.add_relations(
        [NewRelation(source_id=ids["Ada Morn"], target_id=lock, relation_type="keeper_of")]
    )
    engine.entities.memory.add_observations([("Harrow Lock", ["Its gates leak."])], dated=False)
    store.update_entity(ids["Piet Oss"], content="A beekeeper.")
    store.merge(ids["Tobias Fenn"], ids["Brida Kall"], "the same person")
    store.rename(ids["Ada Morn"], "Ada Morn the Elder")
    store.retract([r.id for r in store.relations([ids["Piet Oss"]]) if r.chunk_id is not None][:1])


@pytest.mark.parametrize("moment", [MAKE, SWITCH])
def test_what_is_written_meanwhile_is_kept(library: Library, moment: str) -> None:
    """The outcome is that of writing first and indexing again then."""
    first = indexed(library, "first")
    write(first)
    library.open("first", split=SMALLER).maintenance.reindex()
    other = indexed(library)

    engine, steps = library.open(split=SMALLER), Steps()
    steps.at(moment, 4, lambda: write(other))
    engine.maintenance.reindex(progress=steps)

    assert steps.waiting == {}
    assert library.content() == library.content("first")
    assert found(other, "vector")


def test_a_store_that_never_stands_still_is_switched_while_writers_wait(library: Library) -> None:
    other, engine = indexed(library), library.open(split=SMALLER)
    outcomes: list[str] = []

    def progress(step: str, done: int, total: int | None) -> None:
        if (step, done) == (SWITCH, 1):
            try:
                other.add(f"Edda Rowe sent parcel {len(outcomes)}.")
                outcomes.append("written")
            except StoreBusyError:
                outcomes.append("busy")

    engine.maintenance.reindex(progress=progress)

    assert outcomes == ["written", "written", "written", "busy"]
    assert len(engine.documents.list()) == DOCUMENTS + 1 + 3
    assert engine.maintenance.outdated() == []
    assert other.add("Edda Rowe sent the last parcel.")


def test_searchers_see_the_old_until_they_see_the_new(library: Library) -> None:
    old, seen = indexed(library), []
    before = library.content(), found(old, "graph"), old.store.generation()

    def look(*_: object) -> None:
        seen.append((library.content(), found(old, "graph"), old.store.generation()))

    engine = library.open(split=SMALLER)
    engine.maintenance.reindex(progress=look)

    assert len(seen) > 2 * DOCUMENTS
    assert all(state == before for state in seen)
    assert found(old, "graph") == found(engine, "graph") != before[1]


def test_engines_of_the_former_model_say_what_to_do(library: Library) -> None:
    old = indexed(library)
    assert old.search(QUESTION).hits
    library.open(embedder=Watched(128)).maintenance.reindex()
    for ask in (lambda: old.search(QUESTION), lambda: old.add("Ada Morn wrote again.")):
        with pytest.raises(StoreMismatchError, match=r"'hash-128' .*'hash-64' .*`clew reindex`"):
            ask()


@pytest.mark.parametrize("dimension", [64, 128])
def test_an_indexer_of_the_former_model_saves_no_more(library: Library, dimension: int) -> None:
    embedder, other = Watched(), Watched(dimension, name="other")
    old = library.open(embedder=embedder)
    add_all(library, old)
    embedder.before = lambda: library.open(embedder=other).maintenance.reindex()
    with pytest.raises(StoreMismatchError, match=r"'other' .*'hash-64' .*`clew reindex`"):
        old.add("Ada Morn wrote once more.")
    engine = library.open(embedder=other)
    assert engine.maintenance.outdated() == []


@pytest.mark.parametrize("strategy", ["vector", "graph", "multi_hop"])
def test_a_question_under_way_is_answered_from_the_new(
    library: Library, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    indexed(library)
    asked, engine = library.open(), library.open(split=SMALLER)
    original, switches = asked.store.passage_records, [engine.maintenance.reindex]

    def reads(*given: Any, **options: Any) -> object:  # noqa: ANN401
        if switches:
            switches.pop()()
        return original(*given, **options)

    monkeypatch.setattr(asked.store, "passage_records", reads)
    assert found(asked, strategy) == found(engine, strategy) != []
    assert switches == []


def test_passages_stay_as_useful_as_they_were(library: Library) -> None:
    old, moment = indexed(library), datetime(2025, 5, 1, tzinfo=UTC)
    document = old.documents.get("by hand").id
    whole = old.documents.chunks(document)[0]
    later, steps = moment.replace(month=6), Steps()
    old.store.record_use([whole.id, whole.id], moment)
    # Using a passage is no change of the store.
    steps.at(SWITCH, 3, lambda: old.store.record_use([whole.id], later))

    engine = library.open(split=SMALLER)
    engine.maintenance.reindex(progress=steps)

    parts = engine.documents.chunks(document)
    middle = (whole.start + whole.end) // 2
    part = [chunk for chunk in parts if chunk.start <= middle][-1]
    assert len(parts) > 2
    assert engine.store.usage([chunk.id for chunk in parts]) == {part.id: (2, later)}


@pytest.mark.parametrize("split", [{}, SMALLER], ids=["same passages", "others"])
def test_what_assistants_found_stays_with_a_passage_that_stays(
    library: Library, split: dict[str, int]
) -> None:
    old = indexed(library)
    chunk = old.documents.chunks("by hand")[0].id
    unread = old.store.count_unread()
    read = ChunkExtraction(
        mentions=(Mention(name="the courier", sentence=1, start=0, end=4),),
        relations=(
            ExtractedRelation(
                head="the courier",
                tail="Edda Rowe",
                relation_type="works_for",
                sentence=1,
                confidence=0.9,
            ),
        ),
    )
    old.store.record_readings({chunk: read})
    (wrong,) = (r.id for r in old.store.chunk_relations([chunk]) if r.extractor == "assistant")
    old.store.retract([wrong])
    old.store.record_readings({old.documents.chunks("00.md")[0].id: read})
    before = library.content()

    engine = library.open(embedder=Watched(128), split=split)
    engine.maintenance.reindex()

    after = library.content()
    changed = {name for name in before if before[name] != after[name]}
    assert (changed == {"documents", "embeddings", "meta"}) == (split == {})
    assert (engine.store.count_unread() == unread - 2) == (split == {})
    engine.store.record_readings({engine.documents.chunks("00.md")[0].id: read})
    engine.add("The courier came late.")


# --- cut short


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.indexing.pipeline.BATCH_CHUNKS", 8)


@pytest.mark.usefixtures("small_batches")
def test_what_is_ready_is_not_made_again(library: Library) -> None:
    indexed(library)
    broken, whole, steps = Watched(), Watched(), Steps()
    broken.fails_after = 5
    with pytest.raises(ModelError, match="unplugged"):
        library.open(embedder=broken, split=SMALLER).maintenance.reindex()

    engine = library.open(embedder=whole, split=SMALLER)
    report = engine.maintenance.reindex(progress=steps)

    ready = steps.said[0][1]
    assert steps.said[0] == (MAKE, ready, DOCUMENTS + 1)
    assert steps.said[-1] == (SWITCH, DOCUMENTS, DOCUMENTS + 1)
    assert ready > 3
    assert report.changed == DOCUMENTS + 1
    assert report.chunks == len(whole.texts) < engine.maintenance.stats()["chunks"]


def test_two_at_once_share_the_work(library: Library) -> None:
    indexed(library)
    first, second = Watched(), Watched()
    waits, go_on = threading.Event(), threading.Event()
    first.before = lambda: go_on.wait(PATIENCE)
    engines = [library.open(embedder=embedder, split=SMALLER) for embedder in (first, second)]

    def wait(step: str, done: int, total: int | None) -> None:
        if total is None:
            waits.set()

    threads = [threading.Thread(target=engines[0].maintenance.reindex)]
    threads[0].start()
    while not (engines[0].store.folder / ".reindex").exists():
        time.sleep(0.01)
    threads.append(threading.Thread(target=lambda: engines[1].maintenance.reindex(progress=wait)))
    threads[1].start()
    assert waits.wait(PATIENCE)
    go_on.set()
    for thread in threads:
        thread.join()

    assert len(first.texts) == engines[0].maintenance.stats()["chunks"]
    assert second.texts == []


def test_a_folder_that_cannot_be_made_changes_nothing(library: Library) -> None:
    before, engine = indexed(library), library.open(split=SMALLER)
    content_before = library.content()
    (engine.store.folder / ".reindex").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot build in .*\.reindex.*rights and the space"):
        engine.maintenance.reindex()
    assert library.content() == content_before
    assert before.search(QUESTION).hits
