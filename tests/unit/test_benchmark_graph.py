from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.graph import drawing, main, make_graph


def test_degrees_of_the_graph_follow_a_power_law() -> None:
    graph = make_graph(2_000, 20_000)
    degrees = np.sort(np.diff(graph.starts))[::-1]
    assert 18_000 < len(graph.strengths) <= 20_000
    assert degrees[0] > 10 * np.median(degrees) > 0
    ranks = np.arange(10, 500)
    slope, _ = np.polyfit(np.log(ranks), np.log(degrees[ranks]), 1)
    assert slope == pytest.approx(-0.6, abs=0.1)
    assert np.array_equal(make_graph(2_000, 20_000).edges, graph.edges)


def test_what_is_drawn_has_ties() -> None:
    graph = make_graph(500, 300)
    degrees = np.diff(graph.starts)
    drawn = drawing(graph)(50)
    assert len(set(drawn)) == 50
    assert degrees[drawn].min() > 0


def test_every_operation_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["graph", "--entities", "200", "--relations", "1000", "--runs", "2"]
    monkeypatch.setattr("sys.argv", small)
    main()
    table = capsys.readouterr().out.splitlines()
    monkeypatch.setattr("sys.argv", [*small, "--json"])
    main()
    figures = json.loads(capsys.readouterr().out)
    assert table[0].startswith("200 entities, ")
    named = [line.split(" | ")[0].removeprefix("| ") for line in table[4:]]
    assert named == [figure["operation"] for figure in figures]
    assert all(figure["ratio"] > 0 for figure in figures)
