"""`clew ask` and `clew chat` at the command line, without a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Library, Run

WHERE = "Where does Mara Lind live?"


@pytest.mark.parametrize("mode", ["one-shot", "stepwise", "global"])
def test_every_mode_answers_with_sources(in_process: Run, workshop: Library, mode: str) -> None:
    shown = in_process("ask", WHERE, "--mode", mode, "--store", workshop.store)
    found = json.loads(
        in_process("ask", WHERE, "--mode", mode, "--store", workshop.store, "--json").stdout
    )

    assert shown.returncode == 0, shown.stderr
    assert found["mode"] == mode.replace("-", "_")
    assert found["answered"]
    assert found["answer"] in " ".join(shown.stdout.split())
    assert f"[{found['sources'][0]['number']}]" in shown.stdout
    assert "no language model" in shown.stderr.lower()


def test_below_the_confidence_asked_for_the_documents_do_not_say(
    in_process: Run, workshop: Library
) -> None:
    done = in_process("ask", WHERE, "--min-confidence", "1", "--store", workshop.store)

    assert done.returncode == 1
    assert done.stdout.strip() == "The documents do not say."


def test_a_conversation_without_a_model_says_so(in_process: Run, workshop: Library) -> None:
    done = in_process("chat", WHERE, "--store", workshop.store)
    listed = in_process("chat", "--list", "--json", "--store", workshop.store)
    unknown = in_process("chat", "--conversation", "none", "Go on", "--store", workshop.store)
    forbidden = in_process("chat", "--tools", "delete_document", "x", "--store", workshop.store)

    assert done.returncode == 0, done.stderr
    assert "Tarnholm" in done.stdout
    assert "no language model is configured" in done.stderr
    assert json.loads(listed.stdout) == []
    for failed, says in ((unknown, "clew chat --list"), (forbidden, "--allow delete_document")):
        assert failed.returncode == 2
        assert says in failed.stderr
