"""The command line as a person has it: real processes, real folders, a store indexed once."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from clew.cli import main

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]

NOTES = {
    "mill.md": """\
---
title: The Mill at Harrow Ford
author: Ada Quill
year: 2019
---
The mill at Harrow Ford was built by Jonas Reed. Jonas Reed learned his trade in Tarn Abbey.
""",
    "abbey.md": """\
---
title: Tarn Abbey
author: Ada Quill
year: 2021
---
Tarn Abbey stands on the river Lorne. Tarn Abbey is part of the Lorne Estate.
""",
    "lorne.md": """\
---
title: The Lorne
author: Piet Vos
year: 2023
---
The Lorne is a slow river with seven weirs. The Lorne Estate (LE) owns its fishing rights.
""",
    "東京.md": """\
---
title: 東京
author: 佐藤
year: 2022
---
東京は日本の首都です。東京タワーは1958年に完成しました。
""",
}

WORKSHOP = {
    "diary.md": """\
---
title: Diary of a workshop
author: Mara Lind
date: 2023-05-08
---
Yesterday Jonas Weir brought the new loom. Mara Lind lives in Tarnholm, close to the Weir Mill.
""",
    "letter.md": """\
---
title: Letter from Ostby
author: Mara Lind
date: 2024-02-12
---
Mara Lind moved to Ostby last month. She sold the old loom to Pia Sand.
""",
    "guide.md": """\
---
title: A Guide to Looms
author: Pia Sand
date: 2022-11-03
---
Pia Sand taught Mara Lind to weave in 2019. The Weir Mill is part of the Sole Trust.
""",
    "trust.md": """\
---
title: The Sole Trust
author: Jonas Weir
date: 2021-06-30
---
The Sole Trust was founded in 1987 by Agnes Holm. Jonas Weir works for the Sole Trust since 2017.
""",
}


@dataclass(frozen=True)
class Library:
    """A folder of notes and the store that it was indexed into."""

    folder: Path
    store: Path


def run_clew(
    *arguments: str | Path, cwd: Path, stdin: str | bytes = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `python -m clew` as a process of its own, without a terminal."""
    done = subprocess.run(
        [sys.executable, "-m", "clew", *map(str, arguments)],
        input=stdin if isinstance(stdin, bytes) else stdin.encode(),
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


@pytest.fixture
def clew(tmp_path: Path) -> Run:
    """`run_clew` in a folder of its own."""

    def run(
        *arguments: str | Path, stdin: str | bytes = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return run_clew(*arguments, cwd=tmp_path, stdin=stdin, **environment)

    return run


@pytest.fixture
def in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """The same command and the same outcome within this process: many cases in little time."""
    monkeypatch.chdir(tmp_path)

    def run(
        *arguments: str | Path, stdin: str | bytes = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        given = io.BytesIO(stdin if isinstance(stdin, bytes) else stdin.encode())
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["clew", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(given, "utf-8"))
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as exit_:
                main()
        out, err = capfd.readouterr()
        status = exit_.value.code
        return subprocess.CompletedProcess(arguments, int(status or 0), out, err)

    return run


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, _compiled_once: None) -> Library:
    """The notes, indexed; for tests that only look."""
    return _indexed(NOTES, tmp_path_factory)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, _compiled_once: None) -> Library:
    """Dated notes in which people move and work, indexed; for tests that only look."""
    return _indexed(WORKSHOP, tmp_path_factory)


def _indexed(notes: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("notes")
    for name, text in notes.items():
        (folder / name).write_text(text, encoding="utf-8")
    store = tmp_path_factory.mktemp("store")
    done = run_clew("index", folder, "--store", store, cwd=folder)
    assert done.returncode == 0, done.stderr
    return Library(folder, store)


@pytest.fixture
def library(indexed: Library, tmp_path: Path) -> Library:
    """The same notes and a copy of their store; for tests that change something."""
    store = tmp_path / "store"
    shutil.copytree(indexed.store, store)
    return Library(indexed.folder, store)
