"""The examples of docs/asking.md and the README's demo, run as they stand there."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Run

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "asking.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("name", ["guide.md", "diary.md", "letter.md"])
def test_the_page_gives_its_notes(name: str) -> None:
    assert sum(block.startswith(f"<!-- notes/{name} -->\n") for block in blocks("markdown")) == 1


def test_every_example_prints_what_the_page_says(
    in_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A slow machine would say how far it is.
    monkeypatch.setattr("clew.cli.progress.SECONDS_BETWEEN_LINES", math.inf)
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
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"^\$ uv run clew demo\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert said
    lines = re.sub(r"indexed in [\d.]+ s", "indexed in … s", said[1]).rstrip("\n").split("\n")
    lines = [line.strip() if line.strip() == "…" else line for line in lines]
    monkeypatch.chdir(CHECKOUT)

    done = in_process("demo")

    assert done.returncode == 0, done.stderr
    printed = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    assert re.match(pattern(lines), printed), printed


def test_every_strategy_has_an_entry() -> None:
    from clew.search.strategies import STRATEGIES

    headings = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))

    assert {name for name in STRATEGIES if f"`{name}`" not in headings} == set()
