"""The store for LangGraph does what LangGraph's own in-memory store does, and finds more."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

import clew
from clew.errors import InputError, MissingExtraError
from clew.integrations.langgraph import ClewStore
from clew.testing.fakes import HashEmbedder

EMBEDDER = HashEmbedder()
ITEMS = {
    "1": "Ada Morn built the great clock of the Tower of Vell.",
    "2": "Ada Morn was an apprentice of Piet Oss.",
    "3": "Piet Oss kept a workshop by the canal for thirty years.",
    "4": "The meadows by the river are full of bees in June.",
}
QUESTION = "Where did the teacher of the builder of the Tower of Vell's clock work?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[ClewStore]:
    with clew.open(tmp_path / "store", embedder=EMBEDDER) as store:
        yield ClewStore(store, fields=["text"])


# --- the same as InMemoryStore

LABELS = st.sampled_from(["a", "b", "ab", "ü", 'q"[x'])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["1", "2", "x/y", " z"])
WORDS = st.sampled_from("clock tower bees river canal mill rye moon".split())
NUMBERS = st.integers(2, 6) | st.sampled_from([2.5, 4.0])
SCALARS = NUMBERS | st.booleans() | st.sampled_from(["2", "2.5", "true", "clock", "2020-01-01", ""])
LISTS = st.lists(st.integers(2, 4) | WORDS, max_size=2)
NESTED = st.dictionaries(st.sampled_from(["x", "x/y", "x~1y"]), SCALARS, min_size=1, max_size=2)
TAGS = SCALARS | LISTS | NESTED
VALUES = st.fixed_dictionaries(
    {"text": st.lists(WORDS, min_size=1, max_size=4).map(" ".join), "n": NUMBERS},
    optional={"tag": TAGS | st.none()},
)
OPERATORS = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "n": NUMBERS | st.dictionaries(OPERATORS, NUMBERS, min_size=1, max_size=2),
        "tag": TAGS
        | st.none()
        | st.dictionaries(st.sampled_from(["$eq", "$ne"]), SCALARS | LISTS, min_size=1),
    },
)
PUTS = st.builds(PutOp, NAMESPACES, KEYS, VALUES | st.none(), st.none(), st.none())
MATCHES = st.lists(LABELS | st.just("*"), min_size=1, max_size=3).map(tuple) | st.none()


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [list(vector) for vector in EMBEDDER.embed_documents(texts).tolist()]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClewStore]:
    folder = tmp_path_factory.mktemp("kept")
    with clew.open(folder / "store", embedder=EMBEDDER) as store:
        yield ClewStore(store, fields=["text"], strategy="vector")


@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    batches=st.lists(st.lists(PUTS, min_size=1, max_size=6), min_size=1, max_size=2),
    asked=st.lists(st.tuples(st.lists(LABELS, max_size=2).map(tuple), FILTERS), max_size=6),
    listed=st.lists(
        st.tuples(MATCHES, MATCHES, st.integers(1, 3) | st.none()), min_size=1, max_size=4
    ),
    query=WORDS,
)
def test_it_does_what_the_store_in_memory_does(
    kept: ClewStore,
    batches: list[list[Op]],
    asked: list[tuple[tuple[str, ...], dict[str, Any]]],
    listed: list[tuple[Any, Any, int | None]],
    query: str,
) -> None:
    if len(kept.store):
        kept.store.delete([one.id for one in kept.store])
    index: IndexConfig = {"dims": 256, "embed": embed, "fields": ["text"]}
    model = InMemoryStore(index=index)

    def same(left: Any, right: Any) -> bool:  # noqa: ANN401 - items of either store
        return sorted((i.namespace, i.key, repr(i.value)) for i in left) == sorted(
            (i.namespace, i.key, repr(i.value)) for i in right
        )

    for batch in batches:
        gets = [GetOp(op.namespace, op.key) for op in batch if isinstance(op, PutOp)]
        ours: Any = kept.batch([*batch, *gets])
        theirs: Any = model.batch(gets)
        for op in batch:  # a batch with the same text twice is too much for the model
            model.batch([op])
        assert same(filter(None, ours), filter(None, theirs)), "reads see the store before"
        assert same(filter(None, kept.batch(gets)), filter(None, model.batch(gets)))
    for prefix, wanted in asked:
        search = SearchOp(prefix, wanted, limit=50)
        assert same(kept.batch([search])[0], model.batch([search])[0]), wanted
        question = SearchOp(prefix, wanted, limit=50, query=query)
        ((ours,), (theirs,)) = kept.batch([question]), model.batch([question])
        assert same(ours, theirs)
        assert [i.score for i in ours] == pytest.approx([i.score for i in theirs], abs=1e-5)
    for namespace in [one for one, items in model._data.items() if not items]:
        del model._data[namespace]  # those that were only asked for are not listed here
    for start, end, depth in listed:
        options: dict[str, Any] = {"prefix": start, "suffix": end, "max_depth": depth}
        assert kept.list_namespaces(**options) == model.list_namespaces(**options)


def test_pages(memory: ClewStore) -> None:
    for key, text in ITEMS.items():
        memory.put(("a", key), key, {"text": text})

    found = [memory.search(("a",), limit=2, offset=at) for at in (0, 2, 4)]
    asked = [memory.search(("a",), query="the river", limit=3, offset=at) for at in (0, 3)]
    listed = [memory.list_namespaces(limit=3, offset=at) for at in (0, 3)]

    assert [[one.key for one in page] for page in found] == [["1", "2"], ["3", "4"], []]
    assert sorted(one.key for page in asked for one in page) == ["1", "2", "3", "4"]
    assert [len(page) for page in listed] == [3, 1]


def test_an_item_keeps_the_day_that_it_was_made_on(memory: ClewStore) -> None:
    memory.put(("a",), "1", {"text": "one"})
    first = memory.get(("a",), "1")
    memory.put(("a",), "1", {"text": "one", "more": [{"b": None}]})
    second = memory.get(("a",), "1")

    assert first is not None
    assert second is not None
    assert second.value == {"text": "one", "more": [{"b": None}]}
    assert second.created_at == first.created_at < second.updated_at


def test_what_is_not_indexed_is_read_and_not_found(memory: ClewStore) -> None:
    memory.put(("a",), "hidden", {"text": "bees"}, index=False)
    memory.put(
        ("a",), "other", {"text": "goats", "turns": [{"said": "bees"}]}, index=["turns[*].said"]
    )
    memory.put(("a",), "empty", {})

    assert [one.key for one in memory.search(("a",), query="bees")] == ["other"]
    assert len(memory.search(("a",))) == 3
    assert memory.get(("a",), "hidden") is not None


def test_whole_values_are_found_by_the_names_of_their_fields(tmp_path: Path) -> None:
    with clew.open(tmp_path / "store", embedder=EMBEDDER) as store:
        memory = ClewStore(store, strategy="keyword")
        memory.put(("a",), "1", {"theme": "dark", "sizes": {"font": 12}})

        assert [one.key for one in memory.search((), query="Which theme?")] == ["1"]
        assert store.text('["a", "1"]').splitlines() == ["theme: dark", 'sizes: {"font": 12}']


def test_wrong_operations_are_refused(memory: ClewStore) -> None:
    with pytest.raises(InputError, match=r"unknown operator '\$in'; expected \$eq"):
        memory.search((), filter={"n": {"$in": [1]}})
    with pytest.raises(InputError, match="is no operation of a LangGraph store"):
        memory.batch(["get"])  # type: ignore[list-item]
    with pytest.raises(InvalidNamespaceError):
        memory.put(("a.b",), "1", {})
    with pytest.raises(NotImplementedError, match="TTL"):
        memory.put(("a",), "1", {}, ttl=5)


# --- more than it


def test_a_memory_is_found_over_two_others(memory: ClewStore) -> None:
    for key, text in ITEMS.items():
        memory.put(("people",), key, {"text": text})
    memory.store.add("A document that is no item of any namespace.", source="other")

    found = memory.search(("people",), query=QUESTION, limit=3)

    assert {one.key for one in found} == {"1", "2", "3"}
    assert memory.list_namespaces() == [("people",)]
    assert len(memory.search((), limit=50)) == 4


def test_tenants_see_their_own(memory: ClewStore) -> None:
    memory.put(("users", "anna"), "1", {"text": "Anna keeps bees."})
    memory.put(("users", "annabel"), "1", {"text": "Annabel keeps bees."})
    memory.put(("users", "anna", "work"), "1", {"text": "Anna teaches beekeeping."})

    found = memory.search(("users", "anna"), query="Who keeps bees?")
    memory.delete(("users", "anna"), "1")
    left = memory.search(("users",), query="Who keeps bees?")

    assert {one.namespace for one in found} == {("users", "anna"), ("users", "anna", "work")}
    assert {one.namespace for one in left} == {("users", "annabel"), ("users", "anna", "work")}


@pytest.mark.anyio
async def test_a_graph_remembers(tmp_path: Path) -> None:
    """With Clew's own model; across two stores on one folder."""

    class State(TypedDict):
        said: str
        known: list[str]

    async def recall(state: State, *, store: BaseStore) -> dict[str, list[str]]:
        found = await store.asearch(("memories",), query=state["said"], limit=1)
        return {"known": [one.value["text"] for one in found]}

    async def remember(state: State, *, store: BaseStore) -> None:
        await store.aput(("memories",), state["said"], {"text": state["said"]})

    async def run(said: str) -> list[str]:
        memory = ClewStore(tmp_path / "memory")
        builder = StateGraph(State)
        builder.add_node("recall", recall)
        builder.add_node("remember", remember)
        builder.add_edge(START, "recall")
        builder.add_edge("recall", "remember")
        builder.add_edge("remember", END)
        done = await builder.compile(store=memory).ainvoke({"said": said, "known": []})
        memory.store.close()
        return list(done["known"])

    assert await run("My sister Anna is allergic to nuts.") == []
    assert await run("What must Anna not eat?") == ["My sister Anna is allergic to nuts."]


def test_without_langgraph_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "clew.integrations.langgraph")
    monkeypatch.setitem(sys.modules, "langgraph.store.base", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'clew\[langgraph\]'"):
        import clew.integrations.langgraph  # noqa: F401
