"""`clew doctor`: what is here, what is not, and what mends it; it makes and loads nothing."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import NOTES, Run


def states(stdout: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(stdout)}


def test_an_empty_folder_is_no_fault_and_stays_empty(clew: Run, tmp_path: Path) -> None:
    done = clew("doctor")

    assert done.returncode == 0, done.stdout
    assert "✓ python: " in done.stdout
    assert "✓ model: all-MiniLM-L6-v2/int8" in done.stdout
    assert "! store: none in" in done.stdout
    assert "clew index PATH makes one" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_nothing_heavy_is_loaded(
    in_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("onnxruntime", "tokenizers", "tree_sitter", "qdrant_client", "pypdf", "bs4"):
        for loaded in [one for one in sys.modules if one.partition(".")[0] == name]:
            monkeypatch.delitem(sys.modules, loaded)
    heavy = {"onnxruntime", "tokenizers", "tree_sitter", "qdrant_client", "pypdf", "bs4"}

    done = in_process("doctor")

    assert done.returncode == 0, done.stdout
    assert not heavy & sys.modules.keys()


def test_a_store_is_counted_and_damage_named(in_process: Run, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(NOTES["mill.md"], encoding="utf-8")
    in_process("index", "mill.md")
    sound = in_process("doctor", "--json")
    file = tmp_path / ".clew" / "default" / "clew.db"
    file.parent.chmod(0o755)
    file.write_bytes(b"no database" * 500)
    damaged = in_process("doctor", "--json")

    assert sound.returncode == 0
    assert states(sound.stdout)["store"]["found"].startswith("1 documents in ")
    assert damaged.returncode == 1
    assert states(damaged.stdout)["store"]["state"] == "wrong"
    assert "clew check" in states(damaged.stdout)["store"]["found"]
    if os.name != "nt":
        assert states(damaged.stdout)["rights"]["mend"].startswith("chmod")


def test_servers_are_asked(in_process: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        given = {"CLEW_VECTORS": "qdrant", "CLEW_QDRANT__URL": address}
        there = in_process("doctor", "--json", **given)
    away = in_process("doctor", "--json", **given)
    neo4j = in_process("doctor", "--json", CLEW_STORE="neo4j://127.0.0.1:1")

    assert (there.returncode, states(there.stdout)["vectors"]["state"]) == (0, "good")
    assert (away.returncode, states(away.stdout)["vectors"]["state"]) == (1, "wrong")
    assert states(neo4j.stdout)["store"]["state"] == "wrong"


@pytest.mark.parametrize(
    ("variables", "name", "mend"),
    [
        ({"CLEW_NAMESPACE": "/"}, "settings", "docs/settings.md"),
        ({"CLEW_EMBED__MODEL": "~"}, "model", "clew-models"),
        ({"CLEW_LIMITS__ISOLATION": "none"}, "reading", "trust"),
        ({"CLEW_EMBED__MODEL": "some/model"}, "model", ""),
        ({"CLEW_LLM__PROVIDER": "ollama", "CLEW_LLM__MODEL": "x"}, "language model", "--llm"),
    ],
)
def test_what_is_set_is_looked_at(
    in_process: Run, variables: dict[str, str], name: str, mend: str
) -> None:
    found = states(in_process("doctor", "--json", **variables).stdout)[name]

    assert mend in found["mend"]


def test_another_module_of_the_name_is_told(
    in_process: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"clew": ["clew", "clew-ai"]}
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: both)
    told = in_process("doctor", "--json")
    monkeypatch.delattr("clew.cli.searching.search_plainly")

    mend = "pip uninstall clew-ai clew && pip install clew"
    assert (told.returncode, states(told.stdout)["module"]["mend"]) == (1, mend)
    with pytest.raises(ValueError, match=r"that of clew-ai, too; `clew doctor` says"):
        in_process("documents")  # its status is a text, which is printed


def test_little_room_is_told(in_process: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 5_000_000})
    monkeypatch.setattr("clew.cli.commands.doctor.shutil.disk_usage", lambda _: usage)

    found = states(in_process("doctor", "--json").stdout)["disk"]

    assert (found["state"], found["mend"][:9]) == ("wrong", "make room")
