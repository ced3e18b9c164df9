"""Files of the machine that serves: what a caller over HTTP or a clever link cannot read."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from clew.derived_files import is_private, make_file, make_folder
from clew.engine import Engine
from clew.errors import InputError, SettingsError, UnreadableError
from clew.indexing.inputs import file_digest, read_file
from clew.indexing.reading.files import find_files, list_real, open_real, permitted_path
from clew.jobs import Ingestion, JobRunner, make_runner
from clew.mcp.http import served_settings
from clew.operations.toolbox import make_toolbox
from clew.settings import ReadSettings, Settings, load_settings
from clew.testing.fakes import HashEmbedder
from tests.e2e.conftest import run_clew
from tests.e2e.test_mcp_http import let_in, serving
from tests.unit.mcp_tools import engine_in

pytestmark = pytest.mark.anyio
SECRET = "The password of Harrow Ford is swordfish."
LETTER = "Jonas Reed built the mill at Harrow Ford."


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with settings, a store, and files of two namespaces."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clew.toml").write_text('[[serve.tokens]]\nname = "ada"\n')
    (tmp_path / "secret.md").write_text(SECRET)
    for namespace in ("mills", "bells"):
        folder = tmp_path / "files" / namespace
        folder.mkdir(parents=True)
        (folder / "letter.md").write_text(f"{LETTER} Kept by {namespace}.")
    return tmp_path


class Caller:
    """Somebody who calls tools of a namespace over HTTP."""

    def __init__(self, settings: Settings) -> None:
        self.engine = Engine(settings, embedder=HashEmbedder())
        self.jobs = make_runner(self.engine)
        self.jobs.start()
        self.tools = make_toolbox(self.engine, jobs=self.jobs)

    def give(self, path: str | Path) -> dict[str, Any]:
        """What comes of a path: the error, or the job once it has ended."""
        content = self.tools.call("ingest_document", {"path": str(path)}).content
        if "job_id" in content:
            self.jobs.wait(content["job_id"], 30)
            content = self.tools.call("query_job_status", {"job_id": content["job_id"]}).content
        return content

    def sources(self) -> list[str]:
        return [Path(document.source).name for document in self.engine.documents.list()]

    def gives_the_letter_alone(self) -> None:
        """Of the whole folder."""
        job = self.give(".")
        assert (job["status"], job["errors"], job["total"]) == ("completed", [], 1)
        assert "letter.md" in self.sources()


def settings_of(folder: Path, *roots: str) -> Settings:
    tokens = [{"name": "ada", "sha256": "0" * 64, "namespaces": ["mills"]}]
    serve = {"tokens": tokens, "roots": roots}
    (folder / "clew.toml").unlink(missing_ok=True)
    given = load_settings(store=folder / "store", namespace="mills", serve=serve)
    (folder / "clew.toml").write_text("[serve]\n")
    return served_settings(given)


@pytest.fixture
def own(here: Path) -> Path:
    """The folder of `mills`."""
    return here / "files" / "mills"


@pytest.fixture
def served(here: Path) -> Settings:
    """Of a server that opens a folder of its own to each namespace."""
    return settings_of(here, str(here / "files" / "{namespace}"))


@pytest.fixture
def mills(served: Settings) -> Iterator[Caller]:
    caller = Caller(served)
    yield caller
    caller.engine.close()


# --- where nothing is set


PATHS = ("clew.toml", "secret.md", ".", "store", "files/mills/letter.md", "/etc/passwd", "~", "")


async def test_a_real_server_gives_its_settings_to_nobody(tmp_path: Path) -> None:
    """Whoever may write asks for `clew.toml`, by every name of it that they can think of."""
    headers = let_in(tmp_path, "notes")
    with serving(tmp_path) as (url, _):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            for path in (*PATHS, "./clew.toml", str(tmp_path / "clew.toml")):
                result = await client.call_tool("ingest_document", {"path": path})
                assert result.is_error
                assert re.search("no folder is open to you here|exactly one of", str(result))
                assert str(tmp_path) not in str(result).replace(path or "?", "…")


@pytest.mark.parametrize("root", ["/srv/documents", "{namespace}", "files/{namespace}"])
def test_roots_are_a_namespaces_own(root: str) -> None:
    with pytest.raises(SettingsError, match="expected absolute folders with"):
        load_settings(serve={"roots": [root]})


# --- where a folder is set


def test_a_namespace_reads_its_own_folder_alone(mills: Caller, here: Path) -> None:
    for path in ("../bells/letter.md", "../bells", "..", here / "files" / "bells" / "letter.md"):
        assert "outside the folders" in mills.give(path)["error"]
    assert mills.give("letter.md")["status"] == "completed"
    (letter,) = mills.engine.documents.list()
    assert mills.engine.documents.text(letter.id).endswith("Kept by mills.")


def test_links_show_neither_content_nor_names(mills: Caller, here: Path, own: Path) -> None:
    for name, target in (
        ("content.md", here / "secret.md"),
        ("names", here / "files" / "bells"),
        ("root", "/"),
        ("again.md", own / "letter.md"),
        ("gone.md", here / "files" / "bells" / "nothing-of-that-name.md"),
    ):
        (own / name).symlink_to(target)

    for path in ("content.md", "names", "names/letter.md", "root/etc/passwd", "gone.md"):
        assert "outside the folders" in mills.give(path)["error"]
    mills.gives_the_letter_alone()


def test_settings_and_stores_are_never_read(served: Settings, own: Path) -> None:
    """Not even where the root holds them, whatever they are called."""
    caller = Caller(served.model_copy(update={"store": own / "data"}))
    for name in ("clew.toml", "other/CLEW.toml", "data/bells/notes.md"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text("[serve]\n")
    (own / "linked.md").symlink_to(own / "data" / "mills" / "clew.db")
    caller.engine.add("Edda Rowe cast the bell.", source="bell")

    for path in ("clew.toml", "other/CLEW.toml", "data", "data/bells/notes.md", "linked.md"):
        assert "are not for documents" in caller.give(path)["error"]
    caller.gives_the_letter_alone()
    caller.engine.close()


def test_settings_in_a_root_are_known_by_what_they_are(
    here: Path, own: Path, served: Settings
) -> None:
    (own / "mine.conf").write_text("[serve]\n")
    (here / "clew.toml").unlink()
    (here / "clew.toml").symlink_to(own / "mine.conf")

    with pytest.raises(InputError, match="are not for documents"):
        permitted_path("mine.conf", served)


def test_a_job_keeps_the_rights_of_whoever_gave_it(
    here: Path, own: Path, served: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process, whose own folders are others, reads what was given and nothing else."""
    kept: dict[str, Any] = {}

    def keep(_: object, kind: str, given: dict[str, Any], **more: object) -> None:
        kept.update(given)
        raise InputError("nothing runs here")

    monkeypatch.setattr(JobRunner, "submit", keep)
    with Engine(served, embedder=HashEmbedder()) as engine:
        make_toolbox(engine).call("ingest_document", {"path": "."})
    (own / "secret.md").symlink_to(here / "secret.md")

    local = load_settings(store=here / "store", access={"roots": [here]})
    with Engine(local, embedder=HashEmbedder()) as engine:
        assert permitted_path("secret.md", engine.settings) == here / "secret.md"
        names = Ingestion(engine).plan(kept)
        with pytest.raises(InputError, match="outside the folders"):
            Ingestion(engine).run(kept, [str(here / "secret.md")], lambda done: None)

    assert [Path(name).name for name in names] == ["letter.md"]


