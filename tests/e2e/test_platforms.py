"""Systems that this one is not: what they lack is taken away, and a folder is indexed and asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import asyncio, multiprocessing.connection, os, signal, subprocess, sys, tempfile
import anyio, numpy, onnxruntime, platformdirs, typer, zoneinfo

class Missing:
    names = {missing}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"no {{name}} here", name=name)

sys.meta_path.insert(0, Missing())
for name in Missing.names:
    sys.modules.pop(name, None)
for module, names in ((os, {os}), (signal, {signal})):
    for name in names:
        vars(module).pop(name, None)
sys.platform = {platform!r}

import clew
from clew.cli import main

with clew.open("store") as store:
    report = store.index("notes")
    print(report.added, report.skipped)
    for hit in store.search("Who built the clock of Vell?"):
        print(hit.chunk.text)
sys.argv = ["clew", "--store", "store", "doctor"]
main()
"""
MODES = ["O_PATH", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_NOCTTY", "sched_getaffinity"]
SYSTEMS = {
    "win32": {
        "missing": ["fcntl", "resource", "termios", "pwd", "grp"],
        "os": [*MODES, "fork", "geteuid", "getuid", "sysconf", "mkfifo", "killpg", "setsid"],
        "signal": ["SIGKILL", "SIGALRM", "SIGIO", "SIGHUP", "setitimer"],
    },
    "darwin": {
        "missing": [],
        "os": ["O_PATH", "sched_getaffinity"],
        "signal": [],
    },
}


@pytest.mark.parametrize("platform", SYSTEMS)
def test_a_folder_is_indexed_and_asked(tmp_path: Path, platform: str) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "vell.md").write_text("# Vell\n\nThe clock of Vell was built by Ada Morn.", "utf-8")
    (notes / "page.html").write_text("<h1>Ford</h1><p>A mill.</p>", "utf-8")
    script = SCRIPT.format(platform=platform, **SYSTEMS[platform])

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ()"), done.stdout
    assert "built by Ada Morn" in done.stdout
    limit = "the time and memory" if platform == "win32" else "the memory"
    assert f"! reading: nothing bounds {limit} of what reads documents" in done.stdout
    assert ("on Windows no other one reads them" in done.stderr) == (platform == "win32")
