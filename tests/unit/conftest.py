from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.testing.fakes import HashEmbedder
from tests.conftest import ISOLATION


@pytest.fixture(scope="module", autouse=True)
def _read_in_this_process() -> Iterator[None]:
    """These tests are about other things, and a worker for each of their engines takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ISOLATION, "none")
        yield


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    """An empty store, which is sound in the end, too."""
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        yield engine
        assert engine.maintenance.check().problems == ()