# --- between looking and opening


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system looks at the path")
def test_a_path_that_becomes_a_link_is_not_followed(here: Path, own: Path) -> None:
    inner = own / "inner"
    inner.mkdir()
    (inner / "secret.md").write_text("mine")
    found = list(find_files([own], settings=ReadSettings()))
    (inner / "secret.md").unlink()
    inner.rmdir()
    inner.symlink_to(here)  # where there is a secret.md, too
    (own / "letter.md").unlink()
    (own / "letter.md").symlink_to(here / "secret.md")

    assert sorted(path.name for path in found) == ["letter.md", "secret.md"]
    for path in found:
        for read in (file_digest, read_file):
            with pytest.raises(UnreadableError, match=r"not a directory|symbolic links"):
                read(path, ReadSettings())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system looks at the path")
def test_swapping_a_folder_never_wins(here: Path, own: Path, served: Settings) -> None:
    """A folder is exchanged for a link to the secret's as fast as can be."""
    out = here / "out"
    for folder, text in ((out, SECRET), (own / "real", "mine")):
        folder.mkdir()
        (folder / "note.md").write_text(text)
    (out / "name-of-others.md").write_text(SECRET)
    (own / "link").symlink_to(out)
    stopped = threading.Event()

    def swap() -> None:
        while not stopped.is_set():
            for name in ("real", "link"):
                os.rename(own / name, own / "now")
                os.rename(own / "now", own / name)

    thread = threading.Thread(target=swap)
    thread.start()
    read, listed, refused = set(), set(), 0
    try:
        for _ in range(3000):
            try:
                with open_real(permitted_path("now/note.md", served)) as file:
                    read.add(file.read())
                listed |= set(list_real(permitted_path("now", served)))
            except (InputError, OSError):
                refused += 1
    finally:
        stopped.set()
        thread.join()

    assert refused > 0
    assert (read, listed) == ({b"mine"}, {"note.md"})


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_pipes_hold_nobody_up(own: Path) -> None:
    os.mkfifo(own / "pipe.md")
    os.mkfifo(own / ".gitignore")

    with pytest.raises(UnreadableError, match="not a regular file"):
        read_file(own / "pipe.md", ReadSettings())
    assert [path.name for path in find_files([own], settings=ReadSettings())] == ["letter.md"]


