"""What Clew writes is for the user alone who runs it, whatever the umask says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from clew.derived_files import is_private, make_file, make_folder
from tests.e2e.conftest import run_clew
from tests.unit.mcp_tools import engine_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_store_is_private_unless_a_user_opened_it(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with engine_in(tmp_path / "new" / "stores") as engine:
            engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill.md")
            engine.search("Who built the mill?")
            engine.maintenance.backup(tmp_path / "copy.db")
            engine.maintenance.reindex()
            # While the journal of SQLite is there.
            modes = {path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
        database = engine.store.folder / "clew.db"
        database.chmod(0o640)
        database.parent.chmod(0o770)
        with engine_in(tmp_path / "new" / "stores") as engine:
            engine.add("Edda Rowe cast the bell.", source="bell.md")
    finally:
        os.umask(before)

    assert modes == {path: 0o700 if path.is_dir() else 0o600 for path in modes}
    assert {".db", ".arrays"} <= {path.suffix for path in modes}
    assert any(path.name.endswith("-wal") for path in modes)
    assert database.parent.stat().st_mode & 0o777 == 0o770
    assert database.stat().st_mode & 0o777 == 0o640


def test_check_says_who_else_may_read(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with engine_in(store) as engine:
        engine.add("Jonas Reed built the mill.", source="mill.md")
    private = run_clew("check", "--store", store, cwd=tmp_path)
    (store / "default").chmod(0o755)
    open_to_others = run_clew("check", "--store", store, cwd=tmp_path)

    assert (private.returncode, private.stderr) == (0, "")
    assert open_to_others.returncode == 0
    assert "Others on this machine may read" in open_to_others.stderr


def test_helpers_leave_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    make_file(tmp_path / "file")
    make_folder(tmp_path)
    for taken in ("file", "file/below"):
        with pytest.raises(FileExistsError):
            make_folder(tmp_path / taken)

    assert (tmp_path / "file").read_text() == "kept"
    assert not is_private(tmp_path / "file")
