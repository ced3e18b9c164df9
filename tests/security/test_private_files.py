"""What Clew writes is for the user alone who runs it, whatever the umask says."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.derived_files import is_private, make_file, make_folder
from tests.e2e.conftest import run_clew
from tests.unit.mcp_tools import engine_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")


@pytest.fixture(params=[0o000, 0o022, 0o077])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path, *, of_files: bool) -> dict[str, int]:
    paths = [path for path in folder.rglob("*") if path.is_file() == of_files]
    return {str(p.relative_to(folder)): p.stat().st_mode & 0o777 for p in paths}


@pytest.mark.usefixtures("_umask")
def test_a_store_and_all_that_is_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "stores"
    with engine_in(folder) as engine:
        engine.add("Jonas Reed built the mill at Harrow Ford.", source="mill.md")
        engine.search("Who built the mill?")
        engine.maintenance.backup(tmp_path / "copy.db")
        engine.maintenance.reindex()
        # While the journal of SQLite is there.
        files, folders = (modes(tmp_path, of_files=of_files) for of_files in (True, False))

    assert set(files.values()) == {0o600}, files
    assert set(folders.values()) == {0o700}, folders
    kinds = {Path(name).suffix for name in files}
    assert {".db", ".arrays"} <= kinds
    assert any(name.endswith("-wal") for name in files)


@pytest.mark.usefixtures("_umask")
def test_what_a_user_opened_stays_open(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o770)
    with engine_in(tmp_path / "shared") as engine:
        engine.add("Jonas Reed built the mill.", source="mill.md")
        database = engine.store.folder / "clew.db"
    database.chmod(0o640)

    with engine_in(tmp_path / "shared") as engine:
        engine.add("Edda Rowe cast the bell.", source="bell.md")

    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o770
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
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "file" / "below")

    assert (tmp_path / "file").read_text() == "kept"
    assert not is_private(tmp_path / "file")
