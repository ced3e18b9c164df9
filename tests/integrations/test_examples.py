"""Every example of an adapter runs as it is, from a folder with nothing in it."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import clew

OPEN = clew.open
ROOT = Path(__file__).parents[2]
PRINTED = {
    "haystack": "morn ['Tower of Vell', 'Ada Morn']",
    "llama_index": "Ada Morn -> taught_by -> Piet Oss",
}
"""By adapter, a line that its example prints."""


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


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_is_short_and_its_page_names_it(name: str) -> None:
    page = (ROOT / "docs" / "integrations" / f"{name}.md").read_text("utf-8")

    assert len((ROOT / "examples" / f"use_{name}.py").read_text("utf-8").splitlines()) < 40
    assert f"examples/use_{name}.py" in page
    assert len(page.split()) <= 200


@pytest.mark.parametrize("name", ["haystack", "llama_index", "llama_index_graph"])
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"clew.integrations.{name}")
    opened: list[clew.Clew] = []

    def open_noted(*args: Any, **options: Any) -> clew.Clew:  # noqa: ANN401 - those of `open`
        opened.append(OPEN(*args, **options))
        return opened[-1]

    monkeypatch.setattr(clew, "open", open_noted)
    for number, each in enumerate(module.__all__):
        (tmp_path / str(number)).mkdir()
        monkeypatch.chdir(tmp_path / str(number))
        thing = getattr(module, each)
        assert "Example:\n" in thing.__doc__
        test = doctest.DocTestParser().get_doctest(thing.__doc__, vars(module), each, None, 0)
        told: list[str] = []
        doctest.DocTestRunner().run(test, out=told.append, clear_globs=False)
        assert not told, "".join(told)

    for store in opened:
        store.close()
