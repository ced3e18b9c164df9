"""Every example of an adapter runs as it is, from a folder with nothing in it."""

from __future__ import annotations

import doctest
import importlib
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from streamlit.testing.v1 import AppTest

import clew

OPEN = clew.open
ROOT = Path(__file__).parents[2]
ADAPTERS = ROOT / "src" / "clew" / "integrations"
PRINTED = {
    "langchain": "Piet Oss: Piet Oss kept a workshop by the canal for thirty years.",
    "langgraph": "  Piet Oss kept a workshop by the canal for thirty years.",
    "openai_agents": "She was an apprentice of Piet Oss.",
    "pydantic_ai": "She was an apprentice of Piet Oss.",
    "haystack": "morn ['Tower of Vell', 'Ada Morn']",
    "llama_index": "Ada Morn -> taught_by -> Piet Oss",
}
"""By adapter, a line that its example prints."""


PROGRAMS = {
    "documents": "left: ['note-1', 'note-2'] 2 False",
    "filters": "since 2020: The loom of Vell was mended by Tobias Fenn.",
    "own_embedder": "vectors: ['north', 'east']",
    "own_reader": "Plum cake is a recipe by Hanna Weber.",
    "reranker": "1.0 ['old', 'new']",
    "streaming": "sources: ['note-0']",
    "tenants": "left: ['anna-before', 'bo-lind']",
}
"""Programs of docs/library.md, and a line that each prints."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_library_runs_and_is_short(name: str, tmp_path: Path) -> None:
    program = ROOT / "examples" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert PROGRAMS[name] in done.stdout.splitlines()
    assert len(program.read_text("utf-8").splitlines()) < 40
    assert f"`{name}.py`" in (ROOT / "docs" / "library.md").read_text("utf-8")


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    # Not named as the framework: its own folder comes first where Python looks for modules.
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"use_{name}.py")],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("use_*.py")), ids=lambda p: p.stem
)
def test_an_example_is_short_and_a_page_names_it(example: Path) -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs" / "integrations").glob("*.md")]
    naming = [page for page in pages if f"](../../examples/{example.name})" in page]

    assert len(example.read_text("utf-8").splitlines()) < 40
    assert [len(page.split()) <= 200 for page in naming] == [True]


@pytest.mark.parametrize("module", sorted(one.stem for one in ADAPTERS.glob("[a-z]*.py")))
def test_examples_of_docstrings(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = importlib.import_module(f"clew.integrations.{module}")
    with ExitStack() as opened:
        monkeypatch.setattr(
            clew, "open", lambda *args, **options: opened.enter_context(OPEN(*args, **options))
        )
        for number, each in enumerate(adapter.__all__):
            (tmp_path / str(number)).mkdir()
            monkeypatch.chdir(tmp_path / str(number))
            thing = getattr(adapter, each)
            assert "Example:\n" in thing.__doc__
            test = doctest.DocTestParser().get_doctest(thing.__doc__, vars(adapter), each, None, 0)
            told: list[str] = []
            doctest.DocTestRunner().run(test, out=told.append, clear_globs=False)
            assert not told, "".join(told)


# --- examples that serve


def test_the_service_searches_and_answers_in_pieces(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(ROOT / "examples")]
    command += ["use_fastapi:app", "--port", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as served:
        try:
            asked = {"question": "Who built the great clock of Vell?"}
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", params=asked) as client:
                for _ in range(600):
                    try:
                        client.get("/search")
                        break
                    except httpx.ConnectError:
                        assert served.poll() is None, served.stderr and served.stderr.read()
                        time.sleep(0.1)
                found = client.get("/search", params={"limit": 1}).json()
                with client.stream("GET", "/ask") as answer:
                    pieces = "".join(answer.iter_text())
                with client.stream("GET", "/ask"):
                    pass  # hung up
                wrong = httpx.get(f"http://127.0.0.1:{port}/search")
        finally:
            served.send_signal(signal.SIGINT)
            _, told = served.communicate(timeout=30)

    assert [one["source"] for one in found] == ["clock"]
    assert "Ada Morn built the great clock of Vell." in pieces
    assert wrong.status_code == 422
    assert b"Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_the_page_asks_and_shows_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = AppTest.from_file(str(ROOT / "examples" / "use_streamlit.py"), default_timeout=60).run()
    page.text_input[0].set_value("Whose apprentice built the clock of the Tower of Vell?").run()

    assert not page.exception
    assert "Piet Oss kept a workshop by the canal for thirty years." in [t.value for t in page.text]
    assert "Ada Morn: She was an apprentice of Piet Oss." in [c.value for c in page.caption]
