"""Splitting questions, by rule and by a language model, and fusing what their parts find."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import ModelError
from clew.ports.models import LanguageModel, ask
from clew.search.analysis.sub_questions import (
    MAX_PARTS,
    fuse_by_max,
    split_question,
    split_with_model,
)
from clew.search.retrieval.channels import Ranking
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


# --- by a language model -------------------------------------------------------------------------

QUESTION = "Did the teacher of Ada Morn outlive the builder of Vell?"


def test_a_language_model_may_split() -> None:
    answer = "- Who was the teacher of Ada Morn?\n\n - Who was the builder of Vell?\n"
    model = ScriptedLanguageModel([answer])

    parts, notes = split_with_model(model, QUESTION)

    assert parts == ("Who was the teacher of Ada Morn?", "Who was the builder of Vell?")
    assert notes == ()
    assert model.calls == 1
    [request] = model.asked
    assert [message.text for message in request.messages] == [QUESTION]
    assert QUESTION not in request.instructions


@pytest.mark.parametrize(
    "answer",
    [
        "Who was the teacher of Ada Morn?",
        "Here are the questions:\n- Who was the teacher of Ada Morn?",
        "- Who was the teacher of Ada Morn?\n- How tall is a giraffe?",
        "- " + "Ada Morn " * 100,
        "\n".join(f"- Who taught Ada Morn in year {year}?" for year in range(MAX_PARTS + 1)),
        "- ",
        " \n ",
    ],
    ids=["no mark", "preamble", "invented", "too long", "too many", "nothing", "blank"],
)
def test_an_answer_in_another_form_counts_for_nothing(answer: str) -> None:
    question = "Who taught Ada Morn; who built Vell?"

    parts, notes = split_with_model(ScriptedLanguageModel([answer], name="some model"), question)

    assert parts == split_question(question)
    assert len(parts) == 2
    assert notes == ("sub-questions by rule: some model did not answer with a list of questions",)


def test_a_model_that_fails_is_not_needed() -> None:
    parts, notes = split_with_model(ScriptedLanguageModel(), QUESTION)

    assert parts == (QUESTION,)
    assert notes[0].startswith("sub-questions by rule: the script of 'scripted' has no answer")


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


# --- fusing --------------------------------------------------------------------------------------

rankings = st.lists(
    st.dictionaries(st.integers(1, 20), st.floats(-8, 8, width=16), max_size=10).map(
        lambda scores: Ranking(
            np.array(sorted(scores, key=lambda i: -scores[i]), np.int64),
            np.array(sorted(scores.values(), reverse=True), np.float32),
        )
    ),
    max_size=4,
)


@given(rankings)
def test_a_passage_takes_its_best_scaled_score(given_rankings: list[Ranking]) -> None:
    expected: dict[int, float] = {}
    for ranking in given_rankings:
        scores = ranking.scores.tolist()
        for chunk_id, score in zip(ranking.ids.tolist(), scores, strict=True):
            reach = scores[0] - scores[-1]
            scaled = (score - scores[-1]) / reach if reach else 1.0
            expected[chunk_id] = max(scaled, expected.get(chunk_id, 0.0))

    fused = fuse_by_max(given_rankings)

    assert dict(zip(fused.ids.tolist(), fused.scores.tolist(), strict=True)) == pytest.approx(
        expected, abs=1e-6
    )
    keys = list(zip((-fused.scores).tolist(), fused.ids.tolist(), strict=True))
    assert keys == sorted(keys)


@given(rankings)
def test_the_order_of_the_rankings_is_of_no_account(given_rankings: list[Ranking]) -> None:
    orders = {
        (tuple(fused.ids.tolist()), tuple(fused.scores.tolist()))
        for fused in map(fuse_by_max, permutations(given_rankings))
    }
    assert len(orders) == 1


@given(rankings, rankings)
def test_a_further_part_lowers_no_score(few: list[Ranking], more: list[Ranking]) -> None:
    before, after = fuse_by_max(few), fuse_by_max([*few, *more])

    scores = dict(zip(after.ids.tolist(), after.scores.tolist(), strict=True))
    for chunk_id, score in zip(before.ids.tolist(), before.scores.tolist(), strict=True):
        assert scores[chunk_id] >= score
