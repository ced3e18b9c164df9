"""The wheels in a fresh environment: what a plain install has, does, and says that it lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from fpdf import FPDF

from clew import __version__

ROOT = Path(__file__).parents[2]
UV = os.environ.get("UV") or shutil.which("uv") or ""
MOST_PACKAGES = 59
MOST_MEGABYTES = 300
"""With compiled modules, as pip makes them; onnxruntime has 68 of them, the models 50."""

Installed: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


def run(
    *command: str | Path, cwd: Path | None = None, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A command without what this environment says to Python; it need not succeed."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "COV", "VIRTUAL"))}
    return subprocess.run(
        [*map(str, command)],
        env={**kept, "PYTHONPATH": str(path)} if path else kept,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        cwd=cwd,
    )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with both wheels and what they require."""
    if not UV:
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("installed")
    for source in (ROOT, ROOT / "models"):
        built = run(UV, "build", "--quiet", "--wheel", "--out-dir", folder / "wheels", source)
        if "hatchling" in built.stderr:  # what builds the wheels cannot be fetched
            pytest.skip(f"the package index cannot be reached: {built.stderr[-500:]}")
        assert built.returncode == 0, built.stderr
    run(UV, "venv", "--quiet", folder / "env")
    wheels = sorted((folder / "wheels").glob("*.whl"))
    options = ["--quiet", "--compile-bytecode", f"--constraint={ROOT / 'constraints.txt'}"]
    done = run(UV, "pip", "install", "--python", folder / "env", *options, *wheels)
    if re.search(r"[Cc]onnect|dns error|[Nn]etwork|timed out", done.stderr):
        pytest.skip(f"the package index cannot be reached: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr
    return folder / "env"


@pytest.fixture
def installed(environment: Path, tmp_path: Path) -> Installed:
    """Runs a command of the environment in a folder of its own."""
    binaries = environment / ("Scripts" if os.name == "nt" else "bin")

    def call(
        name: str, *arguments: str | Path, path: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return run(binaries / name, *arguments, cwd=tmp_path, path=path)

    return call


def test_it_is_small_and_whole(environment: Path) -> None:
    packages = run(UV, "pip", "list", "--python", environment, "--format", "freeze")
    checked = run(UV, "pip", "check", "--python", environment)
    (modules,) = environment.glob("[Ll]ib/**/site-packages")
    size = sum(file.lstat().st_size for file in modules.rglob("*") if file.is_file())

    assert checked.returncode == 0, checked.stderr
    assert len(packages.stdout.splitlines()) <= MOST_PACKAGES, packages.stdout
    assert size <= MOST_MEGABYTES * 2**20


def test_the_demo_answers(installed: Installed) -> None:
    done = installed("clew", "demo")
    version = installed("clew", "--version")

    assert done.returncode == 0, done.stderr
    assert "The answer stands in “Ilse Marrable”" in done.stdout
    assert version.stdout == f"clew {__version__}\n"


def test_the_library_does_what_the_readme_shows(installed: Installed, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    example = re.search(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert example
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "vell.md").write_text("# Vell\n\nThe clock of Vell was built by Ada Morn.", "utf-8")

    done = installed("python", "-W", "error", "-c", example[1].replace("~/notes", "notes"))

    assert done.returncode == 0, done.stderr
    assert "Ada Morn" in done.stdout


def extras(folder: Path, environment: Path, *names: str) -> Path:
    """A folder with the packages of some extras, to be put before those of the environment."""
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    wanted = [package for name in names for package in optional[name]]
    into = [f"--target={folder}", f"--constraint={ROOT / 'constraints.txt'}", "--quiet"]
    done = run(UV, "pip", "install", "--python", environment, *into, *wanted)
    assert done.returncode == 0, done.stderr
    return folder


def test_an_adapter_runs_beside_it(installed: Installed, environment: Path, tmp_path: Path) -> None:
    beside = extras(tmp_path / "extra", environment, "langchain")
    example = ROOT / "examples" / "use_langchain.py"

    done = installed("python", example, path=beside)

    assert done.returncode == 0, done.stderr
    assert "Piet Oss kept a workshop by the canal" in done.stdout


def test_what_takes_an_extra_is_said_and_read_once_it_is_there(
    installed: Installed, environment: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "vell.md").write_text("# Vell\n\nThe clock of Vell was built by Ada Morn.", "utf-8")
    (notes / "mill.py").write_text("def grind_barley(sacks):\n    return sacks\n", "utf-8")
    (notes / "page.html").write_text("<h1>Ford</h1><p>A mill.</p>", "utf-8")
    (notes / "old.txt").write_bytes("Der Müller heißt Jörg Öhler und mahlt früh.".encode("cp1252"))
    event = "BEGIN:VEVENT\nUID:1\nDTSTART:20240102\nSUMMARY:Fair\nEND:VEVENT"
    (notes / "day.ics").write_text(f"BEGIN:VCALENDAR\n{event}\nEND:VCALENDAR\n")
    (notes / "plain.eml").write_text("From: ada@x.org\nSubject: Weir\n\nThe weir is mended.\n")
    mail = "From: ada@x.org\nSubject: Weir\nContent-Type: text/html\n\n<p>The weir.</p>\n"
    (notes / "rich.eml").write_text(mail)
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica")
    pdf.cell(text="The mill at Harrow Ford")
    pdf.output(str(notes / "mill.pdf"))

    done = installed("clew", "index", "notes")
    found = installed("clew", "search", "grind_barley")
    again = installed("clew", "index", "notes")
    brought = extras(tmp_path / "extras", environment, "code", "documents", "personal")
    complete = installed("clew", "index", "notes", path=brought)
    unchanged = installed("clew", "index", "notes")

    lacking = {
        Path(line.split()[0]).name: line.split("'")[1]
        for line in done.stdout.splitlines()
        if "needs pip install" in line
    }
    assert done.returncode == 1
    assert lacking == {
        "mill.pdf": "clew[documents]",
        "day.ics": "clew[personal]",
    }
    assert done.stdout.startswith("6 added, ")
    assert "pip install 'clew[code]', and index again" in done.stderr
    assert "mill.py" in found.stdout
    assert again.stdout.startswith("0 added, 0 changed, 6 unchanged, ")
    assert complete.stdout.startswith("2 added, 1 changed, 5 unchanged, "), complete.stdout
    assert (complete.returncode, complete.stderr.count("pip install")) == (0, 0)
    # What was read with an extra stays as it was.
    assert unchanged.stdout.startswith("0 added, 0 changed, 7 unchanged, "), unchanged.stdout


def test_doctor_names_what_is_missing(installed: Installed) -> None:
    done = installed("clew", "doctor")

    assert done.returncode == 0, done.stdout
    assert "! clew[documents]: PDF and Word" in done.stdout
    assert "pip install 'clew[documents]'" in done.stdout
