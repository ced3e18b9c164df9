"""The steps that any strategy can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import clew
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add

if TYPE_CHECKING:
    from clew.types import Scores

TEXTS = {
    "Trust": "The Skerrow Lighthouse Trust (SLT) began in Marrow.",
    "oil": "SLT has its oil brought from Bergen by ship.",
    "Morn": "Ada Morn built the clock of Vell.",
    "Oss": "Piet Oss kept bees by the canal.",
    "bees": "Who keeps bees may keep them by a canal or by a clock.",
    "clocks": "Who built clocks built them in winter.",
}


class LastFirst:
    """A reranker that likes best what stands last in the alphabet."""

    name = "last-first"

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        self.read = list(texts)
        places = np.argsort(np.argsort(texts))
        return (places / max(len(texts) - 1, 1)).astype(np.float32)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS)
        yield engine


def found(result: clew.SearchResult) -> list[str]:
    return [hit.chunk.title for hit in result.hits]


# --- a second reading


@pytest.mark.parametrize("strategy", ["vector", "graph", "parent_child"])
def test_a_reranker_reads_the_best_and_its_share_decides(tmp_path: Path, strategy: str) -> None:
    reranker = LastFirst()
    settings = clew.load_settings(store=tmp_path, rerank={"weight": 1.0, "depth": 4})
    with clew.open(settings=settings, embedder=HashEmbedder(), reranker=reranker) as engine:
        add(engine, TEXTS)
        plain = engine.search("who built clocks?", strategy=strategy, rerank=False)
        assert reranker.read == []
        again = engine.search("who built clocks?", strategy=strategy)
    assert len(reranker.read) == 4
    assert found(again)[:4] == sorted(found(plain)[:4], reverse=True)
    assert found(again)[4:] == found(plain)[4:]
    assert "rerank" in again.timings_ms


def test_without_a_reranker_the_order_stays(engine: clew.Clew) -> None:
    one = engine.search("who built clocks?", strategy="vector", rerank=False)
    other = engine.search("who built clocks?", strategy="vector", rerank=True)
    assert found(one) == found(other)
