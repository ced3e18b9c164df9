"""Files of the machine that serves: what a caller over HTTP or a clever link cannot read."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from clew.engine import Engine
from clew.errors import InputError, SettingsError, UnreadableError
from clew.indexing.reading.files import find_files, list_real, open_real, permitted_path
from clew.indexing.reading.reader import file_digest, read_file
from clew.jobs.kinds import Ingestion, make_runner
from clew.mcp.http.serve import served_settings
from clew.settings import ReadSettings, Settings, load_settings
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import make_toolbox
from tests.e2e.conftest import run_clew
from tests.e2e.test_mcp_http import serving

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
        told = self.tools.call("ingest_document", {"path": str(path)})
        ended = time.monotonic() + 30
        content = told.content
        while not told.is_error and content["status"] in {"queued", "running"}:
            assert time.monotonic() < ended
            time.sleep(0.01)
            content = self.tools.call("query_job_status", {"job_id": content["job_id"]}).content
        return content

    def sources(self) -> list[str]:
        return [Path(document.source).name for document in self.engine.documents.list()]


def settings_of(folder: Path, namespace: str = "mills", *roots: str) -> Settings:
    tokens = [{"name": "ada", "sha256": "0" * 64, "namespaces": [namespace]}]
    serve = {"tokens": tokens, **({"roots": roots} if roots else {})}
    (folder / "clew.toml").unlink(missing_ok=True)
    given = load_settings(store=folder / "store", namespace=namespace, serve=serve)
    (folder / "clew.toml").write_text("[serve]\n")
    return served_settings(given)


@pytest.fixture
def mills(here: Path) -> Iterator[Caller]:
    caller = Caller(settings_of(here, "mills", str(here / "files" / "{namespace}")))
    yield caller
    caller.engine.close()


# --- where nothing is set


PATHS = ("clew.toml", "secret.md", ".", "store", "files/mills/letter.md", "/etc/passwd", "~", "")


@pytest.mark.parametrize("path", PATHS)
def test_a_served_caller_has_no_files(here: Path, path: str) -> None:
    caller = Caller(settings_of(here))
    told = caller.give(path)
    stored = caller.sources()
    caller.engine.close()

    assert (told["success"], stored) == (False, [])
    assert "no folder is open to you here" in told["error"] or "exactly one of" in told["error"]
    assert str(here) not in told["error"]


async def test_a_real_server_gives_its_settings_to_nobody(tmp_path: Path) -> None:
    """Whoever may write asks for `clew.toml`, by every name of it that they can think of."""
    made = run_clew("token", "ada", "--namespace", "notes", cwd=tmp_path)
    (tmp_path / "clew.toml").write_text(made.stderr.partition("\n")[2], encoding="utf-8")
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    told = []
    with serving(tmp_path) as (url, _):
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            for path in ("clew.toml", "./clew.toml", str(tmp_path / "clew.toml"), "."):
                result = await client.call_tool("ingest_document", {"path": path})
                told.append((result.is_error, "no folder is open to you here" in str(result)))

    assert told == [(True, True)] * 4


@pytest.mark.parametrize("root", ["/srv/documents", "{namespace}", "files/{namespace}"])
def test_roots_are_a_namespaces_own(root: str) -> None:
    with pytest.raises(SettingsError, match="expected absolute folders with"):
        load_settings(serve={"roots": [root]})


# --- where a folder is set


def test_a_namespace_reads_its_own_folder_alone(mills: Caller, here: Path) -> None:
    for path in ("../bells/letter.md", "../bells", "..", here / "files" / "bells" / "letter.md"):
        assert "outside the folders" in mills.give(path)["error"]
    assert mills.give("letter.md")["status"] == "completed"
    assert mills.sources() == ["letter.md"]
    assert "mills" in mills.engine.documents.text(mills.engine.documents.list()[0].id)


def test_links_show_neither_content_nor_names(mills: Caller, here: Path) -> None:
    own = here / "files" / "mills"
    (own / "content.md").symlink_to(here / "secret.md")
    (own / "names").symlink_to(here / "files" / "bells")
    (own / "root").symlink_to("/")
    (own / "again.md").symlink_to(own / "letter.md")
    (own / "gone.md").symlink_to(here / "files" / "bells" / "nothing-of-that-name.md")

    for path in ("content.md", "names", "names/letter.md", "root/etc/passwd", "gone.md"):
        assert "outside the folders" in mills.give(path)["error"]
    job = mills.give(".")

    assert (job["status"], job["errors"], job["total"]) == ("completed", [], 1)
    assert mills.sources() == ["letter.md"]


def test_settings_and_stores_are_never_read(here: Path) -> None:
    """Not even where the root holds them, whatever they are called."""
    root = here / "files" / "mills"
    (root / "clew.toml").write_text("[serve]\n")
    (root / "other").mkdir()
    (root / "other" / "CLEW.toml").write_text("[serve]\n")
    settings = settings_of(here, "mills", str(here / "files" / "{namespace}"))
    settings = settings.model_copy(update={"store": root / "data"})
    (root / "linked.md").symlink_to(root / "data" / "mills" / "clew.db")
    caller = Caller(settings)
    caller.engine.add("Edda Rowe cast the bell.", source="bell")
    (root / "data" / "bells").mkdir()
    (root / "data" / "bells" / "notes.md").write_text(SECRET)

    for path in ("clew.toml", "other/CLEW.toml", "data", "data/bells/notes.md", "linked.md"):
        assert "are not for documents" in caller.give(path)["error"]
    job = caller.give(".")
    caller.engine.close()

    assert (job["status"], job["errors"], job["total"]) == ("completed", [], 1)


def test_settings_in_a_root_are_known_by_what_they_are(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = here / "files" / "mills"
    settings = settings_of(here, "mills", str(here / "files" / "{namespace}"))
    (root / "mine.conf").write_text("[serve]\n")
    (here / "clew.toml").unlink()
    (here / "clew.toml").symlink_to(root / "mine.conf")

    with pytest.raises(InputError, match="are not for documents"):
        permitted_path("mine.conf", settings)


class Queue:
    """Keeps what jobs are given, and runs none."""

    def __init__(self) -> None:
        self.given: list[dict[str, Any]] = []

    def submit(self, kind: str, given: dict[str, Any], **more: object) -> None:
        self.given.append(given)
        raise InputError("nothing runs here")


def test_a_job_keeps_the_rights_of_whoever_gave_it(here: Path) -> None:
    """Another process, whose own folders are others, reads what was given and nothing else."""
    own = here / "files" / "mills"
    queue = Queue()
    served = settings_of(here, "mills", str(here / "files" / "{namespace}"))
    with Engine(served, embedder=HashEmbedder()) as engine:
        tools = make_toolbox(engine, jobs=queue)  # type: ignore[arg-type]
        tools.call("ingest_document", {"path": "."})
    (kept,) = queue.given
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
def test_a_path_that_becomes_a_link_is_not_followed(here: Path) -> None:
    own = here / "files" / "mills"
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
def test_swapping_a_folder_never_wins(here: Path) -> None:
    """A folder is exchanged for a link to the secret's as fast as can be."""
    own, out = here / "files" / "mills", here / "out"
    out.mkdir()
    (out / "note.md").write_text(SECRET)
    (own / "real").mkdir()
    (own / "real" / "note.md").write_text("mine")
    (own / "link").symlink_to(out)
    stopped = threading.Event()

    def swap() -> None:
        while not stopped.is_set():
            os.rename(own / "real", own / "now")
            os.rename(own / "now", own / "real")
            os.rename(own / "link", own / "now")
            os.rename(own / "now", own / "link")

    settings = settings_of(here, "mills", str(here / "files" / "{namespace}"))
    (out / "name-of-others.md").write_text(SECRET)
    thread = threading.Thread(target=swap)
    thread.start()
    read, listed, refused = set(), set(), 0
    try:
        for _ in range(3000):
            try:
                with open_real(permitted_path("now/note.md", settings)) as file:
                    read.add(file.read())
                listed |= set(list_real(permitted_path("now", settings)))
            except (InputError, OSError):
                refused += 1
    finally:
        stopped.set()
        thread.join()

    assert refused > 0
    assert (read, listed) == ({b"mine"}, {"note.md"})


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_pipes_hold_nobody_up(here: Path) -> None:
    own = here / "files" / "mills"
    os.mkfifo(own / "pipe.md")
    os.mkfifo(own / ".gitignore")

    with pytest.raises(UnreadableError, match="not a regular file"):
        read_file(own / "pipe.md", ReadSettings())
    assert [path.name for path in find_files([own], settings=ReadSettings())] == ["letter.md"]


