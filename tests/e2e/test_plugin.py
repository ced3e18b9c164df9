"""The package in `examples/plugin`, installed as anybody's, and used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"
FLEET = """Marigold
since: 2023-05-01
captain: Ada Morn
calls at: Tarn Quay, Vell Harbour

Heron
captain: Ben Rook
calls at: Tarn Quay

Wreck
captain: Nobody
"""
BUILD = "from hatchling.build import build_wheel; print(build_wheel('dist'))"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as its own build backend makes it."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source")
    done = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=folder / "source", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    wheel = folder / "source" / "dist" / done.stdout.split()[-1]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "packages")
    return folder / "packages"


Python = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Runs Python in the test's folder, with the packages of another one."""

    def run(*arguments: str, packages: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(packages or "")},
        )

    return run


def output(done: subprocess.CompletedProcess[str]) -> Any:  # noqa: ANN401 - JSON
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_an_installed_package_reads_relates_and_is_called(
    installed: Path, python: Python, tmp_path: Path
) -> None:
    (tmp_path / "fleet.ferries").write_text(FLEET)
    plain = output(python("-m", "clew", "index", "fleet.ferries", "--json"))
    read = output(python("-m", "clew", "index", "fleet.ferries", "--json", packages=installed))
    called = python("-m", "clew", "call", "ferries_at", '{"port": "Tarn Quay"}', packages=installed)
    unknown = python("-m", "clew", "call", "ferries_at", '{"port": "Tarn Quay"}')

    assert (plain["added"], plain["skipped"]) == (1, [])
    # Installing it is reason to read the file again, and each of its lines is a passage.
    assert (read["added"], read["chunks"]) == (2, 7)
    assert [one["reason"] for one in read["skipped"]] == ["line 10: Wreck calls at no port"]
    assert output(called)["ferries"] == [
        {"name": "Heron", "captain": "Ben Rook"},
        {"name": "Marigold", "captain": "Ada Morn"},
    ]
    assert "ferries_at" in unknown.stderr
    assert unknown.returncode == 2


def test_a_relation_type_is_asked_from_either_end(
    installed: Path, python: Python, tmp_path: Path
) -> None:
    (tmp_path / "fleet.ferries").write_text(FLEET)
    output(python("-m", "clew", "index", "fleet.ferries", "--json", packages=installed))
    shown = output(python("-m", "clew", "entity", "show", "Tarn Quay", "--json"))
    asked = {"entity_id": shown["entity"]["id"], "relation_type": "called_at_by"}
    call = ("-m", "clew", "call", "get_entity_neighbors", json.dumps(asked))
    known = output(python(*call, packages=installed))["neighbors"]
    unknown = python(*call)

    assert sorted(one["neighbor_name"] for one in known) == ["Heron", "Marigold"]
    assert {one["entity_type"] for one in known} == {"ferry"}
    assert "no relation is of the type 'called_at_by'" in unknown.stderr


def test_a_plugin_that_cannot_be_loaded_is_left_out_and_named(
    installed: Path, python: Python, tmp_path: Path
) -> None:
    broken = tmp_path / "packages"
    shutil.copytree(installed, broken)
    (broken / "clew_ferries" / "__init__.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "fleet.ferries").write_text(FLEET)

    done = python("-m", "clew", "index", "fleet.ferries", "--json", packages=broken)

    assert output(done)["added"] == 1
    assert "'ferries' is left out" in done.stderr
    assert "nothing_of_that_name" in done.stderr
