"""Answers: their words, their sources, in one pass, in steps, from reports."""

from __future__ import annotations

import json
from calendar import month_name
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import clew
from clew.errors import InputError, ModelError, ModelUnavailableError, NotFoundError, SettingsError
from clew.ports import LanguageModel, Request
from clew.search.answer.quoted import PASSAGES_ALONE, quoted_answer
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder, ScriptedLanguageModel
from clew.text import find_words
from clew.types import DO_NOT_SAY, Answer, AnswerMode, NamedStrategy
from clew.untrusted import escaped

QUESTION = "Who built the great clock of Vell?"
BUILT = "Ada Morn built the great clock of Vell in 1820."
BORN = "Ada Morn was born in Dunmere. Her teacher was Tobias Fenn."
TAUGHT = "Tobias Fenn learned his trade in Harrow."
CHAIN = "Where did the teacher of the builder of the clock of Vell learn?"
BUILDER = "Who built the clock of Vell?"
PLAN = json.dumps({"questions": [BUILDER]})
ENOUGH = json.dumps({"enough": True, "question": ""})


def said(*statements: tuple[str, str], passage: int = 1) -> str:
    """A reply of statements, each with the words that it quotes."""
    stated = [
        {"quotes": [{"passage": passage, "words": words}], "statement": text}
        for words, text in statements
    ]
    return json.dumps({"statements": stated})


def next_question(text: str) -> str:
    return json.dumps({"enough": False, "question": text})


def opened(folder: Path, model: LanguageModel | None = None, **given: Any) -> clew.Clew:  # noqa: ANN401
    return clew.open(folder, embedder=HashEmbedder(), language_model=model, **given)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    with opened(tmp_path) as store:
        for text, title in ((BUILT, "Vell"), (BORN, "Ada Morn"), (TAUGHT, "Tobias Fenn")):
            store.add(text, title=title)
    return tmp_path


def asked(
    library: Path,
    *replies: str | Exception,
    question: str = QUESTION,
    **options: Any,  # noqa: ANN401
) -> tuple[Answer, str, ScriptedLanguageModel]:
    """The answer, all that was told of it, and the model."""
    told: list[str] = []
    model = ScriptedLanguageModel(list(replies))
    with opened(library, model) as store:
        found = store.ask(question, tell=told.append, **options)
    return found, "".join(told).strip(), model


stepwise = partial(asked, question=CHAIN, mode="stepwise")

# --- in one pass


def test_a_statement_has_the_words_that_it_rests_on(library: Path) -> None:
    found, _, model = asked(library, said(("ada morn  built the great clock", "It was Ada Morn.")))

    (quotation,) = found.statements[0].quotations
    assert quotation.text == "Ada Morn built the great clock"
    assert BUILT[quotation.start : quotation.end] == quotation.text
    assert [(source.number, source.title) for source in found.sources] == [(1, "Vell")]
    (request,) = model.asked
    assert BUILT in request.messages[0].text
    assert BUILT not in request.instructions


OWN = f"“{BUILT}” [1]"
"""The documents' own sentence."""
BORN_OUT = "built the great clock of Vell"


@pytest.mark.parametrize(
    ("replies", "text", "note"),
    [
        ([said((BORN_OUT, "It was Ada Morn."))], "It was Ada Morn. [1]", ""),
        ([said()], DO_NOT_SAY, ""),
        # A number or a name that the documents do not have.
        *(
            ([said((BORN_OUT, text))], f"{text} (unsupported)", "")
            for text in ("Ada Morn built it in 1821.", "It was built by Ada Morn and Corwin Hale.")
        ),
        # What quotes nothing.
        *(
            ([said((words, "Ada Morn destroyed it."))], OWN, "quoted no passage")
            for words in (
                *("Ada Morn destroyed the clock", "", "the", "clock great the built"),
                "of Vell in 1820. No",
            )
        ),
        (
            [said((BORN_OUT, "Ada Morn built it [sic] and list[int] it is."))],
            "Ada Morn built it [sic] and list[int] it is. [1]",
            "",
        ),
        # The model fails.
        ([ModelUnavailableError("the model is away")], OWN, "the documents' own sentences"),
        (["[" * 10_000, "{" * 10_000], OWN, "the documents' own sentences"),
        (
            ["I'm sorry,\n\x1b[31mbut I cannot help. " * 9] * 2,
            OWN,
            r"""expected a JSON object, got "I'm sorry, \x1b[31mbut I cannot help.""",
        ),
    ],
)
def test_what_a_model_replies_is_told_as_far_as_it_is_quoted(
    library: Path, replies: list[str | Exception], text: str, note: str
) -> None:
    found, told, _ = asked(library, *replies)

    assert found.text == told
    assert told.endswith(text)
    assert note in " ".join(found.notes)
    assert (found.answered, bool(found.model)) == (text != DO_NOT_SAY, text != OWN)
    assert max(map(len, found.notes), default=0) < 300


