from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.evaluation import evaluate, to_markdown
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder

STRATEGIES = ("vector", "keyword", "hybrid", "graph")
PASSAGES: list[dict[str, Any]] = [
    {"_id": "p1", "title": "Talos", "text": "Talos guarded the island of Crete, it is told."},
    {"_id": "p2", "title": "Daedalus", "text": "Daedalus built the labyrinth at Knossos."},
    {"_id": "p3", "title": "Rhubarb", "text": "Rhubarb is cooked with sugar and ginger."},
    {
        "_id": "t:1",
        "title": "Talk",
        "text": "Ann: my violin lesson was yesterday",
        "metadata": {"part_of": "talk", "position": 1},
    },
    {
        "_id": "t:2",
        "title": "Talk",
        "text": "Ben: and I went swimming in the lake",
        "metadata": {"part_of": "talk", "position": 2},
    },
]
QUESTIONS: list[dict[str, Any]] = [
    {"_id": "q1", "text": "Who built the labyrinth at Knossos?", "metadata": {"type": "myth"}},
    {"_id": "q2", "text": "Who went swimming in the lake?"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("clew.engine.state.make_embedder", lambda settings: HashEmbedder())
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    for name, records in (("corpus", PASSAGES), ("queries", QUESTIONS)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq1\tp2\t1\nq2\tt:2\t1\n"
    (folder / "qrels" / "test.tsv").write_text(qrels, "utf-8")
    return folder


def test_a_folder_is_indexed_asked_and_measured(folder: Path, tmp_path: Path) -> None:
    steps: set[str] = set()

    report = evaluate(
        folder,
        strategies=STRATEGIES,
        ks=(1, 3),
        store=None,
        settings=load_settings(),
        progress=lambda step, done, total: steps.add(step),
    )

    assert list(report) == ["dataset", "passages", "questions", "index_seconds", "rows"]
    assert (report["dataset"], report["passages"], report["questions"]) == ("tiny", 5, 2)
    seconds = report["index_seconds"]
    assert 0 < seconds["embedding"] <= seconds["total"]
    for row, strategy in zip(report["rows"], STRATEGIES, strict=True):
        assert row["strategy"] == strategy
        # Both questions are written in the words of their passage.
        assert row["recall@1"] == row["recall@3"] == row["mrr"] == row["ndcg@10"] == 1.0
        assert row["by_type"]["myth"]["questions"] == 1
    assert steps.issuperset(STRATEGIES)
    assert json.loads(json.dumps(report)) == report


def test_a_store_is_kept_and_used_again(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "store"

    def run() -> dict[str, Any]:
        return evaluate(
            folder, strategies=["vector"], ks=(1,), store=place, settings=load_settings()
        )

    first, second = run(), run()

    assert first["rows"][0]["recall@1"] == second["rows"][0]["recall@1"] == 1.0
    assert second["index_seconds"]["embedding"] == 0


def test_a_set_that_the_ranker_was_trained_on_is_marked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clew.evaluation import load_beir
    from clew.search.ranking.ranker import shipped

    digest = load_beir(folder).digest
    known = replace(shipped(), trained_on=frozenset({digest}))
    monkeypatch.setattr("clew.search.ranking.ranker.shipped", lambda: known)

    def remarks(strategy: str) -> bool:
        report = evaluate(folder, strategies=[strategy], store=None, settings=load_settings())
        return "trained_on" in report

    assert remarks("graph")
    assert remarks("auto")
    assert not remarks("vector")


def test_unknown_judgements_are_reported(folder: Path) -> None:
    with (folder / "qrels" / "test.tsv").open("a", encoding="utf-8") as qrels:
        qrels.write("q9\tp1\t1\nq1\tp9\t1\n")

    report = evaluate(folder, strategies=["keyword"], store=None, settings=load_settings())

    assert report["unknown_judgements"] == {"questions": 1, "passages": 1}
    assert report["rows"][0]["recall@20"] == 0.75


def test_kinds_of_retrieval_stand_side_by_side(folder: Path) -> None:
    report = evaluate(folder, strategies=(), rag_types=True, store=None, settings=load_settings())
    assert [row["strategy"] for row in report["rows"]] == ["traditional", "contextual", "graph"]
    for row in report["rows"]:
        assert row["failures@20"] == 0.0
        assert 20 < row["context_tokens"] < 400
        assert 0 < row["query_ms"]["p50"] <= row["query_ms"]["p95"]
    header, *lines = to_markdown([report]).split("\n\n")[1].splitlines()
    assert header == "| strategy | failures@20 | context_tokens | p50 ms | p95 ms |"
    assert lines[1].startswith("| traditional | 0.0 | ")
