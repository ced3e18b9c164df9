"""What a program brings to a store, and takes out of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import clew
from clew.errors import InputError, ModelError, NotFoundError, UnreadableError
from clew.hookspecs import brought, listed, named, plugins
from clew.models.given import WordCounts, as_embedder, as_reranker
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder

NOTES = {
    "clock": "Ada Morn built the great clock of Vell.",
    "teacher": "Ada Morn learned her trade from Tobias Fenn.",
    "harbour": "The harbour of Ostrand freezes every winter.",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as opened:
        for source, text in NOTES.items():
            opened.add(text, source=source, title=source.title(), metadata={"kind": "note"})
        yield opened


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[len(text), text.count("a"), 1] for text in texts]


# --- models


def test_a_function_embeds(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=lengths) as store:
        for source, text in NOTES.items():
            store.add(text, source=source)
        found = store.search("aaaa", strategy="vector", limit=3)
    rows = np.array(lengths([NOTES[hit.chunk.source] for hit in found]))
    asked = np.array(lengths(["aaaa"])[0])
    cosines = rows @ asked / np.linalg.norm(rows, axis=1) / np.linalg.norm(asked)
    assert [hit.scores["vector"] for hit in found] == pytest.approx(cosines.tolist(), abs=1e-5)
    assert sorted(cosines)[::-1] == pytest.approx(cosines.tolist())


def test_questions_may_be_embedded_by_another_function() -> None:
    embedder = clew.FunctionEmbedder(lengths, query=lambda texts: [[0, 1, 0]] * len(texts))
    assert embedder.embed_query("a clock").tolist() == [0, 1, 0]
    assert embedder.embed_documents([]).shape == (0, 3)
    assert embedder.name == f"{__name__}.lengths"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda texts: [[1, 2]], r"shape \(1, 2\) for 2 texts; expected \(2, 2\)"),
        (lambda texts: [[0, 0]] * len(texts), "not all 0"),
        (lambda texts: [[float("nan")]] * len(texts), "finite"),
        (lambda texts: ["word"] * len(texts), "no vectors of numbers"),
        (lambda texts: [[1], [1, 2]], "no vectors of numbers"),
    ],
)
def test_a_function_that_gives_no_vectors_is_named(
    made: Callable[[Sequence[str]], list[list[float]]], told: str
) -> None:
    with pytest.raises(ModelError, match=told):
        clew.FunctionEmbedder(made, name="mine").embed_documents(["one", "two"])


def test_a_function_reranks_with_the_weight_that_is_asked_for(tmp_path: Path) -> None:
    def harbours_first(question: str, texts: Sequence[str]) -> list[float]:
        return [0.99 if "harbour" in text else 0.01 for text in texts]

    with clew.open(tmp_path, embedder=HashEmbedder(), reranker=harbours_first) as store:
        for source, text in NOTES.items():
            store.add(text, source=source)
        first = [
            store.search("clock of Vell, Ostrand", rerank_weight=weight).hits[0].chunk.source
            for weight in (0.0, 1.0)
        ]
        with pytest.raises(InputError, match="rerank_weight"):
            store.search("clock", rerank_weight=1.5)
    assert first == ["clock", "harbour"]


def test_scores_outside_0_and_1_are_told(tmp_path: Path) -> None:
    logits = as_reranker(lambda question, texts: [7.0] * len(texts))
    with pytest.raises(ModelError, match="gave scores from 7 to 7; expected 0 to 1"):
        logits.score("clock", ["a clock"])


@pytest.mark.parametrize("given", [3, None, "model"])
def test_what_cannot_embed_is_refused(given: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(InputError, match="expected a function of texts"):
        clew.FunctionEmbedder(given)
    with pytest.raises(InputError, match=r"dimension .* cannot be; expected a whole number"):
        clew.OwnVectors(given and f"{given}")  # type: ignore[arg-type]


def test_a_lambda_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a lambda has no name by which a store could tell"):
        clew.open(tmp_path, embedder=lambda texts: [[1.0]] * len(texts))


def test_options_are_known_and_models_are_models(tmp_path: Path, store: clew.Clew) -> None:
    for refused, told in (
        (lambda: clew.open(tmp_path / "s", embeder=3), "no option 'embeder'; expected one of emb"),
        (lambda: clew.open(tmp_path / "s", embedder=0), "embedder 0 has no count_tokens"),
        (lambda: clew.open(tmp_path / "s", extractor=5), "extractor 5 has no extract, name"),
        (lambda: clew.open(tmp_path / "s", language_model=5), "languagemodel 5 has no name, reply"),
        (lambda: store.search("clock", foo=1), "no option 'foo'; expected one of alpha"),
        (lambda: store.ask("clock", foo=1), "no option 'foo'"),
    ):
        with pytest.raises(InputError, match=told):
            refused()  # type: ignore[no-untyped-call]
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("left_out", ["dimension", "embed_query", "count_tokens"])
def test_a_model_that_lacks_a_method_is_told_which(left_out: str) -> None:
    members = {name: value for name, value in vars(HashEmbedder).items() if name != left_out}
    with pytest.raises(InputError, match=f"has no {left_out}; expected a function, or an object"):
        as_embedder(type("Mine", (), members)())
    with pytest.raises(InputError, match="reranker 3 has no name, score"):
        as_reranker(3)  # type: ignore[arg-type]


def test_a_worker_gets_what_counts_words_and_not_the_function() -> None:
    make, arguments = clew.FunctionEmbedder(lengths, max_tokens=7).__reduce__()
    assert make(*arguments).max_tokens == 7
    assert type(make(*arguments)) is WordCounts


# --- vectors of one's own


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_a_vector_finds_its_nearest(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(8, 5))
    with clew.open(tmp_path_factory.mktemp("s"), embedder=clew.OwnVectors(5)) as store:
        store.add_documents(
            clew.Document(source=f"{row}", text=f"note {row}", vector=tuple(values))
            for row, values in enumerate(rows[1:])
        )
        found = [int(hit.chunk.source) for hit in store.search(vector=rows[0], limit=7)]
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert found == np.argsort(-(unit[1:] @ unit[0]), kind="stable").tolist()


def test_a_text_without_a_vector_is_found_by_its_words(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=clew.OwnVectors(2)) as store:
        store.add(NOTES["clock"], source="clock")
        store.add(NOTES["harbour"], source="harbour", vector=[3, 4])
        assert store.search("Who built the clock of Vell?").hits[0].chunk.source == "clock"
        nearest = store.search(vector=[3, 4]).hits[0]
        assert nearest.chunk.source == "harbour"
        assert nearest.scores["vector"] == pytest.approx(1)


@pytest.mark.parametrize("vector", [[1], [1, 2, 3], [0, 0], [1, float("inf")], "ab", [[1, 2]] * 2])
def test_a_vector_that_does_not_fit_is_refused(tmp_path: Path, vector: ArrayLike) -> None:
    with clew.open(tmp_path, embedder=clew.OwnVectors(2)) as store:
        for use in (store.add, store.search):
            with pytest.raises(InputError, match="expected 2 finite numbers"):
                use("clock", vector=vector)
        assert not len(store)


def test_another_vector_of_the_same_text_is_a_change(tmp_path: Path) -> None:
    one = clew.Document(source="a", text="clock", vector=(1.0, 0.0))
    with clew.open(tmp_path, embedder=clew.OwnVectors(2)) as store:
        reports = [store.add_documents([document]) for document in (one, one)]
        store.add_documents([clew.Document(source="a", text="clock", vector=(0.0, 1.0))])
        assert store.search(vector=[0, 1]).hits[0].scores["vector"] == pytest.approx(1)
    assert [(report.added, report.unchanged) for report in reports] == [(1, 0), (0, 1)]


# --- documents


def test_what_is_not_given_stays(store: clew.Clew) -> None:
    made = store.get("clock").id
    assert store.update("clock", metadata={"kind": None, "year": 1868}) == made
    assert store.text("clock") == NOTES["clock"]
    assert (store.get("clock").title, store.get("clock").metadata) == ("Clock", {"year": 1868})
    store.update("clock", text="The clock of Vell stopped.")
    assert store.get("clock").metadata == {"year": 1868}
    assert store.search("clock of Vell").hits[0].chunk.text == "The clock of Vell stopped."
    assert len(store) == 3
    with pytest.raises(NotFoundError):
        store.update("no such", text="x")


def test_a_vector_that_was_brought_stays_with_its_text(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=clew.OwnVectors(2)) as store:
        store.add(NOTES["clock"], source="clock", vector=[3, 4])
        store.update("clock", metadata={"year": 1868})
        assert store.vectors(["clock"])[0].tolist() == [pytest.approx([0.6, 0.8])]
        store.update("clock", text=NOTES["harbour"])
        assert store.vectors(["clock"])[0].tolist() == [[0, 0]]
        with pytest.raises(NotFoundError):
            store.vectors(["clock", "no such"])


def test_metadata_of_the_name_of_a_field_is_asked_for_by_meta(store: clew.Clew) -> None:
    named = {"type": "article", "language": "formal", "date": "soon"}
    store.add("Bo keeps bees.", source="bees", metadata=named)
    for name, value in named.items():
        assert [one.source for one in store.list(f"meta.{name} = {value}")] == ["bees"]
        data = {"field": f"meta.{name}", "operator": "!=", "value": value}
        assert store.list(data) == []
    assert [one.source for one in store.list("type = plain and meta.type = article")] == ["bees"]


def test_a_title_is_embedded_with_its_text(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        for source, title in (("a", "Clock of Vell"), ("b", "Zebra farm")):
            store.add("It was built in 1820.", source=source, title=title)
        store.update("a", title="Zebra farm")
        one, other = store.vectors(["a", "b"])
        assert one.tolist() == other.tolist()


def test_changes_of_several_threads_are_all_kept(store: clew.Clew) -> None:
    def change(thread: int) -> None:
        for number in range(5):
            store.update("clock", metadata={f"{thread}-{number}": 1})

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(change, range(4)))
    assert len(store.get("clock").metadata) == 1 + 20


def test_vectors_are_read_while_others_write(store: clew.Clew) -> None:
    def write() -> None:
        for number in range(60):
            store.update("clock", text=f"Ada Morn wound the clock {number} times.")

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        while not writing.done():
            assert [len(one) for one in store.vectors(list(NOTES))] == [1, 1, 1]
        writing.result()


def test_what_is_no_document_changes_nothing(store: clew.Clew) -> None:
    with pytest.raises(UnreadableError, match="empty"):
        store.update("clock", text=" ")
    with pytest.raises(InputError, match=r"is no document; expected a list of clew\.Document"):
        store.add_documents([{"text": "x"}])  # type: ignore[list-item]
    with pytest.raises(InputError, match="characters; expected at most"):
        store.add("Ada.", source="x" * 10_000)
    assert "x" * 10_000 not in store
    assert "\ud800" not in store
    assert store.text("clock") == NOTES["clock"]


def test_a_file_is_not_changed_in_the_store(store: clew.Clew, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A note.")
    store.index(tmp_path / "a.md")
    with pytest.raises(InputError, match="change the file and index it again"):
        store.update(str(tmp_path / "a.md"), text="Another.")


@settings(max_examples=25)
@given(st.lists(st.text("abé z/", min_size=1, max_size=4), unique=True), st.integers(1, 4))
def test_pages_give_each_document_once(
    tmp_path_factory: pytest.TempPathFactory, sources: list[str], size: int
) -> None:
    with clew.open(tmp_path_factory.mktemp("s"), embedder=HashEmbedder(8)) as store:
        store.add_documents(clew.Document(source=one, text="x") for one in sources)
        seen: list[str] = []
        while page := store.list(after=seen[-1] if seen else "", limit=size):
            assert len(page) <= size
            seen += [one.source for one in page]
        assert seen == [one.source for one in store] == sorted(sources)


def test_a_result_is_a_table_and_a_graph(store: clew.Clew) -> None:
    found = store.search("Who taught the builder of the clock of Vell?")
    rows = found.to_dicts()
    assert found.to_pandas().to_dict("records") == rows
    as_json = [{**row, "metadata": json.dumps(row["metadata"])} for row in rows]
    assert found.to_arrow().to_pylist() == as_json
    assert found[0] == found.hits[0]
    nothing = store.search("clock", where="kind = none")
    assert list(nothing.to_pandas().columns) == nothing.to_arrow().column_names == list(rows[0])
    graph = found.to_networkx()
    passages = [node for node, kind in graph.nodes(data="kind") if kind == "passage"]
    assert passages == [row["id"] for row in rows]
    for hit in found:
        for step in hit.path:
            assert graph.has_node(step.entity)
            assert step.sentence in [s for *_, s in graph.out_edges(step.entity, data="sentence")]


def test_a_document_has_as_many_passages_as_are_asked_for(tmp_path: Path) -> None:
    long = " ".join(f"Ada Morn wound the clock of Vell on day {day}." for day in range(900))
    settings = load_settings(store=tmp_path, split={"chunk_tokens": 32})
    with clew.open(settings=settings, embedder=HashEmbedder()) as store:
        store.add(long, source="long")
        store.add("The clock of Vell.", source="short")
        free, bound = (
            [hit.chunk.source for hit in store.search("clock of Vell", limit=4, per_document=most)]
            for most in (None, 1)
        )
        with pytest.raises(InputError, match="per_document 0 cannot be"):
            store.search("clock", per_document=0)
        for number in range(6):
            store.add(f"Clock {number} of Vell.", source=f"c{number}")
        found = store.search("clock of Vell", strategy="vector", limit=5, per_document=1)
        assert len({hit.chunk.document_id for hit in found}) == 5
    assert free.count("long") > 1
    assert sorted(bound) == ["long", "short"]


def test_entities_are_gone_through(store: clew.Clew) -> None:
    names = {one.name for one in store.entities}
    assert {"Ada Morn", "Tobias Fenn", "Vell"} <= names
    assert all(store.entities.get(name).entity_type != "term" for name in names)


def test_entities_by_hand_carry_metadata_and_relations(store: clew.Clew) -> None:
    memory = store.entities.memory
    given = [clew.NewEntity(name=name, metadata={"n": 1}) for name in ("Bo Lind", "Mara Holt")]
    (bo, _), (mara, _) = memory.add_entities(given)
    memory.update_entity("Bo Lind", metadata={"n": 2})
    assert store.get("entity:bo lind").metadata == {"n": 2}
    memory.add_relations([clew.NewRelation(source_id=bo, target_id=mara, relation_type="knows")])
    (edge,) = store.graph.edges(["Bo Lind"])
    assert (edge.from_entity_id, edge.relation_type, edge.to_entity_id) == (bo, "knows", mara)
    assert store.graph.edges(["Bo Lind", "Mara Holt"]) == [edge]
    with pytest.raises(NotFoundError):
        store.graph.edges(["Bo Lind", "Nobody"])


# --- answers while they are written


def test_an_answer_is_gone_through(store: clew.Clew) -> None:
    question = "Who built the great clock of Vell?"
    with store.streamed(question) as (pieces, answer):
        assert "".join(pieces) == store.ask(question).text
        assert answer().sources
    with (
        pytest.raises(InputError),
        store.streamed(question, mode="nonsense") as (pieces, _),  # type: ignore[arg-type]
    ):
        list(pieces)


def test_a_checker_and_the_store_refuse_what_is_none_of_the_choices(store: clew.Clew) -> None:
    with pytest.raises(InputError, match="unknown strategy 'nonsense'; expected one of vector"):
        store.search("clock", strategy="nonsense")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="nonsense"):
        store.ask("clock", rag_type="nonsense")  # type: ignore[arg-type]


# --- namespaces


def test_namespaces_are_made_copied_renamed_and_deleted(store: clew.Clew) -> None:
    with store.namespaces.open("anna") as other:
        other.add("Anna keeps bees.", source="bees")
        assert other.state.embedder is store.state.embedder
        assert [hit.chunk.source for hit in other.search("clock of Vell, bees")] == ["bees"]
    assert list(store.namespaces) == ["anna", "default"]
    assert "bees" not in store
    store.namespaces.copy("anna", "bo")
    store.namespaces.rename("bo", "carl")
    store.namespaces.delete("anna")
    assert list(store.namespaces) == ["carl", "default"]
    assert "anna" not in store.namespaces
    with store.namespaces.open("carl") as other:
        assert other.text("bees") == "Anna keeps bees."


def test_what_cannot_be_done_with_a_namespace_is_said(store: clew.Clew) -> None:
    names = store.namespaces
    names.open("anna").close()
    for refused, told in (
        (lambda: names.delete("default"), "is open here"),
        (lambda: names.rename("anna", "default"), "already; nothing was renamed"),
        (lambda: names.copy("anna", "default"), "holds something else already"),
        (lambda: names.open("../anna"), "is no name of a namespace"),
        (lambda: names.delete(""), "is no name of a namespace"),
    ):
        with pytest.raises(InputError, match=told):
            refused()
    with pytest.raises(NotFoundError, match="there is no namespace 'bo'; there are anna, default"):
        names.delete("bo")
    assert list(names) == ["anna", "default"]


# --- plugins


def forget_plugins() -> None:
    held = brought.__globals__["_brought"]
    for name in held:
        plugins().unregister(name=name)
    held.clear()
    named.cache_clear()
    listed.cache_clear()


READING = """
import clew
from clew.indexing.reading.common import ReadResult


