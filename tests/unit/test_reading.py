"""The reader: what it is given, where it finds an answer, and how it counts beside the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clew
from clew.errors import ModelError
from clew.models.reader import LONGEST_ANSWER, WHOLE, OnnxReader, Tokens, best_span
from clew.models.reader import encode as encoded
from clew.search.answer.quoted import SURELY
from clew.search.ranker import Ordered
from clew.search.reading import Told, leading, weigh
from clew.settings import load_settings
from clew.testing.fakes import HashEmbedder
from clew.types import FOUND, NewEntity, Reading, Unread
from tests.unit.asked import add

WEIGHTS = {"order": (1.0, 1.0, 0.0), "confidence": (0.0, 0.0, 1.0, 0.0)}
OIL = Unread(
    "The crisis began in October 1973, when an embargo was proclaimed. By March 1974 the price of"
    " oil had risen from three dollars to twelve.",
    "Oil crisis",
)
BOILER = Unread("Mr Vance repaired the boiler on 3 May and asked for 240 euros.", "Household")
PEARS = Unread("Tobias grafted the pears behind the mill. His aunt had taught him.", "Orchard")


@pytest.fixture(scope="module")
def reader() -> OnnxReader:
    return OnnxReader()


texts = st.text(min_size=1, max_size=1500)


@given(question=texts, text=texts, title=st.text(max_size=200), thread=st.text(max_size=400))
def test_any_text_fits_and_offsets_are_its_own(
    reader: OnnxReader, question: str, text: str, title: str, thread: str
) -> None:
    tokens = encoded(reader.tokenizer, question, Unread(text, title, thread))

    assert len(tokens.ids) == len(tokens.types) == len(tokens.offsets) <= WHOLE
    inside = [offset for offset in tokens.offsets if offset[1]]
    assert all(0 <= start <= end <= len(text) for start, end in inside)
    assert inside == sorted(inside)
    # Only the passage and its title may hold an answer.
    assert all(
        kind == 1 for kind, (_, end) in zip(tokens.types, tokens.offsets, strict=True) if end
    )


@given(
    logits=st.lists(
        st.tuples(st.floats(-20, 20, width=32), st.floats(-20, 20, width=32)),
        min_size=3,
        max_size=2 * LONGEST_ANSWER,
    ),
    head=st.integers(1, 2),
)
def test_best_span_is_the_best_of_all(logits: list[tuple[float, float]], head: int) -> None:
    spans = np.array(logits, np.float32)
    size = len(spans)
    offsets = [(0, 0)] * head + [(n, n + 1) for n in range(size - head)]
    tokens = Tokens(ids=[1] * size, types=[1] * size, offsets=offsets)

    margin, (start, end) = best_span(tokens, spans)

    possible = [
        spans[i, 0] + spans[j, 1]
        for i in range(head, size)
        for j in range(i, min(size, i + LONGEST_ANSWER))
    ]
    assert margin == pytest.approx(max(possible) - spans[0].sum(), abs=1e-3)
    assert 0 <= start < end <= size - head


def test_passage_without_text_has_no_answer() -> None:
    tokens = Tokens(ids=[1, 2], types=[0, 0], offsets=[(0, 0), (0, 0)])

    assert best_span(tokens, np.zeros((2, 2), np.float32)) == (float("-inf"), (0, 0))


@pytest.mark.parametrize(
    ("question", "right", "answer"),
    [
        ("When did the oil crisis begin?", OIL, "October 1973"),
        ("who mended the boiler", BOILER, "Vance"),
        ("How much was the repair of the boiler?", BOILER, "240 euros"),
        ("Who grafted the pear trees?", PEARS, "Tobias"),
    ],
)
def test_right_passage_is_the_most_relevant_and_holds_the_answer(
    reader: OnnxReader, question: str, right: Unread, answer: str
) -> None:
    passages = [OIL, BOILER, PEARS]

    readings = reader.read(question, passages)

    best = max(range(3), key=lambda place: readings[place].relevance)
    assert passages[best] is right
    assert answer in right.text[slice(*readings[best].span)]
    assert readings[best].margin > 0


@pytest.mark.parametrize("question", ["Where was Mr Vance born?", "What colour is the boiler?"])
def test_what_no_passage_says_is_not_there(reader: OnnxReader, question: str) -> None:
    readings = reader.read(question, [OIL, BOILER, PEARS])

    assert all(reading.margin < 0 for reading in readings)


def test_passages_are_read_alone(reader: OnnxReader) -> None:
    """What is read beside a passage changes nothing of what is said of it."""
    question = "Who grafted the pear trees?"
    together = reader.read(question, [PEARS, *[OIL, BOILER] * 4])
    alone = reader.read(question, [PEARS])

    assert together[0] == alone[0]
    assert reader.read(question, []) == []


def test_missing_model_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"search\.reader"):
        OnnxReader(str(tmp_path)).read("Who?", [PEARS])


# --- beside the ranking


def ordered(scores: list[float]) -> Ordered:
    values = np.array(scores, np.float32)
    return Ordered(np.arange(len(scores)), values, values.copy(), None)


relevances = st.lists(st.one_of(st.none(), st.floats(-15, 15)), min_size=1, max_size=20)


@given(relevances, st.integers(0, 5))
def test_every_candidate_stays_and_scores_fall(read: list[float | None], unread: int) -> None:
    size = len(read) + unread
    found = ordered(np.linspace(0.9, 0.1, size).tolist())
    readings = [None if one is None else Reading(one, one, (0, 1)) for one in read]

    weighed = weigh(found, readings, WEIGHTS)

    assert sorted(weighed.order.tolist()) == list(range(size))
    assert (np.diff(weighed.scores) <= 0).all()
    assert ((weighed.confidences >= 0) & (weighed.confidences <= 1)).all()
    # Nothing overtakes what was read without having been read.
    assert sorted(weighed.order[: len(read)].tolist()) == list(range(len(read)))


def test_reader_overrules_and_is_overruled() -> None:
    found = ordered([0.9, 0.8, 0.1])
    sure = [Reading(-5, -5, (0, 1)), Reading(5, 5, (0, 1)), Reading(0, 0, (0, 1))]
    unsure = [Reading(0, 0, (0, 1)), Reading(0.2, 0, (0, 1)), Reading(0.1, 0, (0, 1))]

    assert weigh(found, sure, WEIGHTS).order.tolist() == [1, 2, 0]
    assert weigh(found, unsure, WEIGHTS).order.tolist() == [0, 1, 2]


# --- in a search


@pytest.fixture(autouse=True)
def _it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_SEARCH__READER", "auto")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with clew.open(store=tmp_path) as engine:
        add(engine, {passage.title: passage.text for passage in (OIL, BOILER, PEARS)})
        add(engine, {"Garten": "Die Birnen hat Tobias am Tag nach Ostern veredelt."})
    return tmp_path


def test_answer_is_what_is_read(store: Path) -> None:
    with clew.open(store=store) as engine:
        answer = engine.ask("How much did Mr Vance ask for?")
        nothing = engine.ask("Where was Mr Vance born?")
        fast = engine.search("who mended the boiler", fast=True)
        read = engine.search("who mended the boiler")

    assert "240 euros" in answer.statements[0].text
    assert not nothing.answered
    assert "read" not in fast.timings_ms
    assert "read" in read.timings_ms


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Wann hat Tobias die Birnen veredelt?", "Garten"),
        ("How does the boiler differ from the pears?", "Household"),
        ("Who repaired the boiler in 2021?", "Household"),
    ],
)
def test_what_no_passage_alone_can_answer_in_english_is_not_read(
    store: Path, question: str, first: str
) -> None:
    with clew.open(store=store) as engine:
        result = engine.search(question)

    assert "read" not in result.timings_ms
    assert result.hits[0].chunk.title == first


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_holds_now_is_what_the_newest_answer_says(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    said = [
        ("2021-03-01", "The choir rehearses in the chapel on Thursdays."),
        ("2024-09-02", "The choir rehearses in the old tram shed on Thursdays."),
    ]
    with clew.open(store=tmp_path) as engine:
        for place in order:
            day, text = said[place]
            engine.add(text, title=f"Choir {day}", metadata={"date": day})
        engine.add("The choir sang at the mill.", title="Mill", metadata={"date": "2025-01-05"})
        answer = engine.ask("Where does the choir rehearse now?")

    assert "tram shed" in answer.statements[0].text


@pytest.mark.parametrize(
    ("first", "second", "quoted", "question"),
    [
        ("prefers tea", "prefers coffee", 1, "What does Loveday prefer?"),
        ("works at the creamery", "works at the harbour office", 1, "Where does Loveday work?"),
        ("drives a blue van", "drives a red tractor", 1, "What does Loveday drive?"),
        # Of these the reader is far surer of the first.
        ("works at Kernow Boats", "no longer works at Kernow Boats", 1, "Where does Loveday work?"),
        (
            "keeps her loom in the attic",
            "moved her loom to the mill",
            1,
            "Where is Loveday's loom?",
        ),
        ("is married to Jory Penhale", "is widowed", 1, "Who is Loveday married to?"),
        # What is of another thing changes nothing, though it has the same words.
        (
            "lives in a yellow house",
            "lives on tea and toast",
            0,
            "In what house does Loveday live?",
        ),
    ],
)
def test_of_what_was_told_of_one_thing_the_last_is_quoted(
    tmp_path: Path, first: str, second: str, quoted: int, question: str
) -> None:
    with clew.open(store=tmp_path) as engine:
        engine.entities.memory.create([NewEntity(name="Loveday", entity_type="person")])
        for told in (first, second):
            engine.entities.memory.add_observations([("Loveday", [f"Loveday {told}."])])
        answer = engine.ask(question)

    said = f"Loveday {(first, second)[quoted]}."
    assert [statement.text for statement in answer.statements] == [said]


def telling(says: Mapping[str, tuple[float, int]]) -> SimpleNamespace:
    """A reader that says of each text what it was told to: how sure, and where it points."""
    return SimpleNamespace(
        weights={"order": (1.0, 0.0, 0.0), "confidence": (0.0, 1.0, 0.0, 0.0)},
        warm=lambda: None,
        read=lambda _, passages: [
            Reading(relevance=sure, margin=sure, span=(at, at + 1))
            for sure, at in (says.get(passage.text, (-9.0, 0)) for passage in passages)
        ],
    )


@example(first=9, second=-9, other=-9)
@given(first=st.floats(-9, 12), second=st.floats(-9, 12), other=st.floats(-9, 12))
@settings(max_examples=25, deadline=None)
def test_no_reader_has_what_was_replaced_quoted(
    tmp_path_factory: pytest.TempPathFactory, first: float, second: float, other: float
) -> None:
    """Who moved lives where she moved to, however sure any reader is of what was told before."""
    said = {"Lives in Cadiz.": first, "Moved to Bilbao.": second, "Keeps bees.": other}
    folder = tmp_path_factory.mktemp("store")
    with (
        pytest.MonkeyPatch.context() as patch,
        clew.open(folder, embedder=HashEmbedder()) as engine,
    ):
        reader = telling({text: (sure, 0) for text, sure in said.items()})
        patch.setattr("clew.engine.state.make_reader", lambda _: reader)
        engine.entities.memory.create([NewEntity(name="Ines Vidal", entity_type="person")])
        for text in said:
            engine.entities.memory.add_observations([("Ines Vidal", [text])])
        answer = engine.ask("Where does Ines Vidal live?")

    assert "Cadiz" not in answer.text
    assert answer.answered or max(first, second) <= FOUND


HEADED = {
    "Fair": "# The fair of Vell\n\nIt has forty stalls.",
    "The fair of Vell": "The fair of Vell\n\nIt has forty stalls.",
    "Mail": "From: The fair of Vell <fair@vell.example>\nTo: Ann\n\nIt has forty stalls.",
    "Reply": "> The fair of Vell\n\nIt has forty stalls.",
}


@pytest.mark.parametrize(("title", "text"), HEADED.items())
@pytest.mark.parametrize("at", ["The fair", "forty"])
def test_a_heading_answers_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str, text: str, at: str
) -> None:
    """Wherever the reader points: what is no sentence of the text is neither marked nor quoted."""
    reader = telling({text: (9.0, text.index(at))})
    monkeypatch.setattr("clew.engine.state.make_reader", lambda _: reader)
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        engine.add(text, title=title)
        engine.entities.memory.create([NewEntity(name="Vell", entity_type="town")])
        answer = engine.ask("Where is the fair of Vell?")
        marked = [hit.answer and hit.answer[0] for hit in engine.search("fair of Vell").hits]

    assert [one.text for one in answer.statements] == ["It has forty stalls."] * (at == "forty")
    assert set(marked) <= {None, text.index("It has")}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who judged the honey show in 2024?", ["Canon Wilmot judged the honey show."]),
        ("Who judged the honey show in 2025?", ["Mrs Pascoe judged the honey show."]),
        ("Who judged the honey show in 2022?", []),
        ("Who judged on 2 August 2025?", ["Mrs Pascoe judged the honey show."]),
        ("What did we do on 2 August 2025?", ["Mrs Pascoe judged the honey show."]),
        # What has no date is of no other period.
        ("Who is steward of the tents in 2025?", ["Digory Bolt is steward of the tents."]),
    ],
)
def test_a_passage_of_the_period_answers_or_none(
    tmp_path: Path, question: str, said: list[str]
) -> None:
    with clew.open(store=tmp_path) as engine:
        for title, does, metadata in (
            ("Show 2024", "Canon Wilmot judged the honey show", {"date": "2024-08-02"}),
            ("Show 2025", "Mrs Pascoe judged the honey show", {"date": "2025-08-02"}),
            ("Helpers", "Digory Bolt is steward of the tents", {}),
        ):
            engine.add(f"{does}. We can offer petrol.", title=title, metadata=metadata)
        assert [statement.text for statement in engine.ask(question).statements] == said


GIGS = {
    "First night": "On Friday we played in Ribe, in a barn.",
    "Second night": "On Saturday we played in Odense, to forty people.",
    "Van": "The van needs a new exhaust.",
}


def test_several_are_quoted_where_several_are_asked_for(tmp_path: Path) -> None:
    with clew.open(store=tmp_path) as engine:
        add(engine, GIGS)
        several = engine.ask("Which towns did we play in?")
        one = engine.ask("Where did we play on Friday?")

    said = " ".join(statement.text for statement in several.statements)
    assert ("Ribe" in said, "Odense" in said, "exhaust" in said) == (True, True, False)
    assert [statement.text for statement in one.statements] == [
        "On Friday we played in Ribe, in a barn."
    ]


def quoted(file: Path, text: str, says: Mapping[str, float], question: str) -> list[str]:
    """What a reader that says how sure it is of each text quotes of the last word of one."""
    file.write_text(text, encoding="utf-8")
    told = {said: (sure, len(said) - 2) for said, sure in says.items()}
    with (
        pytest.MonkeyPatch.context() as patch,
        clew.open(file.parent / "store", embedder=HashEmbedder()) as engine,
    ):
        patch.setattr("clew.engine.state.make_reader", lambda _: telling(told))
        engine.index([file])
        return [one.text for one in engine.ask(question).statements]


WARDENS = "street,warden\nMill Bank,Tess Farrow\nCanal Side,Dougie Marr\nHope Row,Nadia Olin\n"


@example(sure=(8.0, 4.0, -9.0))
@given(sure=st.tuples(*[st.floats(-9, 12)] * 3))
@settings(max_examples=15, deadline=None)
def test_of_rows_alike_none_is_quoted(
    tmp_path_factory: pytest.TempPathFactory, sure: tuple[float, float, float]
) -> None:
    """Where the reader is about as sure of another row, it does not see which one is meant."""
    file = tmp_path_factory.mktemp("rows") / "wardens.csv"
    rows = ["street: " + row.replace(",", "\nwarden: ") for row in WARDENS.splitlines()[1:]]
    says = dict(zip(rows, sure, strict=True))
    said = quoted(file, WARDENS, says, "Who is the warden of the worst street?")

    second, first = sorted(Reading(one, one, (0, 1)).sureness for one in sure)[1:]
    assert bool(said) == (first > FOUND and second < SURELY * first)


CHAT = """\
10/10/2025, 08:15 - Ann: The bus leaves at nine
13/10/2025, 09:00 - Gerald: The bus leaves at ten
16/10/2025, 07:12 - Ann: The bus leaves at eight
"""


@example(sure=(8.0, -9.0, 5.0))
@given(sure=st.tuples(*[st.floats(-9, 12)] * 3))
@settings(max_examples=15, deadline=None)
def test_what_was_said_later_puts_right_what_was_said_before(
    tmp_path_factory: pytest.TempPathFactory, sure: tuple[float, float, float]
) -> None:
    """Where the reader is about as sure of a later message, an earlier one is not quoted."""
    file = tmp_path_factory.mktemp("chat") / "chat.txt"
    lines = [line.partition(" - ")[2] for line in CHAT.splitlines()]
    said = quoted(file, CHAT, dict(zip(lines, sure, strict=True)), "When does the bus leave?")

    sureness = [Reading(one, one, (0, 1)).sureness for one in sure]
    stands = [
        line
        for line, own, *later in zip(
            lines, sureness, [*sureness[1:], -9.0], [sureness[2], -9.0, -9.0], strict=True
        )
        if own > FOUND and max(later) < SURELY * own
    ]
    assert said in [[line] for line in stands] or said == stands == []


def test_a_sentence_that_shares_a_name_leads_to_a_passage(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        add(
            engine,
            {
                "House": "Our plumber is Trevanion. The roof leaks.",
                "Horse": "The vet rides with Trevanion.",
                "Numbers": "Ring Trevanion before nine. The plumber of old is dead.",
                "Bees": "It was the plumber who had a swarm.",
            },
        )
        ids = [hit.chunk.id for hit in engine.search("plumber vet nine swarm").hits]
        passages = engine.store.passage_records(ids).passages
    told = Told.by(passages.values())
    asked = "When before noon may the plumber be called?"
    led = {one.chunk.title: leading(asked, one.chunk, told) for one in passages.values()}

    # Of another document, and with most words of the question.
    assert led["Numbers"] == "House: Our plumber is Trevanion."
    assert led["House"] == "Numbers: Ring Trevanion before nine."
    assert led["Bees"] == ""


def test_setting_turns_it_off(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_SEARCH__READER", "off")
    with clew.open(settings=load_settings(store=store)) as engine:
        found = engine.search("who mended the boiler")

    assert "read" not in found.timings_ms
    assert found.hits[0].chunk.title == "Household"
