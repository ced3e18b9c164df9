from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.stores.communities import Communities
from clew.stores.sqlite.store import SqliteStore
from clew.stores.store import Store
from clew.testing.entries import EMBEDDER
from tests.contract.suites.communities import CommunityWriterSuite


class TestCommunities(CommunityWriterSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path, embedder=EMBEDDER)
        yield store
        assert store.check().problems == ()
        store.close()

    @pytest.fixture
    def keeper(self, store: Store) -> Communities:
        assert isinstance(store, SqliteStore)
        return Communities(store.backend)