# --- `clew index`, and `clew mcp` of the user's own


def test_index_follows_no_link_out_unless_told(here: Path) -> None:
    own = here / "files" / "mills"
    (own / "secret.md").symlink_to(here / "secret.md")
    (own / "bells").symlink_to(here / "files" / "bells")
    (here / "clew.toml").unlink()

    def indexed(*options: str) -> list[str]:
        done = run_clew("index", own, "--store", here / "s", *options, cwd=here)
        assert done.returncode == 0, done.stderr
        return sorted(run_clew("documents", "--store", here / "s", cwd=here).stdout.split())

    first = " ".join(indexed())
    assert ("mills" in first, "secret" in first, "bells" in first) == (True, False, False)
    second = " ".join(indexed("--follow-links"))
    assert ("secret" in second, "bells" in second) == (True, True)


def test_a_local_server_reads_no_file_before_a_root_is_set(here: Path) -> None:
    (here / "clew.toml").write_text("[search]\nlimit = 7\n")
    for path in ("secret.md", here / "secret.md", "/etc/passwd"):
        with pytest.raises(InputError, match=r"no folder is open .* the setting access\.roots"):
            permitted_path(path, load_settings(store=here / "store"))


def test_a_local_server_reads_its_root_but_no_settings(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "clew.toml").write_text("[search]\nlimit = 7\n")
    settings = load_settings(store=here / "store", access={"roots": [here]})

    assert permitted_path("secret.md", settings) == here / "secret.md"
    for path in ("clew.toml", "store/default/clew.db"):
        with pytest.raises(InputError, match="are not for documents"):
            permitted_path(path, settings)
    names = {path.name for path in find_files([here], settings=ReadSettings())}
    assert "clew.toml" not in names