def test_an_answer_is_kept_and_counted_until_a_document_goes(library: Path) -> None:
    model = ScriptedLanguageModel([said(("built the great clock", "It was Ada."))] * 2)
    with opened(library, model) as store:
        first, again = store.ask(QUESTION), store.ask(QUESTION)
        client: Any = store.state.language_model
        assert client.budget.spent.usage == first.usage
        assert (again.usage.total, again.calls, again.cached_calls) == (0, 0, 1)
        store.delete([store.documents.list()[0].source])
        store.ask(QUESTION)
    assert model.calls == 2


# --- without a model


@pytest.mark.parametrize(
    ("confidences", "sources", "answered"),
    [
        ((0.9, 0.6), [1], True),
        ((0.9, 0.3), [1], True),
        ((0.2, 0.9), [2], True),
        ((0.11, 0.002), [1], True),
        ((None, None), [1], True),
        ((0.09, 0.002), [1, 2], False),
    ],
)
def test_without_a_model_only_passages_that_answer_are_quoted(
    library: Path, confidences: Sequence[float | None], sources: list[int], answered: bool
) -> None:
    with opened(library) as store:
        found = store.search(QUESTION, limit=2, fast=True)
        hits = tuple(
            replace(hit, confidence=confidence, answer=(hit.chunk.start, hit.chunk.end))
            for hit, confidence in zip(found.hits, confidences, strict=True)
        )
        given = quoted_answer(replace(found, hits=hits), lambda _: None, 0.0, [])
    assert [source.number for source in given.sources] == sources
    assert given.answered == bool(given.statements) == answered
    assert (PASSAGES_ALONE in given.notes) == (not answered)


def test_without_a_model_one_sentence_is_quoted_in_its_context(engine: clew.Clew) -> None:
    around = "Vell is an old town. " + BUILT + " It strikes every hour. Nobody winds it."
    engine.add(around, title="Vell")
    engine.add(BORN, title="Ada Morn")
    told: list[str] = []
    found = engine.ask(QUESTION, tell=told.append)
    nothing = engine.ask(QUESTION, where=["date>3000"])
    (statement,) = found.statements
    (quotation,) = statement.quotations
    assert found.text == "".join(told) == OWN
    assert (statement.verbatim, found.to_dict()["model"]) == (True, None)
    assert found.sources[0].text == f"Vell is an old town. {BUILT} It strikes every hour."
    assert around[quotation.start : quotation.end] == BUILT
    assert (nothing.answered, nothing.text) == (False, DO_NOT_SAY)


@pytest.mark.parametrize("mark", ["-", "*", "•"])
def test_an_item_of_a_list_is_quoted_without_its_mark(engine: clew.Clew, mark: str) -> None:
    engine.add(f"# Vell\n\n{mark} The town is old.\n{mark} {BUILT}\n{mark} Nobody winds it.")
    (statement,) = engine.ask(QUESTION).statements
    assert statement.text.startswith(BUILT)


@pytest.mark.parametrize("mark", ["[2]", "[ 2 ]", "［2］", "【2】", "[1, 2]", "[1–3]"])
def test_a_citation_within_a_text_is_none(tmp_path: Path, mark: str) -> None:
    with opened(tmp_path) as store:
        store.add(f"Ada Morn built the great clock of Vell {mark} in 1820.")
        of_document = store.ask(QUESTION).text
    stated = said(("Ada Morn built the great clock", f"Ada Morn built it {mark} as told."))
    of_model, told, _ = asked(tmp_path, stated)
    assert of_model.text == told
    for shown in (of_document, told):
        assert shown.endswith((" [1]", "(unsupported)"))
        assert mark not in shown


# --- quotations, and documents as data


@example(text="A\U0003134b", start=0, length=2)
@example(text="\U0003134b", start=0, length=1)
@given(text=st.text(max_size=60), start=st.integers(0, 60), length=st.integers(1, 30))
def test_words_that_stand_in_a_text_are_found(text: str, start: int, length: int) -> None:
    place = find_words(text[start : start + length], text)

    if place is not None:
        assert find_words(text[place[0] : place[1]], text) == place


@pytest.mark.parametrize(
    "words", ["built the great clock", "BUILT  the “great” clock,", "Vell in 1820"]
)
def test_case_marks_and_spaces_of_a_quotation_may_differ(words: str) -> None:
    assert find_words(words, BUILT) is not None


