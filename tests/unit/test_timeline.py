from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.errors import NotFoundError
from clew.testing.fakes import HashEmbedder
from tests.unit.asked import add, day

TEXTS = {
    "youth": "Ada Morn lived in Lisse from 1801 to 1809.",
    "trade": "In May 1812 Ada Morn opened a workshop.",
    "letter": "Ada Morn is tired of clocks.",
    "fame": "Ada Morn was honoured in 1830 and in 1835.",
    "undated": "Ada Morn liked eels.",
    "other": "Piet Oss died in 1811.",
}
DATES = {"letter": "1820-03-02", "fame": "1840-01-01"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[clew.Clew]:
    with clew.open(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as engine:
        add(engine, TEXTS, DATES)
        yield engine


def told(engine: clew.Clew, **given: object) -> list[tuple[int, str]]:
    """(year, title of the passage) of each entry, relations aside."""
    by_id = {engine.documents.chunks(title)[0].public_id: title for title in TEXTS}
    return [
        (entry.period.start.year, by_id[entry.reference])
        for entry in engine.graph.timeline("Ada Morn", **given)  # type: ignore[arg-type]
        if entry.period.start and " — " not in entry.text
    ]


def test_passages_stand_at_the_times_they_speak_of_else_when_they_were_said(
    engine: clew.Clew,
) -> None:
    years = [year for year, _ in told(engine)]
    assert years == sorted(years)
    assert set(told(engine)) == {
        (1801, "youth"),
        (1809, "youth"),
        (1812, "trade"),
        (1820, "letter"),
        (1830, "fame"),
        (1835, "fame"),
    }


def test_relations_stand_at_the_time_over_which_they_held(engine: clew.Clew) -> None:
    lived = [
        e for e in engine.graph.timeline("Ada Morn") if e.text == "Ada Morn — lived_in → Lisse"
    ]
    assert len(lived) == 1
    assert lived[0].period.start == day("1801-01-01")
    assert lived[0].period.end is not None
    assert lived[0].provenance is not None
    assert lived[0].provenance.title == "youth"


def test_every_entry_names_its_passage_and_where_it_comes_from(engine: clew.Clew) -> None:
    for entry in engine.graph.timeline("Ada Morn"):
        assert engine.documents.text(entry.reference)
        assert entry.provenance is not None
        assert entry.provenance.title in TEXTS


def test_of_too_many_the_latest_are_left_out(engine: clew.Clew) -> None:
    every = engine.graph.timeline("Ada Morn")
    assert engine.graph.timeline("Ada Morn", limit=2) == every[:2]


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


def test_what_was_said_later_was_not_known_yet(engine: clew.Clew) -> None:
    assert {title for _, title in told(engine, as_of="1825")} == {"youth", "trade", "letter"}


def test_of_an_entity_without_a_time_nothing_is_told(engine: clew.Clew) -> None:
    engine.add("Brida Kall liked bread.", source="bread")
    assert engine.graph.timeline("Brida Kall") == []
    with pytest.raises(NotFoundError, match="no entity 'Nobody'"):
        engine.graph.timeline("Nobody")


def test_a_time_of_another_sentence_is_not_the_entity_s(engine: clew.Clew) -> None:
    engine.add(
        "The hall has 1066 chairs. Tilda Roe came to Lisse. She opened a shop in 1851."
        " The fair was held in Delft in 1853.",
        source="hall",
    )
    found = engine.graph.timeline("Tilda Roe")
    years = {entry.period.start.year for entry in found if entry.period.start}
    assert years == {1851}
    assert [entry.text for entry in found] == ["She opened a shop in 1851."]


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("The hall has 1066 chairs.", []),
        ("Ada Morn sold 1500 books in 1830.", [1830]),
        ("In 2019 prices rose.", [2019]),
        ("The 1908 games were held in London.", [1908]),
        ("Between 1830 and 1835 clocks were cheap.", [1830, 1835]),
    ],
)
def test_what_counts_things_is_no_year(text: str, years: list[int]) -> None:
    from clew.indexing.relations.phrases import find_dates

    found = [span.name for span in find_dates(text, 0, len(text))]
    assert found == [str(year) for year in years]


def test_a_name_that_one_entity_begins_with_is_taken_for_it(engine: clew.Clew) -> None:
    entity, remark = engine.entities.match("ada mo")
    assert entity.name == "Ada Morn"
    assert "'ada mo' is taken for 'Ada Morn'" in remark
    assert engine.entities.match("Ada Morn")[1] == ""
    engine.add("Ada Morrow liked eels.", source="morrow")
    with pytest.raises(NotFoundError, match=r"near it: .*'Ada Morn'"):
        engine.entities.match("ada mo")


@pytest.mark.parametrize("misspelt", ["Ada Mron", "Mron", "Adda Morn"])
def test_a_misspelt_name_meets_the_nearest(engine: clew.Clew, misspelt: str) -> None:
    with pytest.raises(NotFoundError, match="'Ada Morn'"):
        engine.graph.timeline(misspelt)


def test_a_line_of_a_header_is_no_event(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        text = "From: Ada Morn\nDate: 2 May 1812\n\nAda Morn died in 1830."
        add(engine, {"mail": text}, {})
        told = [entry.text for entry in engine.graph.timeline("Ada Morn")]
    assert told
    assert not [text for text in told if "Date:" in text]
