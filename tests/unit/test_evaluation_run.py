from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.evaluation import evaluate, measure_strategy
from clew.evaluation.beir import BeirDataset, Question
from clew.evaluation.run import rank_passages
from clew.settings import load_settings
from clew.types import Context, Hit, SearchResult, StoredChunk

WHOLE = "set/corpus.jsonl#"
JOINED = "set/corpus.jsonl#part_of=talk"
DATASET = BeirDataset(
    name="set",
    passages=5,
    documents=(),
    passage_of_source={f"{WHOLE}{name}": name for name in ("a", "b", "c")},
    joined_sources=frozenset({JOINED}),
    questions=(
        Question(id="q1", text="first", type="one hop"),
        Question(id="q2", text="second", type="two hops"),
        Question(id="q3", text="third", type=None),
    ),
    qrels={"q1": {"a": 1}, "q2": {"b": 1, "t:1": 1}, "q3": {"c": 1}},
    unknown_questions=0,
    unknown_passages=0,
    digest="",
)


def make_hit(source: str, ordinal: int = 0, key: str | None = None) -> Hit:
    chunk = StoredChunk(
        id=1,
        document_id="d",
        source=source,
        title="",
        ordinal=ordinal,
        section_id=1,
        start=0,
        end=1,
        page=None,
        text="x",
        context="",
        key=key,
        metadata={},
    )
    return Hit(chunk=chunk, score=1.0, scores={}, source="vector")


class ScriptedEngine:
    """Answers from a table and remembers what it was asked."""

    def __init__(self, hits: dict[str, list[Hit]]) -> None:
        self.hits = hits
        self.asked: list[tuple[str, str, int]] = []

    def search(self, question: str, *, strategy: str, limit: int) -> SearchResult:
        self.asked.append((question, strategy, limit))
        return SearchResult(
            query=question,
            strategy=strategy,
            reason="",
            hits=tuple(self.hits[question][:limit]),
            context=Context(text="", citations=(), tokens=0, left_out=0),
        )


def whole(*names: str) -> list[Hit]:
    return [make_hit(f"{WHOLE}{name}") for name in names]


def test_hits_on_one_passage_collapse_to_the_best() -> None:
    hits = [
        make_hit(f"{WHOLE}b", ordinal=3),
        make_hit(JOINED, key="t:2"),
        make_hit(f"{WHOLE}b", ordinal=0),
        make_hit("another document", key="t:1"),
        make_hit(JOINED, key="t:1"),
        make_hit(JOINED, key="t:2"),
    ]

    assert rank_passages(hits, DATASET) == ["b", "t:2", "t:1"]


def test_a_strategy_is_measured() -> None:
    engine = ScriptedEngine(
        {
            "first": whole("a", "b"),
            "second": [*whole("c", "b"), make_hit(JOINED, key="t:1")],
            "third": [],
        }
    )
    seen: list[tuple[str, int, int | None]] = []

    row = measure_strategy(
        engine, DATASET, "graph", (1, 2), progress=lambda *step: seen.append(step)
    )

    assert list(row) == [
        *("strategy", "recall@1", "recall@2", "all@5", "ndcg@10", "mrr", "query_ms", "by_type")
    ]
    assert row["strategy"] == "graph"
    assert row["recall@1"] == pytest.approx(1 / 3)
    assert row["recall@2"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert row["all@5"] == pytest.approx(2 / 3)
    assert row["mrr"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert 0 <= row["query_ms"]["p50"] <= row["query_ms"]["p95"]
    assert {kind: means["questions"] for kind, means in row["by_type"].items()} == {
        "one hop": 1,
        "two hops": 1,
    }
    assert row["by_type"]["two hops"]["recall@2"] == 0.5
    assert seen == [("graph", 1, 3), ("graph", 2, 3), ("graph", 3, 3)]


def test_one_question_warms_up_and_enough_hits_are_asked_for() -> None:
    engine = ScriptedEngine({question.text: whole("a") for question in DATASET.questions})

    measure_strategy(engine, DATASET, "vector", (2, 50))

    assert [text for text, _, _ in engine.asked] == ["first", "first", "second", "third"]
    assert {(strategy, limit) for _, strategy, limit in engine.asked} == {("vector", 150)}


@pytest.mark.parametrize("ks", [(), (5, 0)])
def test_ranks_that_cannot_be(tmp_path: Path, ks: Sequence[int]) -> None:
    with pytest.raises(InputError, match="ks must be one or more ranks of at least 1"):
        evaluate(tmp_path, strategies=["vector"], ks=ks, store=None, settings=load_settings())


def test_no_strategy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no strategy given"):
        evaluate(tmp_path, strategies=[], store=None, settings=load_settings())