@given(st.text(max_size=200))
def test_a_text_without_marks_stays_as_it_is(text: str) -> None:
    once = escaped(text)

    assert escaped(once) == once
    if text.isascii() and text.isprintable() and not set(text) & set("<["):
        assert once == text


# --- in steps


def test_what_is_missing_is_searched_for(library: Path) -> None:
    found, told, model = stepwise(
        library,
        PLAN,
        next_question("Where did Tobias Fenn learn?"),
        ENOUGH,
        said(("learned his trade in Harrow", "He learned in Harrow."), passage=3),
        limit=1,
    )

    assert found.questions == (CHAIN, BUILDER, "Where did Tobias Fenn learn?")
    shown = model.asked[-1].messages[0].text
    assert TAUGHT in shown
    assert BUILT in shown
    assert found.calls == 4
    assert found.text == told == "He learned in Harrow. [3]"


@pytest.mark.parametrize(
    ("replies", "options", "questions", "note"),
    [
        # What is no question is not searched for.
        *(
            (
                [json.dumps({"questions": [nothing, BUILDER]}), next_question(nothing), said()],
                {},
                (BUILDER,),
                "",
            )
            for nothing in ("<question_1>", "…", "", "question", " \t ")
        ),
        # No more searches than steps, no more tokens than given.
        ([PLAN, *(next_question(f"Who is {n}?") for n in range(9))], {"steps": 2}, (BUILDER,), ""),
        ([PLAN, ENOUGH, said()], {"max_tokens_spent": 10}, (BUILDER,), "of 10 tokens are spent"),
        # A malformed plan leaves an answer.
        *(
            ([bad, bad, said(), said()], {}, (), "the search ended after 1 steps")
            for bad in ("nonsense", "[" * 9000, '{"questions": 3}', "{}")
        ),
    ],
)
def test_steps_are_bounded(
    library: Path,
    replies: list[str],
    options: dict[str, Any],
    questions: tuple[str, ...],
    note: str,
) -> None:
    found, told, _ = stepwise(library, *replies, **options)

    assert found.questions == (CHAIN, *questions)
    assert note in " ".join(found.notes)
    assert told


# --- by reports


def of_reports(request: Request) -> str:
    """Quotes the first sentence of the first passage that it is shown, then joins all."""
    text = request.messages[0].text
    if "findings" in request.instructions:
        findings = [*range(1, text.count("<document number=") + 1), 99]
        joined = {"findings": findings, "statement": "All of it is so."}
        return json.dumps({"statements": [joined]})
    passage = text.partition('<document number="1"')[2].partition("\n")[2]
    words = passage.partition("\n</document>")[0].rstrip(".")
    return said((words, f"{words}."))


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    """Two groups of things that have nothing to do with each other."""
    with opened(tmp_path) as store:
        for a, b, c in (("Ada Morn", "Vell", "Dunmere"), ("Corwin Hale", "Skerrow", "Anselm")):
            store.add(f"{a} lived in {b}. {b} lies near {c}.", title=b)
            store.add(f"{a} went from {b} to {c}. {c} knew {a}.", title=c)
    return tmp_path


def test_each_report_is_asked_and_the_findings_are_joined_as_was_estimated(towns: Path) -> None:
    model = ScriptedLanguageModel(of_reports)
    with opened(towns, model) as store:
        guess = store.asking.estimate("What are the main themes?", mode="global")
        assert not model.asked
        found = store.ask("What are the main themes?", mode="global")
        known = store.asking.estimate("What are the main themes?", mode="global")

    assert found.strategy == found.mode == "global"
    (statement,) = found.statements
    assert statement.text == "All of it is so."
    assert len({q.source for q in statement.quotations}) > 1, "of several reports"
    for quotation in statement.quotations:
        source = next(s for s in found.sources if s.number == quotation.source)
        assert source.start <= quotation.start < quotation.end <= source.end
    *findings, _ = model.asked
    assert len(findings) > 1
    assert all('kind="report"' in request.messages[0].text for request in findings)
    assert guess.calls == found.calls
    # Joining is asked with what the reports said, which is not known beforehand.
    assert (known.calls, known.cached) == (1, found.calls - 1)


def test_where_the_findings_cannot_be_joined_they_stand_as_they_are(towns: Path) -> None:
    def halves(request: Request) -> str | Exception:
        joins = "findings" in request.instructions
        return ModelError("no joining today") if joins else of_reports(request)

    with opened(towns, ScriptedLanguageModel(halves)) as store:
        found = store.ask("What are the main themes?", mode="global")

    assert len(found.statements) > 1
    assert all(statement.supported for statement in found.statements)
    assert any("no joining today" in note for note in found.notes)


