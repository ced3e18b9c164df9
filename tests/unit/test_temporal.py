"""Questions of time: periods, timelines, earlier versions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import clew
from clew.errors import NotFoundError
from clew.search.periods import LIKELY, UNDATED, closeness, moment_of
from clew.search.strategies import EVERYWHERE, STRATEGIES
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Hit
from tests.unit.asked import add, day, new_session

if TYPE_CHECKING:
    from clew.types import SearchResult


# --- Time in retrieval: what a period does, and the order in which it is told.


DATES = {
    "a": "2017-03-04",
    "b": "2019-02-01",
    "c": "2019-02-20",
    "d": "2019-12-31",
    "e": "2020-01-03",
    "f": "2021-07-09",
}
TEXTS = {
    **{title: f"Ada Morn mended the clock of Vell, entry {title}." for title in DATES},
    "b": "The pendulum was sent to Lisse.",
    "none": "Ada Morn mended the clock of Vell, some day.",
}
IN_2019 = {"b", "c", "d"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS, DATES)
        yield engine


def found(result: SearchResult) -> list[str]:
    return [hit.chunk.title for hit in result.hits]


# --- what a period does


def test_the_period_that_a_question_names_goes_first_and_the_others_follow(
    engine: clew.Clew,
) -> None:
    result = engine.search("What did Ada Morn mend in 2019?", strategy="temporal")
    assert set(found(result)[:2]) == {"c", "d"}, "what does not answer stays behind"
    assert set(found(result)) == set(TEXTS)
    info = result.temporal
    assert info is not None
    assert (info.applied, info.phrase) == ("preferred", "in 2019")
    assert (info.since, info.until) == (day("2019-01-01"), day("2020-01-01"))
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert {h.chunk.title for h in result.hits if h.scores["temporal"] == 1} == IN_2019


def test_where_nothing_is_likely_to_answer_the_period_goes_first(tmp_path: Path) -> None:
    texts = {
        "loom": "The wide loom of Lisse improves the narrow one.",
        "shuttle": "A lighter shuttle of ash wood was tried in Vell.",
        "lamp": "Threads are counted by a lamp and a mirror.",
    }
    dates = {"loom": "2019-05-01", "shuttle": "2021-03-01", "lamp": "2023-02-01"}
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts, dates)
        result = engine.search("What improvements were made after 2020?")
    assert result.confidence is not None
    assert result.confidence < LIKELY
    assert set(found(result)[:2]) == {"shuttle", "lamp"}


@pytest.mark.parametrize("question", ["notes from 1 May 2019", "What did I note on 1 May 2019?"])
def test_a_question_that_says_hardly_more_than_when_is_answered_by_the_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    # As if the best of all were likely to answer.
    monkeypatch.setattr(sys.modules[moment_of.__module__], "LIKELY", 0)
    texts = {
        "day": "Rain all morning. The pump leaks again.",
        "book": "I note every note in the note book: what did I note, and when did I note it.",
    }
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(engine, texts, {"day": "2019-05-01", "book": "2021-03-01"})
        result = engine.search(question, strategy="temporal")
    assert found(result)[0] == "day"
    assert not any("not of the period" in note for note in result.notes)


@pytest.mark.parametrize("strategy", ["temporal", "vector", "keyword", "graph", "weighted"])
def test_it_is_a_filter_of_any_strategy_where_that_is_asked_for(
    engine: clew.Clew, strategy: str
) -> None:
    question = "What did Ada Morn mend in 2019, the clock or the pendulum?"
    result = engine.search(question, strategy=strategy, temporal=True)
    assert set(found(result)) == IN_2019
    assert result.temporal is not None
    assert result.temporal.applied == "filtered"


def test_times_given_by_hand_are_filters_and_go_before_the_question(engine: clew.Clew) -> None:
    result = engine.search(
        "What did Ada Morn mend in 2019?", strategy="temporal", since="2020", until="2021-07"
    )
    assert set(found(result)) == {"e", "f"}
    assert result.temporal is not None
    assert result.temporal.applied == "filtered"
    assert result.temporal.phrase == ""


def test_a_period_of_which_there_is_nothing_is_named_and_ignored(engine: clew.Clew) -> None:
    result = engine.search("What did Ada Morn mend in 1950?", strategy="temporal")
    assert set(found(result)) == set(TEXTS)
    assert "no passage is of the period 'in 1950'; it was ignored" in result.notes


def test_a_question_without_a_period_has_none_to_keep_to(engine: clew.Clew) -> None:
    result = engine.search("What did Ada Morn mend?", strategy="graph", temporal=True)
    assert found(result)
    assert "the question names no period to keep to" in result.notes
    assert result.temporal is None


# --- order and groups


def groups(result: SearchResult) -> list[tuple[str, int]]:
    """Headings of the context with the passages under each."""
    parts = re.split(r"^## (.*)$", result.context.text, flags=re.MULTILINE)[1:]
    return [
        (label, text.count("\n[") + text.startswith("["))
        for label, text in zip(parts[::2], parts[1::2], strict=True)
    ]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2017", "2021", [("2017", 1), ("2019", 3), ("2020", 1), ("2021", 1)]),
        (
            "2019",
            "2020",
            [("February 2019", 2), ("December 2019", 1), ("January 2020", 1)],
        ),
        ("2019-02", "2019-02", [("1 February 2019", 1), ("20 February 2019", 1)]),
    ],
    ids=["years", "months", "days"],
)
def test_passages_stand_in_order_of_time_by_year_month_or_day(
    engine: clew.Clew, since: str, until: str, expected: list[tuple[str, int]]
) -> None:
    result = engine.search("clock of Vell", strategy="temporal", since=since, until=until)
    assert groups(result) == expected
    assert result.temporal is not None
    assert [(label, len(ids)) for label, ids in result.temporal.timeline] == expected
    by_id = {hit.chunk.public_id: hit.chunk.title for hit in result.hits}
    told = [by_id[id_] for _, ids in result.temporal.timeline for id_ in ids]
    assert told == sorted(told), "titles are in order of their dates"


def test_what_has_no_date_comes_last(engine: clew.Clew) -> None:
    result = engine.search("history of the clock of Vell", strategy="temporal")
    assert groups(result)[-1] == (UNDATED, 1)
    assert result.temporal is not None
    assert result.temporal.evolution
    assert result.temporal.timeline[-1][0] == UNDATED


# --- closeness


def test_closeness_halves_with_each_year_from_the_period(engine: clew.Clew) -> None:
    asked = new_session(engine, "Ada Morn", since=day("2018-03-04"), until=day("2019-02-10"))
    ids = {c.title: c.id for name in TEXTS for c in engine.documents.chunks(name)}
    near = dict(zip(ids, closeness(asked, np.array(list(ids.values()))).tolist(), strict=True))
    assert near["b"] == 1, "inside"
    assert near["none"] == 0, "no time, no closeness"
    assert near["a"] == pytest.approx(0.5, abs=0.01), "a year before"
    assert near["d"] == pytest.approx(0.5 ** (324 / 365), abs=0.01)
    assert near["f"] < near["e"] < near["d"] < near["c"] < 1


def test_what_happened_on_a_day_is_what_is_of_the_day(tmp_path: Path) -> None:
    texts = {
        "Plan": "The mill is planned for 2024.",
        "Minutes": "The mill arrived on 9 April 2024. The board was glad.",
        "Chat": "We needed the crane of the fire brigade.",
    }
    dates = {"Plan": "2023-11-06", "Minutes": "2024-04-15", "Chat": "2024-04-09"}
    with clew.open(tmp_path) as engine:
        add(engine, texts, dates)
        result = engine.search("What happened on 9 April 2024?")
        answer = engine.ask("What happened on 9 April 2024?")
        asked = engine.search("What happened to the bees on 9 April 2024?")
    assert {hit.chunk.title for hit in result.hits[:2]} == {"Minutes", "Chat"}
    assert result.answered
    assert answer.statements[0].text == "The mill arrived on 9 April 2024."
    assert (asked.confidence or 0) < (result.confidence or 0) / 2, "nothing is said of bees"


# --- timeline


TIMELINE_TEXTS = {
    "youth": "Ada Morn lived in Lisse from 1801 to 1809.",
    "trade": "In May 1812 Ada Morn opened a workshop.",
    "letter": "Ada Morn is tired of clocks.",
    "fame": "Ada Morn was honoured in 1830 and in 1835.",
    "undated": "Ada Morn liked eels.",
    "other": "Piet Oss died in 1811.",
}
TIMELINE_DATES = {"letter": "1820-03-02", "fame": "1840-01-01"}


@pytest.fixture(scope="module")
def timeline_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TIMELINE_TEXTS, TIMELINE_DATES)
        yield engine


def told(engine: clew.Clew, **given: object) -> list[tuple[int, str]]:
    """(year, title of the passage) of each entry, relations aside."""
    by_id = {engine.documents.chunks(title)[0].public_id: title for title in TIMELINE_TEXTS}
    return [
        (entry.period.start.year, by_id[entry.reference])
        for entry in engine.graph.timeline("Ada Morn", **given)  # type: ignore[arg-type]
        if entry.period.start and " — " not in entry.text
    ]


def test_passages_stand_at_the_times_they_speak_of_else_when_they_were_said(
    timeline_engine: clew.Clew,
) -> None:
    years = [year for year, _ in told(timeline_engine)]
    assert years == sorted(years)
    assert set(told(timeline_engine)) == {
        (1801, "youth"),
        (1809, "youth"),
        (1812, "trade"),
        (1820, "letter"),
        (1830, "fame"),
        (1835, "fame"),
    }


def test_relations_stand_at_the_time_over_which_they_held(timeline_engine: clew.Clew) -> None:
    lived = [
        e
        for e in timeline_engine.graph.timeline("Ada Morn")
        if e.text == "Ada Morn — lived_in → Lisse"
    ]
    assert len(lived) == 1
    assert lived[0].period.start == day("1801-01-01")
    assert lived[0].period.end is not None
    assert lived[0].provenance is not None
    assert lived[0].provenance.title == "youth"


def test_the_order_is_the_same_wherever_the_texts_lie(tmp_path: Path) -> None:
    """At one moment, what ends stands before what begins, the shorter before the longer."""
    texts = [
        "Nils Arne lives in Vesterås.",
        "Nils Arne moved to Kalmar in January 2024.",
        "Pia Holm taught Nils Arne to sail in 2019.",
        "Nils Arne built a boat in 2019. Nils Arne met Pia Holm in January 2019.",
    ]
    orders = set()
    for round_ in range(4):
        with clew.open(tmp_path / f"store{round_}", embedder=HashEmbedder()) as store:
            for n, text in enumerate(texts):
                store.add(text, source=f"{round_}/{n}", metadata={"date": "2022-06-01"})
            entries = store.graph.timeline("Nils Arne")
        orders.add(tuple(entry.text for entry in entries))

    assert orders == {
        (
            "Nils Arne met Pia Holm in January 2019.",
            "Nils Arne built a boat in 2019. Nils Arne met Pia Holm in January 2019.",
            "Pia Holm taught Nils Arne to sail in 2019.",
            "Nils Arne — met → Pia Holm",
            "Pia Holm — taught → Nils Arne",
            "Nils Arne lives in Vesterås.",
            "Nils Arne — lives_in → Vesterås",
            "Nils Arne moved to Kalmar in January 2024.",
            "Nils Arne — lives_in → Kalmar",
        )
    }


def test_what_was_said_later_was_not_known_yet(timeline_engine: clew.Clew) -> None:
    assert {title for _, title in told(timeline_engine, as_of="1825")} == {
        "youth",
        "trade",
        "letter",
    }


def test_of_an_entity_without_a_time_nothing_is_told(timeline_engine: clew.Clew) -> None:
    timeline_engine.add("Brida Kall liked bread.", source="bread")
    assert timeline_engine.graph.timeline("Brida Kall") == []
    with pytest.raises(NotFoundError, match="no entity 'Nobody'"):
        timeline_engine.graph.timeline("Nobody")


def test_a_time_of_another_sentence_is_not_the_entity_s(timeline_engine: clew.Clew) -> None:
    timeline_engine.add(
        "The hall has 1066 chairs. Tilda Roe came to Lisse. She opened a shop in 1851."
        " The fair was held in Delft in 1853.",
        source="hall",
    )
    found = timeline_engine.graph.timeline("Tilda Roe")
    years = {entry.period.start.year for entry in found if entry.period.start}
    assert years == {1851}
    assert [entry.text for entry in found] == ["She opened a shop in 1851."]


def test_a_name_that_one_entity_begins_with_is_taken_for_it(timeline_engine: clew.Clew) -> None:
    entity, remark = timeline_engine.entities.match("ada mo")
    assert entity.name == "Ada Morn"
    assert "'ada mo' is taken for 'Ada Morn'" in remark
    assert timeline_engine.entities.match("Ada Morn")[1] == ""
    timeline_engine.add("Ada Morrow liked eels.", source="morrow")
    with pytest.raises(NotFoundError, match=r"near it: .*'Ada Morn'"):
        timeline_engine.entities.match("ada mo")


def test_a_line_of_a_header_is_no_event(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        text = "From: Ada Morn\nDate: 2 May 1812\n\nAda Morn died in 1830."
        add(engine, {"mail": text}, {})
        told = [entry.text for entry in engine.graph.timeline("Ada Morn")]
    assert told
    assert not [text for text in told if "Date:" in text]


# --- Earlier versions of changed documents, asked by `as_of`, as a user of the library meets
# them.


WITH_EARLIER = {name for name, line in STRATEGIES.items() if line.finds in EVERYWHERE}

OTHERS = [
    "The canteen of Vell opens at noon and serves soup.",
    "Piet Oss keeps the keys of the archive in Lisse.",
    "Bicycles are left behind the mill of Vell.",
]
NOTICE = "Notice period: an employee of Vell gives two weeks of notice."
NOW = "Notice period: an employee of Vell gives four weeks of notice."
QUESTION = "How many weeks of notice does an employee of Vell give?"


@pytest.fixture
def earlier_engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        for number, text in enumerate(OTHERS):
            engine.add(text, source=f"other-{number}")
        yield engine


def replace_notice(engine: clew.Clew, *texts: str) -> datetime:
    """Store texts of one document one after the other; a moment when the first one stood."""
    engine.add(texts[0], source="notice", title="Notice")
    stood = engine.documents.get("notice").indexed_at
    for text in texts[1:]:
        engine.add(text, source="notice", title="Notice")
    return stood


def earlier(hits: tuple[Hit, ...]) -> list[str]:
    return [hit.chunk.text for hit in hits if hit.chunk.version]


@pytest.mark.parametrize("strategy", [*sorted(WITH_EARLIER), "auto"])
def test_the_text_that_stood_then_is_found_first(earlier_engine: clew.Clew, strategy: str) -> None:
    stood = replace_notice(earlier_engine, NOTICE, NOW)
    then = earlier_engine.search(QUESTION, strategy=strategy, as_of=stood)
    assert then.hits[0].chunk.text == NOTICE
    assert NOW not in [hit.chunk.text for hit in then.hits]
    assert earlier(earlier_engine.search(QUESTION, strategy=strategy).hits) == []
    assert earlier(earlier_engine.search(QUESTION, strategy=strategy, as_of="tomorrow").hits) == []


@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES) - WITH_EARLIER))
def test_overviews_may_be_asked_of_then_too(earlier_engine: clew.Clew, strategy: str) -> None:
    stood = replace_notice(earlier_engine, NOTICE, NOW)
    found = earlier_engine.search(QUESTION, strategy=strategy, as_of=stood)
    assert NOW not in [hit.chunk.text for hit in found.hits]


def test_a_hit_says_of_which_version_it_is_and_until_when(earlier_engine: clew.Clew) -> None:
    stood = replace_notice(earlier_engine, NOTICE, NOW)
    result = earlier_engine.search(QUESTION, as_of=stood)
    _, second = earlier_engine.documents.versions("notice")
    shown = result.to_dict()["results"][0]
    assert second.replaced_at is None
    assert shown["id"] == f"{first_id(earlier_engine)}@1#0"
    assert shown["metadata"]["version"] == shown["provenance"]["version"] == 1
    assert shown["metadata"]["replaced_at"] == second.indexed_at.isoformat()
    assert f"Notice (version 1, replaced {second.indexed_at:%Y-%m-%d})" in result.context.text
    assert {"vector", "keyword"} <= set(shown["scores"])
    assert earlier_engine.documents.text(shown["id"]) == NOTICE
    fetched = earlier_engine.tools.call("fetch", {"id": shown["id"]})
    assert fetched.content["text"] == NOTICE
    assert all("version" not in hit["metadata"] for hit in result.to_dict()["results"][1:])


def first_id(engine: clew.Clew) -> str:
    return engine.documents.get("notice").id


def test_of_several_versions_each_has_its_time(earlier_engine: clew.Clew) -> None:
    texts = [f"Notice period: an employee of Vell gives {n} weeks." for n in ("two", "six", "ten")]
    replace_notice(earlier_engine, *texts)
    for version in earlier_engine.documents.versions("notice"):
        found = earlier_engine.search(QUESTION, as_of=version.indexed_at)
        assert found.hits[0].chunk.text == texts[version.version - 1]


def test_filters_hold_for_earlier_texts(earlier_engine: clew.Clew) -> None:
    earlier_engine.add(NOTICE, source="notice", metadata={"team": "red"})
    stood = earlier_engine.documents.get("notice").indexed_at
    earlier_engine.add(NOW, source="notice", metadata={"team": "blue"})

    def found(*where: str) -> list[str]:
        return earlier(earlier_engine.search(QUESTION, as_of=stood, where=where).hits)

    assert found("team=red") == found("source=notice") == [NOTICE]
    assert found("team=blue") == found("source=other-0") == []
    assert earlier(earlier_engine.search(QUESTION, as_of=stood, since="2020").hits) == []


def test_dated_texts_are_told_apart_by_their_dates(earlier_engine: clew.Clew) -> None:
    earlier_engine.add(NOTICE, source="notice", metadata={"date": "2019-05-01"})
    earlier_engine.add(NOW, source="notice", metadata={"date": "2022-05-01"})
    assert earlier_engine.search(QUESTION, as_of="2020").hits[0].chunk.text == NOTICE
    assert earlier_engine.search(QUESTION, as_of="2023").hits[0].chunk.text == NOW
    within = earlier_engine.search(QUESTION, as_of="2020", since="2019", until="2019")
    assert [hit.chunk.text for hit in within.hits] == [NOTICE]


def test_what_is_not_kept_is_not_found(tmp_path: Path) -> None:
    settings = load_settings(store=tmp_path / "store", versions={"keep": 1})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        stood = replace_notice(engine, NOTICE, "Another text.", NOW)
        assert earlier(engine.search(QUESTION, as_of=stood).hits) == []
        assert [v.is_kept for v in engine.documents.versions("notice")] == [False, True, True]
        assert engine.documents.earlier_text("notice", 2) == "Another text."
        with pytest.raises(NotFoundError, match=r"version 1 .* is not kept; there are 2, 3"):
            engine.documents.earlier_text("notice", 1)
        engine.documents.delete(["notice"])
        assert earlier(engine.search(QUESTION, as_of=stood).hits) == []
        assert engine.maintenance.check().problems == ()


def test_a_namespace_does_not_see_anothers_versions(tmp_path: Path) -> None:
    stood = datetime.now(UTC) + timedelta(seconds=1)
    for name, texts in (("ann", (NOTICE, NOW)), ("bo", (NOW,))):
        settings = load_settings(store=tmp_path, namespace=name)
        with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
            stood = min(stood, replace_notice(engine, *texts))
    settings = load_settings(store=tmp_path, namespace="bo")
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        assert earlier(engine.search(QUESTION, as_of=stood).hits) == []


def test_an_earlier_text_of_another_model_is_found_by_words(tmp_path: Path) -> None:
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        stood = replace_notice(engine, NOTICE, NOW)
    with clew.open(tmp_path / "store", embedder=HashEmbedder(48)) as engine:
        engine.maintenance.reindex()
        result = engine.search(QUESTION, as_of=stood)
        assert result.hits[0].chunk.text == NOTICE
        assert any("found by words alone" in note for note in result.notes)
        assert engine.maintenance.check().problems == ()
