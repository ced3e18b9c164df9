from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.commands.demo import ANSWER, QUESTION
from clew.text import terms

if TYPE_CHECKING:
    from tests.e2e.conftest import Run


def test_question_and_answer_share_no_word() -> None:
    corpus = {text.splitlines()[0]: text for text in map(_read, _documents())}

    assert set(terms(corpus[f"# {ANSWER}"])).isdisjoint(terms(QUESTION))
    assert sum(not set(terms(text)).isdisjoint(terms(QUESTION)) for text in corpus.values()) >= 4
    assert 8 <= len(corpus) <= 15


def test_the_thread_leads_where_words_do_not(in_process: Run) -> None:
    shown = json.loads(in_process("demo", "--json").stdout)

    assert shown["places"]["keyword"] is None
    assert shown["places"]["graph"] <= 3
    answer = shown["result"]["results"][shown["places"]["graph"] - 1]
    assert answer["metadata"]["title"] == ANSWER
    path = answer["graph_context"]["path"]
    assert path[0].startswith("Skerrow Rock")
    assert ANSWER in path[-1]


def test_demo_prints_answer_path_and_next_steps(clew: Run, tmp_path: Path) -> None:
    done = clew("demo", "--store", "kept")

    assert done.returncode == 0
    assert QUESTION in done.stdout
    assert f"] {ANSWER}, characters" in done.stdout
    assert "Tobias Fenn" in done.stdout
    assert "● Skerrow Rock" in done.stdout
    assert "clew index FOLDER" in done.stdout
    assert (tmp_path / "kept").is_dir()


def _documents() -> list[str]:
    return [entry.name for entry in (files("clew.cli") / "demo").iterdir()]


def _read(name: str) -> str:
    return (files("clew.cli") / "demo" / name).read_text(encoding="utf-8")