HIDDEN = (".env", ".git/config", ".ssh/id_ed25519", "docs/.secret.md", ".config/app/a.md")


def test_what_is_hidden_is_read_where_it_is_named_alone(tmp_path: Path) -> None:
    for name in (*HIDDEN, "docs/open.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Jonas Reed built the mill.")
    usual = load_settings(store=tmp_path / "s", access={"roots": (tmp_path,)})
    assert permitted_path("docs/open.md", usual) == tmp_path / "docs/open.md"
    for name in HIDDEN:
        with pytest.raises(InputError, match="is hidden"):
            permitted_path(name, usual)
        folder = (tmp_path / name).parent
        named = usual.access.model_copy(update={"roots": (folder,)})
        settings = usual.model_copy(update={"access": named})
        if not Path(name).name.startswith("."):
            assert permitted_path(tmp_path / name, settings) == tmp_path / name
        shown = usual.model_copy(update={"read": usual.read.model_copy(update={"hidden": True})})
        assert permitted_path(name, shown) == tmp_path / name


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_relative_root_opens_neither_home_nor_what_is_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    home = tmp_path / "home" / "ann"
    (home / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    settings = load_settings(store=tmp_path / "s", access={"roots": ["."]})
    monkeypatch.chdir((home, *home.parents)[depth])
    (Path.cwd() / "a.md").write_text("Jonas Reed built the mill.")
    with pytest.raises(InputError, match="no folder is open"):
        permitted_path("a.md", settings)
    monkeypatch.chdir("/")
    with pytest.raises(InputError, match="no folder is open"):
        permitted_path("/etc/passwd", settings)
    monkeypatch.chdir(home / "work")
    assert permitted_path("a.md", settings) == home / "work" / "a.md"
    meant = settings.model_copy(
        update={"access": settings.access.model_copy(update={"roots": (home,)})}
    )
    assert permitted_path("a.md", meant) == home / "a.md"
