from __future__ import annotations

import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

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


def test_pages_name_commands_and_settings(docs: Docs, tmp_path: Path) -> None:
    docs()

    assert "clew entity split [OPTIONS] ENTITY NAMES..." in (tmp_path / "docs/cli.md").read_text()
    assert "`CLEW_SPLIT__CHUNK_TOKENS`" in (tmp_path / "docs/settings.md").read_text()
    assert "- `entity_id` (integer, required): " in (tmp_path / "docs/tools.md").read_text()


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