def read_recipe(raw):
    text = raw.data.decode()
    return ReadResult(documents=(clew.Document(source=raw.source, title="A recipe", text=text),))


class Recipes:
    @clew.hookimpl
    def readers(self):
        return {".recipe": read_recipe}
"""


def test_a_plugin_is_an_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "own_recipes.py").write_text(READING)
    (tmp_path / "cake.recipe").write_text("Plums, flour and an hour.")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import own_recipes  # type: ignore[import-not-found]

    try:
        for given in (own_recipes.Recipes(), own_recipes.Recipes()):
            with clew.open(tmp_path / "s", embedder=HashEmbedder(), plugins=[given]) as store:
                store.index(tmp_path / "cake.recipe")
                assert [one.title for one in store] == ["A recipe"]
            assert brought() == [given]
        assert not caplog.messages  # a worker read it
    finally:
        forget_plugins()
        sys.modules.pop("own_recipes")


@pytest.mark.parametrize(
    ("give", "told"),
    [
        (lambda self: 1 / 0, "'readers' of the plugin .* fails .ZeroDivisionError"),
        (lambda self, more: {}, "fails .TypeError: .*; it is asked without arguments"),
        (lambda self: [".recipe"], "gave .'.recipe'.; expected a mapping"),
    ],
)
def test_a_plugin_whose_hook_fails_is_not_added(
    tmp_path: Path, give: Callable[..., object], told: str
) -> None:
    mine = type("Mine", (), {"readers": clew.hookimpl(give)})()
    with pytest.raises(InputError, match=told):
        clew.open(tmp_path, plugins=[mine])
    assert brought() == []


@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_fault_of_a_reader_costs_its_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    module = READING.replace(
        "    text =", "    if b'BAD' in raw.data:\n        raise ValueError('no')\n    text ="
    )
    as_module = module.replace("\n\nclass Recipes:\n", "\n\n").replace("    @clew", "@clew")
    as_module = as_module.replace(
        "    def readers(self):\n        return", "def readers():\n    return"
    )
    (tmp_path / "own_module.py").write_text(as_module)
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.recipe").write_text("Plums.")
    (files / "b.recipe").write_text("BAD")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import own_module  # type: ignore[import-not-found]

    settings = load_settings(store=tmp_path / "s", limits={"isolation": isolation})
    try:
        with clew.open(settings=settings, embedder=HashEmbedder(), plugins=[own_module]) as store:
            report = store.index(files)
            assert [one.title for one in store] == ["A recipe"]
        assert [one.reason for one in report.skipped] == ["its reading failed: ValueError: no"]
    finally:
        forget_plugins()
        sys.modules.pop("own_module")


@pytest.mark.parametrize(
    ("hook", "told"), [("raeders", "has an unknown hook 'raeders'"), ("", "has no hook")]
)
def test_a_plugin_without_a_hook_is_refused(tmp_path: Path, hook: str, told: str) -> None:
    members: dict[str, object] = {hook: clew.hookimpl(lambda self: {})} if hook else {}
    with pytest.raises(InputError, match=told):
        clew.open(tmp_path, plugins=[type("Mine", (), members)()])
    assert not list(tmp_path.iterdir())
