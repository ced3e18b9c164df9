"""What a sentence states of names that the store knows is found however they are written."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity

PATTERNS = {
    "relates_to": "relates to",
    "causes": "causes",
    "part_of": "is part of",
    "implements": "implements",
    "extends": "extends",
    "uses": "uses",
    "depends_on": "depends on",
}
PAIRS = (
    ("Grafana Agent", "Prometheus Remote Write"),
    ("billing service", "event queue"),
    ("ledger", "billing service"),
    ("disk latency", "cache misses"),
    ("Tarn", "ledger"),
)

syllables = st.text("bdfgklmnprtvz", min_size=1, max_size=1).flatmap(
    lambda c: st.sampled_from("aeiou").map(lambda v: c + v)
)
words = st.lists(syllables, min_size=3, max_size=4).map("".join)
names = st.builds(
    lambda parts, form: form(" ".join(parts)),
    st.lists(words, min_size=1, max_size=3),
    st.sampled_from((str, str.title)),
)


def relations(engine: clew.Clew) -> set[tuple[str, str, str]]:
    ids = sorted({alias.entity_id for alias in engine.store.aliases()})
    shown = engine.store.entity_names(ids)
    return {
        (shown[one.from_entity_id], one.relation_type, shown[one.to_entity_id])
        for one in engine.store.relations(ids, 10_000)
    }


def check(engine: clew.Clew, pairs: tuple[tuple[str, str], ...], end: str) -> None:
    known = dict.fromkeys(name for pair in pairs for name in pair)
    engine.entities.memory.create([NewEntity(name=n, entity_type="product") for n in known])
    for i, (head, tail) in enumerate(pairs):
        for relation_type, wording in PATTERNS.items():
            engine.add(f"{head} {wording} {tail}{end}", source=f"{i} {relation_type}")
    expected = {(head, kind, tail) for head, tail in pairs for kind in PATTERNS}
    assert relations(engine) == expected


@pytest.mark.parametrize("end", ["", "."])
def test_each_pattern_gives_its_relation(
    tmp_path_factory: pytest.TempPathFactory, end: str
) -> None:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder(dimension=8)) as engine:
        check(engine, PAIRS, end)


@given(one=names, other=names, end=st.sampled_from(("", ".")))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_of_any_names(
    tmp_path_factory: pytest.TempPathFactory, one: str, other: str, end: str
) -> None:
    if set(one.casefold().split()) & set(other.casefold().split()):
        return
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder(dimension=8)) as engine:
        check(engine, ((one, other),), end)


def test_names_that_no_store_knows_need_their_capitals(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder(dimension=8)) as engine:
        engine.add("Grafana Agent uses Prometheus Remote Write", source="a")
        engine.add("the ledger uses an event queue", source="b")
        assert relations(engine) == {("Grafana Agent", "uses", "Prometheus Remote Write")}
