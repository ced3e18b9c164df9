"""The pages of the documentation keep to what the command line does."""

from __future__ import annotations

import json
import math
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from clew.cli.commands.asking import ANSWER
from tests.e2e.conftest import Run

Docs: TypeAlias = Callable[..., tuple[int, str]]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def docs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Docs:
    """Runs scripts/docs.py on a folder of its own; its status and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        command = ["docs.py", "--root", str(tmp_path), *arguments]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as exit_:
            runpy.run_path(str(ROOT / "scripts" / "docs.py"), run_name="__main__")
        return int(exit_.value.code or 0), capsys.readouterr().out

    return run


def test_pages_are_written_then_current_then_stale(docs: Docs, tmp_path: Path) -> None:
    missing, _ = docs("--check")
    written, _ = docs()
    current = docs("--check")
    page = tmp_path / "docs" / "cli.md"
    page.write_text(page.read_text("utf-8").replace("--limit", "--most"), encoding="utf-8")
    stale = docs("--check")

    assert (missing, written) == (1, 0)
    assert current == (0, "")
    assert stale == (1, "docs/cli.md is out of date; run: python scripts/docs.py\n")


def test_versions_must_agree(docs: Docs, tmp_path: Path) -> None:
    docs()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.0.9"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 0.0.8\n")
    wrong = docs("--check")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    right = docs("--check")

    assert wrong[0] == 1
    assert "pyproject.toml has version 0.0.9" in wrong[1]
    assert "CHANGELOG.md begins with 0.0.8" in wrong[1]
    assert right == (0, "")


# --- The examples of docs/asking.md and the README's demo, run as they stand there.


PAGE = (ROOT / "docs" / "asking.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[list[str], list[str]]]:
    """(arguments of `clew`, lines that the page says it prints), in order."""
    for block in blocks("console"):
        for example in re.split(r"^\$ clew ", block, flags=re.MULTILINE)[1:]:
            command, *lines = example.rstrip("\n").split("\n")
            yield shlex.split(command), lines


def pattern(lines: Sequence[str]) -> str:
    """`…` is any part of a line, and alone on a line any lines."""
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(re.escape(line.rstrip()).replace("…", ".*") + r" *\n")
    return "".join(parts)


def test_every_example_prints_what_the_page_says(
    in_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A slow machine would say how far it is.
    monkeypatch.setattr("clew.cli.common.SECONDS_BETWEEN_LINES", math.inf)
    (tmp_path / "notes").mkdir()
    for block in blocks("markdown"):
        place, _, text = block.partition("\n")
        (tmp_path / place.strip("<!- >")).write_text(text, encoding="utf-8")

    for arguments, lines in examples():
        done = in_process(*arguments)

        assert done.returncode == 0, done.stderr
        printed = f"{done.stdout.rstrip()}\n{done.stderr}".lstrip("\n")
        found = re.fullmatch(pattern(lines) + r"\n*", printed)
        assert found, f"clew {shlex.join(arguments)} prints:\n{printed}"


def test_the_demo_prints_what_the_readme_says(
    in_process: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"^\$ uv run clew demo\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert said
    lines = re.sub(r"indexed in [\d.]+ s", "indexed in … s", said[1]).rstrip("\n").split("\n")
    lines = [line.strip() if line.strip() == "…" else line for line in lines]
    monkeypatch.chdir(ROOT)

    done = in_process("demo")

    assert done.returncode == 0, done.stderr
    printed = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    assert re.match(pattern(lines), printed), printed


def test_every_strategy_has_an_entry() -> None:
    from clew.search.pipeline import STRATEGIES

    headings = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))

    assert {name for name in STRATEGIES if f"`{name}`" not in headings} == set()


def test_the_thread_leads_where_words_do_not(in_process: Run) -> None:
    shown = json.loads(in_process("demo", "--json").stdout)

    assert shown["places"]["keyword"] is None
    assert shown["places"]["graph"] <= 3
    answer = shown["result"]["results"][shown["places"]["graph"] - 1]
    assert answer["metadata"]["title"] == ANSWER
    path = answer["graph_context"]["path"]
    assert path[0].startswith("Skerrow Rock")
    assert ANSWER in path[-1]
