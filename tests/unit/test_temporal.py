"""Questions of time: periods, timelines, earlier versions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clew
from clew.errors import NotFoundError
from clew.search.periods import LIKELY, UNDATED, closeness, moment_of
from clew.search.pipeline import EVERYWHERE, STRATEGIES
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import Hit, NamedStrategy, SearchResult
from tests.unit.asked import add, day, engine_of, new_session

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


engine = engine_of(TEXTS, DATES)


def found(result: SearchResult) -> list[str]:
    return [hit.chunk.title for hit in result.hits]


# --- what a period does


@pytest.mark.parametrize(
    ("question", "untimed"),
    [
        ("What did Ada Morn mend in 2019?", ["What", "did", "Ada", "Morn", "mend", "?"]),
        ("Where is Vell?", ["Where", "is", "Vell?"]),
    ],
)
def test_without_a_period_a_question_keeps_its_words(
    engine: clew.Clew, question: str, untimed: list[str]
) -> None:
    assert new_session(engine, question).untimed.split() == untimed


def test_the_period_that_a_question_names_goes_first_and_the_others_follow(
    engine: clew.Clew,
) -> None:
    result = engine.search("What did Ada Morn mend in 2019?", strategy="temporal")
    assert set(found(result)[:2]) == {"c", "d"}, "what does not answer stays behind"
    assert set(found(result)) == set(TEXTS)
    info = result.temporal
    assert info is not None
    told = info.applied, info.phrase, info.since, info.until
    assert told == ("preferred", "in 2019", day("2019-01-01"), day("2020-01-01"))
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


QUESTION_OF_2019 = "What did Ada Morn mend in 2019, the clock or the pendulum?"
NO_PERIOD = "no passage is of the period 'in 1950'; it was ignored"
BY_HAND = {"since": "2020", "until": "2021-07"}


@pytest.mark.parametrize(
    ("question", "given", "titles", "applied", "note"),
    [
        # It is a filter of any strategy where that is asked for.
        *(
            (QUESTION_OF_2019, {"strategy": strategy, "temporal": True}, IN_2019, "filtered", None)
            for strategy in ("temporal", "vector", "keyword", "graph", "weighted")
        ),
        # Times given by hand are filters and go before the question.
        (QUESTION_OF_2019, {"strategy": "temporal", **BY_HAND}, {"e", "f"}, "filtered", None),
        ("What did Ada Morn mend in 1950?", {"strategy": "temporal"}, set(TEXTS), None, NO_PERIOD),
        ("What did Ada Morn mend?", {"strategy": "temporal", "temporal": True}, set(TEXTS), None,
         "the question names no period to keep to"),
    ],
)  # fmt: skip
def test_a_period_is_a_filter_where_that_is_asked_for(
    engine: clew.Clew,
    question: str,
    given: dict[str, Any],
    titles: set[str],
    applied: str | None,
    note: str | None,
) -> None:
    result = engine.search(question, **given)
    assert set(found(result)) == titles
    assert note is None or note in result.notes
    assert applied is None or (result.temporal and result.temporal.applied == applied)


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
    assert set(found(result)[:2]) == {"Minutes", "Chat"}
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


timeline_engine = engine_of(TIMELINE_TEXTS, TIMELINE_DATES)


def told(engine: clew.Clew, as_of: str | None = None) -> list[tuple[int, str]]:
    """(year, title of the passage) of each entry, relations aside."""
    by_id = {engine.documents.chunks(title)[0].public_id: title for title in TIMELINE_TEXTS}
    return [
        (entry.period.start.year, by_id[entry.reference])
        for entry in engine.graph.timeline("Ada Morn", as_of=as_of)
        if entry.period.start and " — " not in entry.text
    ]


def test_passages_stand_at_the_times_they_speak_of_else_when_they_were_said(
    timeline_engine: clew.Clew,
) -> None:
    found = told(timeline_engine)
    assert [year for year, _ in found] == sorted(year for year, _ in found)
    assert set(found) == {
        *((1801, "youth"), (1809, "youth"), (1812, "trade")),
        *((1820, "letter"), (1830, "fame"), (1835, "fame")),
    }
    then = {title for _, title in told(timeline_engine, as_of="1825")}
    assert then == {"youth", "trade", "letter"}, "what was said later was not known yet"


def test_relations_stand_at_the_time_over_which_they_held(timeline_engine: clew.Clew) -> None:
    entries = timeline_engine.graph.timeline("Ada Morn")
    (lived,) = [one for one in entries if one.text == "Ada Morn — lived_in → Lisse"]
    assert lived.period.start == day("1801-01-01")
    assert lived.period.end is not None
    assert lived.provenance is not None
    assert lived.provenance.title == "youth"


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


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Brida Kall", "Brida Kall liked bread.", []),
        # A time of another sentence is not the entity's, nor is a line of a header an event.
        (
            "Tilda Roe",
            "The hall has 1066 chairs. Tilda Roe came to Lisse. She opened a shop in 1851."
            " The fair was held in Delft in 1853.",
            ["She opened a shop in 1851."],
        ),
        (
            "Eda Born",
            "From: Eda Born\nDate: 2 May 1812\n\nEda Born died in 1830.",
            ["Eda Born died in 1830."],
        ),
    ],
)
def test_what_is_told_of_an_entity(
    timeline_engine: clew.Clew, name: str, text: str, expected: list[str]
) -> None:
    timeline_engine.add(text, source=name)
    assert [entry.text for entry in timeline_engine.graph.timeline(name)] == expected


def test_a_name_that_one_entity_begins_with_is_taken_for_it(timeline_engine: clew.Clew) -> None:
    entity, remark = timeline_engine.entities.match("ada mo")
    assert entity.name == "Ada Morn"
    assert "'ada mo' is taken for 'Ada Morn'" in remark
    assert timeline_engine.entities.match("Ada Morn")[1] == ""
    timeline_engine.add("Ada Morrow liked eels.", source="morrow")
    with pytest.raises(NotFoundError, match=r"near it: .*'Ada Morn'"):
        timeline_engine.entities.match("ada mo")


# --- Earlier versions of changed documents, asked by `as_of`, as a user of the library meets
# them.


WITH_EARLIER = {name for name, line in STRATEGIES.items() if line.finds in EVERYWHERE} | {"auto"}

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


@pytest.mark.parametrize("strategy", [*sorted(STRATEGIES), "auto"])
def test_the_text_that_stood_then_is_found_first(earlier_engine: clew.Clew, strategy: str) -> None:
    stood = replace_notice(earlier_engine, NOTICE, NOW)
    then = earlier_engine.search(QUESTION, strategy=NamedStrategy(strategy), as_of=stood)
    assert NOW not in [hit.chunk.text for hit in then.hits]
    if strategy in WITH_EARLIER:
        assert then.hits[0].chunk.text == NOTICE
    for now in (None, "tomorrow"):
        assert (
            earlier(
                earlier_engine.search(QUESTION, strategy=NamedStrategy(strategy), as_of=now).hits
            )
            == []
        )


def test_a_hit_says_of_which_version_it_is_and_until_when(earlier_engine: clew.Clew) -> None:
    stood = replace_notice(earlier_engine, NOTICE, NOW)
    result = earlier_engine.search(QUESTION, as_of=stood)
    _, second = earlier_engine.documents.versions("notice")
    shown = result.to_dict()["results"][0]
    assert second.replaced_at is None
    assert shown["id"] == f"{earlier_engine.documents.get('notice').id}@1#0"
    assert shown["metadata"]["version"] == shown["provenance"]["version"] == 1
    assert shown["metadata"]["replaced_at"] == second.indexed_at.isoformat()
    assert f"Notice (version 1, replaced {second.indexed_at:%Y-%m-%d})" in result.context.text
    assert {"vector", "keyword"} <= set(shown["scores"])
    assert earlier_engine.documents.text(shown["id"]) == NOTICE
    fetched = earlier_engine.tools.call("fetch", {"id": shown["id"]})
    assert fetched.content["text"] == NOTICE
    assert all("version" not in hit["metadata"] for hit in result.to_dict()["results"][1:])


def test_of_several_versions_each_has_its_time(earlier_engine: clew.Clew) -> None:
    texts = [f"Notice period: an employee of Vell gives {n} weeks." for n in ("two", "six", "ten")]
    replace_notice(earlier_engine, *texts)
    for version in earlier_engine.documents.versions("notice"):
        found = earlier_engine.search(QUESTION, as_of=version.indexed_at)
        assert found.hits[0].chunk.text == texts[version.version - 1]


def test_filters_and_dates_hold_for_earlier_texts(earlier_engine: clew.Clew) -> None:
    given = (("red", "2019-05-01", NOTICE), ("blue", "2022-05-01", NOW))
    for team, date, text in given:
        earlier_engine.add(text, source="notice", metadata={"team": team, "date": date})
    stood = earlier_engine.documents.versions("notice")[0].indexed_at

    def found(as_of: datetime | str, **given: object) -> list[str]:
        hits = earlier_engine.search(QUESTION, as_of=as_of, **given).hits  # type: ignore[arg-type]
        return [hit.chunk.text for hit in hits if hit.chunk.text in (NOTICE, NOW)]

    assert found(stood, where=["team=red"]) == found(stood, where=["source=notice"]) == [NOTICE]
    assert found(stood, where=["team=blue"]) == found(stood, since="2020") == []
    assert found("2020")[:1] == found("2020", since="2019", until="2019") == [NOTICE]
    assert found("2023")[:1] == [NOW]


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
