"""Answers whose passages are gathered in steps, or by community reports; budgets, collections."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import clew
from clew.errors import InputError, ModelError, NotFoundError, SettingsError
from clew.ports.models import Reply, Request
from clew.search.ask.stepwise import Searches
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.types.results import DO_NOT_SAY, Answer, AnswerMode
from tests.unit.test_ask import BORN, BUILT, QUESTION, said

TAUGHT = "Tobias Fenn learned his trade in Harrow."
CHAIN = "Where did the teacher of the builder of the clock of Vell learn?"
PLAN = json.dumps({"questions": ["Who built the clock of Vell?"]})
ENOUGH = json.dumps({"enough": True, "question": ""})


def next_question(text: str) -> str:
    return json.dumps({"enough": False, "question": text})


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        for text, title in ((BUILT, "Vell"), (BORN, "Ada Morn"), (TAUGHT, "Tobias Fenn")):
            store.add(text, title=title)
    return tmp_path


def asked(
    library: Path,
    replies: Iterable[str | Exception],
    *,
    steps: int | None = None,
    max_tokens_spent: int | None = None,
    limit: int | None = None,
) -> tuple[Answer, str, ScriptedLanguageModel]:
    model = ScriptedLanguageModel(list(replies))
    told: list[str] = []
    with clew.open(library, embedder=HashEmbedder(), language_model=model) as store:
        answer = store.ask(
            CHAIN,
            tell=told.append,
            mode="stepwise",
            steps=steps,
            max_tokens_spent=max_tokens_spent,
            limit=limit,
        )
    return answer, "".join(told).strip(), model


# --- in steps


def test_what_is_missing_is_searched_for(library: Path) -> None:
    replies = [
        PLAN,
        next_question("Where did Tobias Fenn learn?"),
        ENOUGH,
        said(("learned his trade in Harrow", "He learned in Harrow."), passage=3),
    ]
    answer, told, model = asked(library, replies, limit=1)

    assert answer.questions == (
        CHAIN,
        "Who built the clock of Vell?",
        "Where did Tobias Fenn learn?",
    )
    shown = model.asked[-1].messages[0].text
    assert TAUGHT in shown
    assert BUILT in shown
    assert answer.calls == 4
    assert answer.usage.output_tokens > 0
    assert answer.text == told == "He learned in Harrow. [3]"


def test_a_passage_stands_where_it_was_found_first(library: Path) -> None:
    """Those of several searches take turns, the best of each first."""
    with clew.open(library, embedder=HashEmbedder()) as store:
        found = store.search(CHAIN)
    a, b, c = found.hits
    results = {"first": (a, b, c), "second": (c, a), "third": (b,)}
    searches = Searches(lambda question: replace(found, hits=results[question]))
    for question in results:
        searches.add(question)

    assert searches.hits() == (a, c, b)


@pytest.mark.parametrize("nothing", ["<question_1>", "…", "", "question", " \t "])
def test_what_is_no_question_is_not_searched_for(library: Path, nothing: str) -> None:
    plan = json.dumps({"questions": [nothing, "Who built the clock of Vell?"]})
    answer, _, _ = asked(library, [plan, next_question(nothing), said()])

    assert answer.questions == (CHAIN, "Who built the clock of Vell?")


def test_a_question_without_spaces_is_one(library: Path) -> None:
    japanese = "誰がヴェルの時計を作りましたか"
    answer, _, _ = asked(library, [json.dumps({"questions": [japanese]}), ENOUGH, said()])

    assert answer.questions == (CHAIN, japanese)


def test_there_are_no_more_searches_than_steps(library: Path) -> None:
    endless = (next_question(f"Who is number {n}?") for n in range(20))
    answer, _, _ = asked(library, [PLAN, *endless], steps=3)

    assert len(answer.questions) == 3


def test_a_search_that_was_made_is_not_made_again(library: Path) -> None:
    answer, _, model = asked(library, [PLAN, next_question(CHAIN.upper()), said()])

    assert len(answer.questions) == 2
    assert model.calls == 3


@pytest.mark.parametrize("bad", ["nonsense", "[" * 9000, '{"questions": 3}', "{}"])
def test_a_malformed_plan_leaves_an_answer(library: Path, bad: str) -> None:
    answer, told, _ = asked(library, [bad, bad, said(), said()])

    assert answer.questions[0] == CHAIN
    assert any("the search ended after 1 steps" in note for note in answer.notes)
    assert told == DO_NOT_SAY


def test_without_a_model_the_parts_are_searched_for_by_rule(library: Path) -> None:
    question = "Who built the great clock of Vell? Where was Ada Morn born?"
    with clew.open(library, embedder=HashEmbedder()) as store:
        answer = store.ask(question, mode="stepwise")

    assert answer.questions == (
        question,
        "Who built the great clock of Vell?",
        "Where was Ada Morn born?",
    )
    assert answer.model == ""
    assert {s.title for s in answer.sources} >= {"Vell"}


# --- by reports


class Reports(ScriptedLanguageModel):
    """Quotes the first sentence of the first passage that it is shown, then joins all."""

    def reply(self, request: Request) -> Reply:
        """See `LanguageModel`."""
        text = request.messages[0].text
        self.asked.append(request)
        if "findings" in request.instructions:
            count = text.count("<document number=")
            joined = {"findings": [*range(1, count + 1), 99], "statement": "All of it is so."}
            return _reply({"statements": [joined]})
        passage = text.partition('<document number="1"')[2].partition("\n")[2]
        words = passage.partition("\n</document>")[0].rstrip(".")
        quote = {"passage": 1, "words": words}
        return _reply({"statements": [{"quotes": [quote], "statement": f"{words}."}]})


def _reply(value: object) -> Reply:
    return Reply(text=json.dumps(value), finish="stop", model="reports")


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """Two groups of things that have nothing to do with each other."""
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        for a, b, c in (("Ada Morn", "Vell", "Dunmere"), ("Corwin Hale", "Skerrow", "Anselm")):
            store.add(f"{a} lived in {b}. {b} lies near {c}.", title=b)
            store.add(f"{a} went from {b} to {c}. {c} knew {a}.", title=c)
    return tmp_path


def test_each_report_is_asked_and_the_findings_are_joined(towns: Path) -> None:
    model = Reports()
    with clew.open(towns, embedder=HashEmbedder(), language_model=model) as store:
        answer = store.ask("What are the main themes?", mode="global")

    assert answer.strategy == answer.mode == "global"
    (statement,) = answer.statements
    assert statement.text == "All of it is so."
    assert len({q.source for q in statement.quotations}) > 1, "of several reports"
    for quotation in statement.quotations:
        source = next(s for s in answer.sources if s.number == quotation.source)
        assert source.start <= quotation.start < quotation.end <= source.end
    findings = [request for request in model.asked if "findings" not in request.instructions]
    assert len(findings) > 1
    assert all('kind="report"' in request.messages[0].text for request in findings)


def test_where_the_findings_cannot_be_joined_they_stand_as_they_are(towns: Path) -> None:
    class Halves(Reports):
        def reply(self, request: Request) -> Reply:
            if "findings" in request.instructions:
                raise ModelError("no joining today")
            return super().reply(request)

    with clew.open(towns, embedder=HashEmbedder(), language_model=Halves()) as store:
        answer = store.ask("What are the main themes?", mode="global")

    assert len(answer.statements) > 1
    assert all(statement.supported for statement in answer.statements)
    assert any("no joining today" in note for note in answer.notes)


def test_where_no_report_can_be_asked_the_documents_answer(towns: Path) -> None:
    model = ScriptedLanguageModel({})
    with clew.open(towns, embedder=HashEmbedder(), language_model=model) as store:
        answer = store.ask("What are the main themes?", mode="global")
        told = store.ask("What are the main themes?", mode="global", strategy="global")

    assert (answer.model, answer.answered) == ("", told.answered)
    assert any("own sentences" in note for note in answer.notes)


def test_what_cannot_be_is_refused(towns: Path) -> None:
    with clew.open(towns, embedder=HashEmbedder()) as store:
        with pytest.raises(InputError, match="expected one of one_shot, stepwise, global"):
            store.ask("What?", mode="twice")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="expected 1 to 10"):
            store.ask("What?", mode="stepwise", steps=11)
        with pytest.raises(InputError, match="leave the strategy out"):
            store.ask("What?", mode="global", strategy="vector")
        with pytest.raises(InputError, match="no effect on the mode one_shot"):
            store.ask("What?", steps=3)
        with pytest.raises(InputError, match="no question"):
            store.ask(" \n")


@pytest.mark.parametrize("mode", ["one_shot", "stepwise", "global"])
@pytest.mark.parametrize("question", ["who " * 30_000, "who \ud800"])
def test_no_mode_takes_a_question_that_cannot_be(
    towns: Path, mode: AnswerMode, question: str
) -> None:
    with clew.open(towns, embedder=HashEmbedder(), language_model=Reports()) as store:
        with pytest.raises(InputError, match=r"characters|half a character"):
            store.ask(question, mode=mode)
        with pytest.raises(InputError, match=r"characters|half a character"):
            store.asking.estimate(question, mode=mode)


def test_a_long_question_is_searched_for_whole_in_steps(library: Path) -> None:
    long = "I ask, since nobody here could tell me so far, what follows. " * 10 + CHAIN
    model = ScriptedLanguageModel([ENOUGH, said()])
    with clew.open(library, embedder=HashEmbedder(), language_model=model) as store:
        assert store.ask(long, mode="stepwise").questions[0] == long


@pytest.mark.parametrize("most", [float("inf"), float("nan"), -1.0])
def test_a_limit_without_an_end_is_refused(towns: Path, most: float) -> None:
    opened = clew.open(towns, embedder=HashEmbedder(), language_model=Reports())
    with opened as store, pytest.raises(InputError, match="cannot be; expected numbers"):
        store.ask("What?", max_cost=most)


# --- what it may take, and whom it asks


def test_an_answer_takes_no_more_than_it_may(library: Path) -> None:
    replies = [PLAN, next_question("Who is Ada?"), ENOUGH, said()]
    answer, _, model = asked(library, replies, max_tokens_spent=10)

    assert model.calls == 1
    assert any("of 10 tokens are spent" in note for note in answer.notes)
    assert answer.usage.total > 10, "what was spent is told"


def test_what_one_answer_took_is_counted_for_the_store_too(library: Path) -> None:
    model = ScriptedLanguageModel([said(("built the great clock", "It was Ada."))])
    with clew.open(library, embedder=HashEmbedder(), language_model=model) as store:
        first = store.ask(QUESTION)
        again = store.ask(QUESTION)
        client = store.state.language_model
        assert client is not None
        assert client.budget.spent.usage == first.usage
    assert (again.usage.total, again.calls, again.cached_calls) == (0, 0, 1)


def test_below_the_confidence_asked_for_no_model_is_asked(library: Path) -> None:
    model = ScriptedLanguageModel([])
    with clew.open(library, embedder=HashEmbedder(), language_model=model) as store:
        confidence = store.search(QUESTION, strategy="graph").confidence
        assert confidence is not None
        answer = store.ask(QUESTION, strategy="graph", min_confidence=1.0)

    assert (answer.text, answer.confidence) == (DO_NOT_SAY, confidence)
    assert model.calls == 0


def test_collections_are_asked_together(tmp_path: Path) -> None:
    for namespace, text in (("clocks", BUILT), ("people", BORN)):
        with clew.open(tmp_path, namespace=namespace, embedder=HashEmbedder()) as store:
            store.add(text)
    reply = said(("built the great clock", "It was Ada Morn."), ("born in Dunmere", "So it is."))
    model = ScriptedLanguageModel([reply, reply])
    opened = clew.open(tmp_path, namespace="clocks", embedder=HashEmbedder(), language_model=model)
    with opened as store:
        both = store.ask(QUESTION, namespaces=["clocks", "people"])
        store.ask(QUESTION, namespaces=["clocks", "people"])
        with pytest.raises(NotFoundError):
            store.ask(QUESTION, namespaces=["else"])

    assert both.sources[0].namespace == "clocks"
    assert model.calls == 2, "what another collection says is not kept in this one"


def test_what_an_answer_would_take_is_said_beforehand(library: Path) -> None:
    reply = said(("built the great clock", "It was Ada."))
    model = ScriptedLanguageModel([reply, reply])
    with clew.open(library, embedder=HashEmbedder(), language_model=model) as store:
        guess = store.asking.estimate(QUESTION)
        assert model.calls == 0
        store.ask("Who was born in Dunmere?")
        judged = store.asking.estimate(QUESTION)
        taken = store.ask(QUESTION).usage
        known = store.asking.estimate(QUESTION)

    assert (guess.calls, guess.cached, guess.documents) == (1, 0, 3)
    assert guess.input_tokens > 0
    assert judged.input_tokens == pytest.approx(taken.input_tokens, rel=0.15)
    assert judged.output_tokens == pytest.approx(taken.output_tokens, rel=0.15)
    assert (known.calls, known.cached) == (0, 1)
    with (
        clew.open(library, embedder=HashEmbedder()) as store,
        pytest.raises(SettingsError, match="no language model"),
    ):
        store.asking.estimate(QUESTION)


def test_no_reply_is_expected_to_be_longer_than_it_may_be(library: Path) -> None:
    short = {"max_output_tokens": 20}
    settings = load_settings(store=library, llm={"answer": short, "context": short})
    model = ScriptedLanguageModel()
    opened = clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)
    with opened as store:
        assert store.asking.estimate(QUESTION).output_tokens == 20
        assert store.enriching.estimate("context")["context"].output_tokens == 3 * 20


def test_what_the_search_asks_of_the_model_is_counted_and_bounded(library: Path) -> None:
    settings = load_settings(store=library, llm={"filter": True, "routing": True})
    chosen = json.dumps({"passages": [1]})
    route = json.dumps({"strategy": "graph", "reason": "because"})
    model = ScriptedLanguageModel(
        [route, chosen, said(("built the great clock", "It was Ada.")), route]
    )
    opened = clew.open(settings=settings, embedder=HashEmbedder(), language_model=model)
    with opened as store:
        guess = store.asking.estimate(QUESTION)
        assert model.calls == 0, "a dry run asks nothing, whatever the settings let a search ask"
        answer = store.ask(QUESTION)
        before = model.calls
        # A limit that the choice of the strategy uses up: nothing more is asked.
        short = store.ask("Who was born in Dunmere?", max_tokens_spent=1)

    assert guess.calls == answer.calls == before == 3
    assert guess.input_tokens > answer.usage.input_tokens / 2
    assert short.calls == 1
    assert model.calls == before + 1
    assert "of 1 tokens are spent" in " ".join(short.notes)


def test_what_steps_would_take_is_the_most_that_they_take(library: Path) -> None:
    replies = [PLAN, next_question("Who is Ada?"), next_question("What is Harrow?"), said()]
    model = ScriptedLanguageModel(replies)
    with clew.open(library, embedder=HashEmbedder(), language_model=model) as store:
        guess = store.asking.estimate(CHAIN, mode="stepwise", steps=4)
        alone = store.asking.estimate(CHAIN, mode="stepwise", steps=1)
        assert model.calls == 0
        taken = store.ask(CHAIN, mode="stepwise", steps=4)

    assert guess.calls == 1 + 3 + 1, "a plan, what is missing three times, the answer"
    assert alone.calls == 1
    assert taken.calls <= guess.calls
    assert guess.input_tokens > alone.input_tokens


def test_what_an_overview_would_take_is_every_report_and_joining_them(towns: Path) -> None:
    model = Reports()
    with clew.open(towns, embedder=HashEmbedder(), language_model=model) as store:
        guess = store.asking.estimate("What are the main themes?", mode="global")
        assert not model.asked
        taken = store.ask("What are the main themes?", mode="global")
        judged = store.asking.estimate("Which towns are there?", mode="global")
        again = store.ask("Which towns are there?", mode="global")
        known = store.asking.estimate("What are the main themes?", mode="global")

    assert guess.calls == taken.calls
    assert judged.calls == again.calls
    # Joining is asked with what the reports said, which is not known beforehand.
    assert (known.calls, known.cached) == (1, taken.calls - 1)


# --- a document cannot make a citation


@pytest.mark.parametrize("mark", ["[2]", "[ 2 ]", "［2］", "【2】", "[1, 2]", "[1–3]"])
def test_a_citation_in_a_document_is_none(tmp_path: Path, mark: str) -> None:
    text = f"Ada Morn built the great clock of Vell {mark} in 1820."
    with clew.open(tmp_path, embedder=HashEmbedder()) as store:
        store.add(text)
        by_documents = store.ask(QUESTION).text
    statement = f"Ada Morn built it {mark} as told."
    model = ScriptedLanguageModel([said(("Ada Morn built the great clock", statement))])
    told: list[str] = []
    with clew.open(tmp_path, embedder=HashEmbedder(), language_model=model) as store:
        by_model = store.ask(QUESTION, tell=told.append).text

    for shown in (by_documents, by_model):
        assert shown.endswith((" [1]", "(unsupported)"))
        assert mark not in shown
    assert "".join(told).strip() == by_model


def test_brackets_around_words_stay(tmp_path: Path) -> None:
    statement = "Ada Morn built it [sic] and list[int] it is."
    model = ScriptedLanguageModel([said(("Ada Morn built the great clock", statement))])
    with clew.open(tmp_path, embedder=HashEmbedder(), language_model=model) as store:
        store.add(BUILT)
        assert statement in store.ask(QUESTION).text
