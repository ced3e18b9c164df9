"""Splitting questions into their parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import ModelError
from clew.ports.models import LanguageModel, ask
from clew.search.analysis.sub_questions import (
    MAX_PARTS,
    split_question,
)
from clew.testing.fakes import ScriptedLanguageModel

# --- by rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who built Vell Tower? Where is Lisse?", ("Who built Vell Tower?", "Where is Lisse?")),
        ("Who wrote Dune; who filmed Dune?", ("Who wrote Dune?", "who filmed Dune?")),
        (
            "When was Ada Morn born, and who taught Piet Oss?",
            ("When was Ada Morn born?", "who taught Piet Oss?"),
        ),
        (
            "When was Ada Morn born and where did Piet Oss study",
            ("When was Ada Morn born?", "where did Piet Oss study?"),
        ),
        (
            "In which year did Vell burn, and what did Lisse give?",
            ("In which year did Vell burn?", "what did Lisse give?"),
        ),
        (
            "Which tower is older, the Tower of Vell or Lisse Tower?",
            ("Which tower is older, the Tower of Vell?", "Which tower is older, Lisse Tower?"),
        ),
        (
            "Who was born first: Ada Morn, Piet Oss, or Ida Vance?",
            (
                "Who was born first, Ada Morn?",
                "Who was born first, Piet Oss?",
                "Who was born first, Ida Vance?",
            ),
        ),
        (
            "Were both Ada Morn and Piet van der Oss born in Lisse?",
            ("Were Ada Morn born in Lisse?", "Were Piet van der Oss born in Lisse?"),
        ),
    ],
)
def test_a_question_of_several_parts(question: str, parts: tuple[str, ...]) -> None:
    assert split_question(question) == parts


@pytest.mark.parametrize(
    "question",
    [
        "Who was the teacher of the builder of the Tower of Vell?",
        "Which river runs through Lisse and Vell?",
        "Where do salt and pepper come from?",
        # what refers back cannot be asked alone
        "Who founded Vell and when did he die?",
        "Who founded Vell? When did he die?",
        "Who wrote Dune, and who filmed it?",
        # a clause that tells more of the same
        "Which actor was born in Lisse and who also directed Dune?",
        "Which actor was born in Lisse, and who also directed Dune?",
        # not all of it asks
        "I like towers. Who built the Tower of Vell?",
        "Vell was rich; who was the richest there?",
        # choices that are no names, or that stand elsewhere
        "Which is older, the tower or the bridge?",
        "Which town, Lisse or Vell, is older?",
        "Is Lisse or Vell older?",
        # names that may be one
        "Do both Ada and the Four Winds and Storm and Calm play folk?",
        "Were both Hank and June, the singers, born in Vell?",
        "Are both of them still standing?",
        "Who wrote it, " + ", ".join(f"Author {i}" for i in range(MAX_PARTS)) + " or Ada?",
        "both",
        "?",
        "",
    ],
)
def test_what_is_in_doubt_stays_one_question(question: str) -> None:
    assert split_question(question) == (question,)


@given(st.text(max_size=80) | st.from_regex(r"(who|Is|both|X|Y|and|or|,|;|\?| ){1,20}"))
def test_any_text_has_parts(question: str) -> None:
    parts = split_question(question)

    assert 1 <= len(parts) <= MAX_PARTS
    assert len(parts) == 1 or all(part.strip() for part in parts)


def test_the_scripted_model_answers_in_turn_or_by_text() -> None:
    in_turn: LanguageModel = ScriptedLanguageModel(["one", "two"], name="turns")
    request = ask("answer", "say", "a")
    assert [in_turn.reply(request).text for _ in range(2)] == ["one", "two"]
    assert in_turn.name == "turns"
    with pytest.raises(ModelError, match=r"'turns' has no answer \(left\) to 'a'"):
        in_turn.reply(request)

    by_text = ScriptedLanguageModel({"a": "one"})
    assert [by_text.reply(request).text for _ in range(2)] == ["one", "one"]
    with pytest.raises(ModelError, match="to 'b'"):
        by_text.reply(ask("answer", "say", "b"))
    assert [asked.messages[0].text for asked in by_text.asked] == ["a", "a", "b"]