# --- what it may take, and whom it asks


@pytest.mark.parametrize(
    ("question", "options", "says"),
    [
        ("What?", {"mode": "twice"}, "expected one of one_shot, stepwise, global"),
        ("What?", {"mode": "stepwise", "steps": 11}, "expected 1 to 10"),
        ("What?", {"mode": "global", "strategy": "vector"}, "leave the strategy out"),
        ("What?", {"steps": 3}, "no effect on the mode one_shot"),
        (" \n", {}, "no question"),
        *(
            (question, {"mode": mode}, says)
            for mode in ("one_shot", "stepwise", "global")
            for question, says in (("who " * 30_000, "characters"), ("who \ud800", "half a char"))
        ),
    ],
)
def test_what_cannot_be_is_refused(
    library: Path, question: str, options: dict[str, Any], says: str
) -> None:
    with opened(library, ScriptedLanguageModel()) as store:
        for ask in (store.ask, store.asking.estimate):
            with pytest.raises(InputError, match=says):
                ask(question, **options)


@pytest.mark.parametrize("most", [float("inf"), float("nan"), -1.0])
def test_a_limit_without_an_end_is_refused(library: Path, most: float) -> None:
    with pytest.raises(InputError, match="cannot be; expected numbers"):
        asked(library, max_cost=most)


def test_below_the_confidence_asked_for_no_model_is_asked(library: Path) -> None:
    found, told, model = asked(library, strategy="graph", min_confidence=1.0)

    assert found.text == told == DO_NOT_SAY
    assert found.confidence is not None
    assert model.calls == 0


def test_collections_are_asked_together(tmp_path: Path) -> None:
    for namespace, text in (("clocks", BUILT), ("people", BORN)):
        with opened(tmp_path, namespace=namespace) as store:
            store.add(text)
    reply = said(("built the great clock", "It was Ada Morn."), ("born in Dunmere", "So it is."))
    model = ScriptedLanguageModel([reply, reply])
    with opened(tmp_path, model, namespace="clocks") as store:
        both, _ = (store.ask(QUESTION, namespaces=["clocks", "people"]) for _ in range(2))
        with pytest.raises(NotFoundError):
            store.ask(QUESTION, namespaces=["else"])

    assert both.sources[0].namespace == "clocks"
    assert model.calls == 2, "what another collection says is not kept in this one"


def test_what_an_answer_would_take_is_said_beforehand(library: Path) -> None:
    model = ScriptedLanguageModel([said(("built the great clock", "It was Ada."))] * 2)
    with opened(library, model) as store:
        guess = store.asking.estimate(QUESTION)
        assert model.calls == 0
        store.ask("Who was born in Dunmere?")
        judged = store.asking.estimate(QUESTION)
        taken = store.ask(QUESTION).usage
        known = store.asking.estimate(QUESTION)

    assert (guess.calls, guess.cached, guess.documents) == (1, 0, 3)
    assert (judged.input_tokens, judged.output_tokens) == pytest.approx(
        (taken.input_tokens, taken.output_tokens), rel=0.15
    )
    assert (known.calls, known.cached) == (0, 1)
    with opened(library) as store, pytest.raises(SettingsError, match="no language model"):
        store.asking.estimate(QUESTION)


def test_what_the_search_asks_of_the_model_is_counted_and_bounded(library: Path) -> None:
    settings = load_settings(store=library, llm={"filter": True, "routing": True})
    chosen = json.dumps({"passages": [1]})
    route = json.dumps({"strategy": "graph", "reason": "because"})
    model = ScriptedLanguageModel([route, chosen, said(("built the great", "It was Ada.")), route])
    with clew.open(settings=settings, embedder=HashEmbedder(), language_model=model) as store:
        guess = store.asking.estimate(QUESTION)
        assert model.calls == 0, "a dry run asks nothing, whatever the settings let a search ask"
        found = store.ask(QUESTION)
        # A limit that the choice of the strategy uses up: nothing more is asked.
        short = store.ask("Who was born in Dunmere?", max_tokens_spent=1)

    assert guess.calls == found.calls == 3
    assert guess.input_tokens > found.usage.input_tokens / 2
    assert (short.calls, model.calls) == (1, 4)
    assert "of 1 tokens are spent" in " ".join(short.notes)


def test_what_steps_would_take_is_the_most_that_they_take(library: Path) -> None:
    model = ScriptedLanguageModel()
    with opened(library, model) as store:
        guesses = [
            store.asking.estimate(CHAIN, mode="stepwise", steps=steps).calls for steps in (1, 4)
        ]
    assert guesses == [1, 1 + 3 + 1], "a plan, what is missing three times, the answer"
    assert model.calls == 0


