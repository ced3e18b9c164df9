from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.ports import CommunityWriter, Store
from clew.stores.communities.communities import Communities
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import CommunityWriterSuite
from clew.testing.entries import EMBEDDER


class TestCommunities(CommunityWriterSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER)
        yield store
        assert store.check().problems == ()
        store.close()

    @pytest.fixture
    def keeper(self, store: Store) -> CommunityWriter:
        assert isinstance(store, SqliteStore)
        return Communities(store.backend)