# --- `clew index`, and `clew mcp` of the user's own


def test_index_follows_a_link_out_where_it_is_told_to(here: Path, own: Path) -> None:
    (own / "secret.md").symlink_to(here / "secret.md")
    (here / "clew.toml").unlink()
    done = run_clew("index", own, "--follow-links", cwd=here)
    listed = run_clew("documents", cwd=here).stdout

    assert done.returncode == 0, done.stderr
    assert "secret" in listed


def test_a_local_server_reads_its_root_but_no_settings(here: Path) -> None:
    (here / "clew.toml").write_text("[search]\nlimit = 7\n")
    closed = load_settings(store=here / "store")
    settings = load_settings(store=here / "store", access={"roots": [here]})

    for path in ("secret.md", here / "secret.md", "/etc/passwd"):
        with pytest.raises(InputError, match=r"no folder is open .* the setting access\.roots"):
            permitted_path(path, closed)
    assert permitted_path("secret.md", settings) == here / "secret.md"
    for path in ("clew.toml", "store/default/clew.db"):
        with pytest.raises(InputError, match="are not for documents"):
            permitted_path(path, settings)
    assert "clew.toml" not in {p.name for p in find_files([here], settings=ReadSettings())}


HIDDEN = (".env", ".git/config", ".ssh/id_ed25519", "docs/.secret.md", ".config/app/a.md")


def test_what_is_hidden_is_read_where_it_is_named_alone(tmp_path: Path) -> None:
    def permitted(name: str | Path, root: Path = tmp_path, *, hidden: bool = False) -> Path:
        read, access = {"hidden": hidden}, {"roots": (root,)}
        return permitted_path(name, load_settings(store=tmp_path / "s", access=access, read=read))

    for name in (*HIDDEN, "docs/open.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Jonas Reed built the mill.")
    assert permitted("docs/open.md") == tmp_path / "docs/open.md"
    for name in HIDDEN:
        file = tmp_path / name
        with pytest.raises(InputError, match="is hidden"):
            permitted(name)
        if not file.name.startswith("."):
            assert permitted(file, file.parent) == file
        assert permitted(name, hidden=True) == file


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_relative_root_opens_neither_home_nor_what_is_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    home = tmp_path / "home" / "ann"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    settings = load_settings(store=tmp_path / "s", access={"roots": ["."]})
    for folder in ((home, *home.parents)[depth], Path("/")):
        monkeypatch.chdir(folder)
        with pytest.raises(InputError, match="no folder is open"):
            permitted_path("a.md", settings)
    monkeypatch.chdir(home / "work")
    assert permitted_path("a.md", settings) == home / "work" / "a.md"
    meant = load_settings(store=tmp_path / "s", access={"roots": [home]})
    assert permitted_path("a.md", meant) == home / "a.md"


# --- What Clew writes is for the user alone who runs it, whatever the umask says.


has_modes = pytest.mark.skipif(sys.platform == "win32", reason="modes mean nothing there")


@has_modes
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


@has_modes
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


@has_modes
def test_helpers_leave_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    make_file(tmp_path / "file")
    make_folder(tmp_path)
    for taken in ("file", "file/below"):
        with pytest.raises(FileExistsError):
            make_folder(tmp_path / taken)

    assert (tmp_path / "file").read_text() == "kept"
    assert not is_private(tmp_path / "file")