# --- Questions about a whole, and what else a strategy found: no single table or sentence
# answers.


NOTES = {
    "minutes.md": "# Minutes of 4 March 2025\n\nThe guild met in the granary on 4 March 2025. Greta"
    " Holm was elected chair. The guild will replace the north sluice.\n",
    "report.md": "# Annual report 2025\n\nIn June 2025 Arnfeld replaced the north sluice. In"
    " September 2025 Greta Holm opened a shop.\n\n## Money\n\nThe sluice cost 42,000 kroner.\n",
    "history.md": "# History\n\nJens Arp built the Lower Mill in 1794. The guild bought the Lower"
    " Mill in 1988. Greta Holm leads the guild.\n",
}
UNQUOTED = said(("no such words", "Nothing at all."))
HAPPENED = "What happened here in 2025?"
THEMES = "What are the main themes?"


@pytest.fixture(scope="module")
def store_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of notes, and of a table of far more rows of the same year."""
    folder, place = tmp_path_factory.mktemp("files"), tmp_path_factory.mktemp("store")
    rows = [
        f"2025-{1 + n % 12:02}-{1 + n % 27:02},O-{1000 + n},{('Quay Books', 'Lind Bakery')[n % 2]}"
        for n in range(60)
    ]
    (folder / "orders.csv").write_text("\n".join(["date,order,customer", *rows]), "utf-8")
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    with opened(place) as engine:
        engine.index([folder])
    return place


@pytest.fixture
def fresh(store_folder: Path, tmp_path: Path) -> Path:
    """The store without the replies that other tests had: what is kept is not asked for again."""
    return copytree(store_folder, tmp_path / "store")


@pytest.mark.parametrize("replies", [None, [said()], [UNQUOTED], ["no JSON", "nor this"]])
@pytest.mark.parametrize("mode", ["one_shot", "global"])
@pytest.mark.parametrize("question", [HAPPENED, THEMES, "What are the main themes of 2025?"])
def test_a_question_about_a_whole_is_answered_by_more_than_one_table(
    fresh: Path, replies: list[str] | None, mode: AnswerMode, question: str
) -> None:
    model = None if replies is None else ScriptedLanguageModel(replies * 20)
    with opened(fresh, model) as engine:
        found = engine.ask(question, mode=mode)
    assert DO_NOT_SAY not in found.text
    documents = {Path(source.source).name for source in found.sources}
    assert len(documents - {"orders.csv"}) >= 2, "the notes are told of, too"
    assert sum("order: O-" in s.text for s in found.statements) <= len(found.statements) / 2
    for said_ in found.statements:
        told = " ".join(said_.text.split())
        shown = [" ".join(quotation.text.split()) in told for quotation in said_.quotations]
        assert all(shown) or told.endswith("…")


def test_what_happened_is_told_in_order_of_time(store_folder: Path) -> None:
    with opened(store_folder) as engine:
        hits = engine.search(HAPPENED, limit=4).hits
        told = [s.text.split()[0] for s in engine.ask(HAPPENED).statements]
    assert hits[0].confidence is not None
    assert len({hit.chunk.document_id for hit in hits}) == 3, "each document in turn"
    places = [month_name[:].index(word) for word in told if word in month_name[:]]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("strategy", "kind", "question"),
    [
        ("multi_hop", "path", "How are Jens Arp and Greta Holm connected?"),
        ("global", "report", THEMES),
        ("topic", "topic", "notes on the sluice"),
        ("temporal", "timeline", HAPPENED),
        ("hierarchical", "hierarchy", "Give an outline of the report"),
        ("local", "subgraph", "Tell me about Greta Holm"),
    ],
)
def test_the_model_reads_what_the_strategy_found(
    fresh: Path, strategy: str, kind: str, question: str
) -> None:
    model = ScriptedLanguageModel([said()])
    with opened(fresh, model) as engine:
        found = engine.search(question, strategy=NamedStrategy(strategy), context_passages=False)
        engine.ask(question, strategy=NamedStrategy(strategy))
    asked = model.asked[-1].messages[0].text
    parts = [part.text for part in found.context.parts if part.kind == kind]
    assert 0 < len(parts) == asked.count(f'kind="{kind}"')
    lines = [line.removeprefix("> ") for text in parts for line in text.split("\n")]
    assert all(line in asked for line in lines if "<" not in line and "[" not in line)
    assert asked.count("number=") == len(found.hits)
    assert 'kind="passage"' not in asked
