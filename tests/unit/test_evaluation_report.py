from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from clew.evaluation import notes, to_markdown, to_table


def make_report(**more: object) -> dict[str, Any]:
    means = {"recall@2": 0.625, "all@5": 0.5, "ndcg@10": 1.0, "mrr": 0.0}
    return {
        "dataset": "tiny",
        "passages": 1234,
        "questions": 8,
        "index_seconds": {"total": 12.34, "embedding": 10.0},
        "rows": [
            {
                "strategy": "vector",
                **means,
                "query_ms": {"p50": 4.21, "p95": 9.0},
                "by_type": {"two|hops": {"questions": 3, **means}},
            },
            {"strategy": "graph", **means, "query_ms": {"p50": 5, "p95": 6}, "by_type": {}},
        ],
        **more,
    }


def test_markdown() -> None:
    assert to_markdown([make_report()]) == (
        "### tiny: 1,234 passages, 8 questions, indexed in 12.3 s (10.0 s of it embedding)\n"
        "\n"
        "| strategy | recall@2 | all@5 | ndcg@10 | mrr | p50 ms | p95 ms |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| vector | 62.5 | 50.0 | 100.0 | 0.0 | 4.2 | 9.0 |\n"
        "| - two\\|hops (3) | 62.5 | 50.0 | 100.0 | 0.0 |  |  |\n"
        "| graph | 62.5 | 50.0 | 100.0 | 0.0 | 5.0 | 6.0 |\n"
    )


def test_several_folders_follow_each_other() -> None:
    text = to_markdown([make_report(), make_report(dataset="second")])

    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("#")] == [
        "### tiny",
        "### second",
    ]


def test_table_shows_every_figure() -> None:
    console = Console(width=120, file=io.StringIO())

    with console.capture() as shown:
        console.print(to_table(make_report(trained_on=True)))

    text = shown.get()
    for part in ("tiny: 1,234 passages", "recall@2", "62.5", "- two|hops (3)", "was trained on"):
        assert part in text


def test_notes_say_what_to_keep_in_mind() -> None:
    report = make_report(
        trained_on=True, skipped=4, unknown_judgements={"questions": 2, "passages": 3}
    )

    assert notes(make_report()) == []
    assert notes(report) == [
        "The ranker of `graph` was trained on this set: its row shows the fit.",
        "4 documents could not be indexed.",
        "2 judgements name unknown questions (left out).",
        "3 judgements name unknown passages (never found).",
    ]
