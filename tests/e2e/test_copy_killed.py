"""A copy that is killed leaves nothing, or a target that says that it is unfinished, or all of it.

Every moment is tried: what a real process does to the target's files is written down, and cut off
after each of its steps.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from clew.engine.maintenance import copy
from clew.errors import StoreError
from clew.settings import load_settings
from clew.stores.sqlite.store import SqliteStore
from clew.testing.conformance import EMBEDDER, make_entry
from tests.disk import after_power_loss, recorded, restored

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recorded on Linux alone")

COPY = """
import sys
import clew.engine.maintenance as copying
from clew.settings import load_settings

copying._ROWS = copying._ROWS_WITH_VECTORS = 3
copying.copy(load_settings(store=sys.argv[1]), load_settings(store=sys.argv[2]))
"""


def test_a_killed_copy_is_never_taken_for_a_whole_store(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with closing(SqliteStore(source / "default", embedder=EMBEDDER)) as store:
        for name in "abcde":
            store.save(make_entry(name, f"Text {name}.", names=["Text"]))
    ops = recorded(tmp_path, target, COPY, source, target)
    outcomes = []
    for place in range(len(ops) + 1):
        left = after_power_loss(ops[:place], "all")
        folder = restored(left, target / "default", tmp_path / "left" / f"{place}" / "default")
        outcomes.append(outcome(folder))
    assert list(dict.fromkeys(outcomes)) == ["nothing", "not begun", "unfinished", "whole"]
    for told in ("nothing", "not begun", "unfinished"):
        last = len(outcomes) - 1 - outcomes[::-1].index(told)
        there = tmp_path / "left" / f"{last}"
        copy(load_settings(store=source), load_settings(store=there))
        assert outcome(there / "default") == "whole"


def outcome(folder: Path) -> str:
    """What whoever opens the target is told."""
    if not (folder / "clew.db").exists():
        return "nothing"
    try:
        store = SqliteStore(folder)
    except StoreError as error:
        return "not begun" if "interrupted before it began" in str(error) else "unfinished"
    with closing(store):
        assert store.check().problems == ()
        assert len(store.documents()) == 5
        return "whole"
