"""What is optional: one table says which extra has which module, and what lacks one says so."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

import clew
from clew.errors import (
    EXTRAS,
    MissingExtraError,
    SettingsError,
    UnreadableError,
    extra_for,
    has_extra,
    needing_extras,
)
from clew.indexing.inputs import read_file
from clew.mcp.auth import new_token, token_settings, without_token
from clew.settings import ReadSettings, Settings

ROOT = Path(__file__).parents[2]


def test_the_table_has_every_extra_and_each_is_said_in_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    said = re.findall(r"`clew\[([\w-]+)\]`", (ROOT / "README.md").read_text("utf-8"))

    # `ray` is for an example alone.
    assert set(optional) - {"all", "ray"} == set(EXTRAS)
    assert set(EXTRAS) - {"sentence-transformers"} <= set(said)
    servers = {"neo4j", "qdrant", "chroma", "sentence-transformers"}
    servers |= {"langchain", "langgraph", "llama-index", "haystack", "openai-agents", "pydantic-ai"}
    assert set(re.findall(r"[\w-]+", optional["all"][0])) - {"clew"} == set(EXTRAS) - servers


def test_every_extra_that_is_said_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    named = {
        extra
        for file in files
        for extra in re.findall(r"clew\[([a-z][\w-]*)\]", file.read_text("utf-8"))
    }

    assert named <= {*project["optional-dependencies"]}


def test_a_module_of_no_extra_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "colorsys", None)
    with pytest.raises(ModuleNotFoundError), needing_extras("a.txt"):
        import colorsys  # noqa: F401


def test_what_lacks_an_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)

    assert not has_extra("watch")
    with (
        pytest.raises(MissingExtraError, match=r"watching it.*clew\[watch\]"),
        extra_for("watching it"),
    ):
        import watchfiles  # noqa: F401


@pytest.mark.parametrize(
    ("name", "data", "module", "extra"),
    [
        ("a.pdf", b"%PDF-1.7", "pypdf", "documents"),
        ("a.docx", b"PK", "docx", "documents"),
        ("a.ics", b"BEGIN:VEVENT\nEND:VEVENT", "icalendar", "personal"),
        ("a.xlsx", None, "markitdown", "office"),
    ],
)
def test_a_file_that_takes_an_extra_says_which(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    data: bytes | None,
    module: str,
    extra: str,
) -> None:
    file = tmp_path / name
    if data is None:
        import openpyxl

        openpyxl.Workbook().save(file)
    else:
        file.write_bytes(data)
    for one in [*sys.modules]:
        if one.startswith("clew.indexing.reading.") and not one.endswith((".common", ".files")):
            monkeypatch.delitem(sys.modules, one)  # loaded by an earlier test
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(UnreadableError) as raised:
        read_file(file, ReadSettings())

    assert raised.value.reason == f"needs pip install 'clew[{extra}]'"


def test_code_is_found_by_its_words_until_there_is_a_grammar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, settings = tmp_path / "code", Settings.model_validate({"limits": {"isolation": "none"}})
    code.mkdir()
    (code / "mill.py").write_text("def grind_barley(sacks):\n    return sacks\n")
    (code / "mill.yaml").write_text("sacks: 12\n")
    with clew.open(tmp_path / "store", settings=settings) as store:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "tree_sitter", None)
            first, second = store.index(code), store.index(code)
            found = store.search("grind_barley").hits
        third, fourth = store.index(code), store.index(code)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "tree_sitter", None)
            fifth = store.index(code)

    assert [(r.added, r.changed, r.unchanged) for r in (first, second, third, fourth, fifth)] == [
        (2, 0, 0),
        (0, 0, 2),
        (0, 1, 1),
        (0, 0, 2),
        (0, 0, 2),
    ]
    assert [r.lacks for r in (first, second, third, fourth, fifth)] == [("code",)] * 2 + [()] * 3
    assert not first.skipped
    assert found[0].chunk.title.endswith("mill.py")


@pytest.mark.parametrize("name", ["ann", 'a "quote" \\ \x7f\x01', "Öhler 🧵", "x" * 64])
def test_a_token_is_written_and_taken_out(tmp_path: Path, name: str) -> None:
    file, (_, digest) = tmp_path / "clew.toml", new_token()
    try:
        lines = token_settings(name, digest, "default")
    except SettingsError:
        pytest.skip("no name of a caller")
    file.write_text(f"# mine\nstore = 'x'\n\n{lines}", encoding="utf-8")

    (token,) = tomllib.loads(file.read_text("utf-8"))["serve"]["tokens"]
    rest = without_token(name, file)

    assert token == {"name": name, "sha256": digest, "namespaces": ["default"]}
    assert "# mine\nstore = 'x'\n" in rest
    assert not tomllib.loads(rest).get("serve", {}).get("tokens")
