"""What `get_graph_statistics` says about the vector index in use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from clew import Clew
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from tests.unit.qdrant_server import stand_in


def open_with(tmp_path: Path, **settings: Any) -> Clew:  # noqa: ANN401
    engine = Clew(load_settings(store=tmp_path / "store", **settings), embedder=HashEmbedder())
    engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill")
    return engine


def graph_statistics(engine: Clew) -> tuple[dict[str, Any], dict[str, Any]]:
    """`statistics` and `health`; what both say of the vector index is the same."""
    outcome = engine.tools.call("get_graph_statistics", {})
    assert not outcome.is_error, outcome.text
    content = outcome.content
    statistics, health = content["statistics"], content["health"]
    assert {name: statistics[name] for name in health if name != "status"} == {
        name: value for name, value in health.items() if name != "status"
    }
    assert health["entities"] == engine.maintenance.stats()["entities"]
    return statistics, health


def test_the_stores_own_vectors_are_connected(tmp_path: Path) -> None:
    with open_with(tmp_path) as engine:
        statistics, health = graph_statistics(engine)
    assert health["status"] == "healthy"
    assert statistics["vector_store"] == "embedded"
    assert (statistics["embedded_available"], statistics["embedded_connected"]) == (True, True)
    assert (statistics["qdrant_available"], statistics["qdrant_connected"]) == (False, False)
    assert statistics["vector_store_problem"] == ""


def test_a_qdrant_that_answers_is_connected(tmp_path: Path) -> None:
    with (
        stand_in() as server,
        open_with(tmp_path, vectors="qdrant", qdrant={"url": server.url}) as engine,
    ):
        statistics, health = graph_statistics(engine)
    assert health["status"] == "healthy"
    assert statistics["vector_store"] == "qdrant"
    assert (statistics["qdrant_available"], statistics["qdrant_connected"]) == (True, True)
    assert statistics["vector_store_problem"] == ""


def test_a_qdrant_that_is_away_is_degraded_and_the_reason_is_given(tmp_path: Path) -> None:
    with stand_in() as server:
        engine = open_with(tmp_path, vectors="qdrant", qdrant={"url": server.url})
    with engine:
        statistics, health = graph_statistics(engine)
    assert health["status"] == "degraded"
    assert (statistics["qdrant_available"], statistics["qdrant_connected"]) == (True, False)
    assert f"cannot reach Qdrant at '{server.url}'" in statistics["vector_store_problem"]
    assert "start it there, or set qdrant.url" in statistics["vector_store_problem"]


def test_a_qdrant_without_its_client_is_unhealthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_with(tmp_path).close()
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    settings = load_settings(store=tmp_path / "store", vectors="qdrant")
    with Clew(settings, embedder=HashEmbedder()) as engine:
        statistics, health = graph_statistics(engine)
    assert health["status"] == "unhealthy"
    assert (statistics["qdrant_available"], statistics["qdrant_connected"]) == (False, False)
    assert "pip install 'clew[qdrant]'" in statistics["vector_store_problem"]


def test_a_chroma_says_so_under_its_own_name(tmp_path: Path) -> None:
    with open_with(tmp_path, vectors="chroma") as engine:
        statistics, health = graph_statistics(engine)
    assert health["status"] == "healthy"
    assert statistics["vector_store"] == "chroma"
    assert (statistics["chroma_available"], statistics["chroma_connected"]) == (True, True)
    assert (statistics["qdrant_available"], statistics["qdrant_connected"]) == (False, False)
