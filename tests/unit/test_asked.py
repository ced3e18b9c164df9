"""What a question asks for: an author, a folder, a section, a time, a topic, an exact name."""

from __future__ import annotations

from pathlib import Path

import pytest

import clew
from clew.indexing.inputs import document_from_text
from clew.search.periods import read_asked_time
from clew.search.pipeline import STRATEGIES
from clew.search.question import section_name
from clew.search.words import (
    exact_names,
    holding_all_first,
    quoted_phrases,
)
from clew.text import name_key, split_file_name, terms
from clew.types import NamedStrategy
from tests.unit.asked import add, day, engine_of, new_session, titles

# --- Questions about a section of a document: it comes first.


SAYS = "It says what is to be done about the boats, the nets and the fees of the harbour. " * 8
HANDBOOK = "\n\n".join(
    [
        "# Handbook of the harbour",
        f"## 4 Boats\n\n{SAYS}",
        f"### 4.2 Moorings\n\nA rope of hemp holds a boat. {SAYS}",
        f"### 4.21 Buoys\n\nA buoy is red. {SAYS}",
        f"## 14.2 Storms\n\nSection 4.2 is of no help in a storm. {SAYS}",
        f"## A.5 Drying of nets\n\nNets hang for a day. {SAYS}",
    ]
)
RULES = "\n\n".join(["# Rules of the mill", f"## 4.2 Sacks\n\nA sack weighs ten stone. {SAYS}"])


section_engine = engine_of({"Handbook": HANDBOOK, "Rules": RULES}, media_type="text/markdown")


@pytest.mark.parametrize(
    ("question", "number", "title"),
    [
        ("What does section 4.2 say?", "4.2", ""),
        ("what is said in § A.5.2 of the FAQ", "A.5.2", ""),
        ("Summarise chapter IV", "IV", ""),
        ("In the chapter on drying of nets, how long do they hang?", "", "drying of nets"),
        ("what does the section about moorings say", "", "moorings"),
        ("the chapter called “Storms at sea”", "", "Storms at sea"),
        ("Who wrote the article?", None, None),
        ("section heads of 1999", None, None),
        ("a part of 3 boats", None, None),
        ("", None, None),
    ],
)
def test_sections_are_named_by_number_or_title(
    question: str, number: str | None, title: str | None
) -> None:
    assert (section_name(question) or (None, None)) == (number, title)


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("What does section 4.2 of the handbook of the harbour say?", "### 4.2 Moorings"),
        ("What does section 4.2 of the rules of the mill say?", "## 4.2 Sacks"),
        ("What is in section A.5?", "## A.5 Drying"),
        ("What does the chapter on drying of nets say?", "## A.5 Drying"),
        ("In the section about storms, what helps?", "## 14.2 Storms"),
    ],
)
def test_the_section_asked_for_comes_first(
    section_engine: clew.Clew, question: str, opening: str
) -> None:
    result = section_engine.search(question)
    assert result.strategy == "parent_child"
    assert opening in result.hits[0].chunk.text


# --- What a question says about time, in a store whose texts have dates.


DATES = {
    "Home 2019": "2019-02-01",
    "Home 2021": "2021-03-05",
    "Home 2024": "2024-06-01",
    "Budget 2020": "2020-04-01",
    "Budget 2022": "2022-04-01",
    "Budget 2024": "2024-04-01",
    "Recall": "2021-09-14",
    "Pumps early": "2021-01-10",
    "Pumps late": "2023-02-10",
    "Picnic": "2022-06-07",
    "Rain": "2022-05-02",
}
TEXTS = {
    "Home 2019": "Nora Feld lives in Vell since 2019.",
    "Home 2021": "Nora Feld moved to Ostby in 2021. The house stands at the quay.",
    "Home 2024": "Nora Feld moved to Lisse in 2024.",
    "Budget 2020": "The budget of the harbour was 300 crowns.",
    "Budget 2022": "The budget of the harbour was 400 crowns.",
    "Budget 2024": "The budget of the harbour was 500 crowns.",
    "Recall": "The recall of the Kern pumps was announced on 14 September 2021.",
    "Pumps early": "The works sold forty Kern pumps at the fair.",
    "Pumps late": "The works sold nine Kern pumps at the fair.",
    "Picnic": "The choir of Vell had its picnic at the mill.",
    "Rain": "The choir of Vell sang in the rain.",
}


# By a real model: what comes before what else answers depends on meaning, too.
time_engine = engine_of(TEXTS, DATES, real_model=True)


def found(engine: clew.Clew, question: str) -> list[str]:
    result = engine.search(question)
    assert result.strategy == "temporal", result.reason
    return [hit.chunk.title for hit in result.hits]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        # what held in the period counts whenever it was said
        ("Where did Nora Feld live in 2020?", "Home 2019"),
        ("Where did Nora Feld live in 2022?", "Home 2021"),
        ("Where did Nora Feld live in 2023?", "Home 2021"),
        # now is the newest that the texts say
        ("Where does Nora Feld live now?", "Home 2024"),
        ("Where does Nora Feld currently live?", "Home 2024"),
        ("Where does Nora Feld still live?", "Home 2024"),
        # the latest is the newest of the store
        ("What is the latest budget of the harbour?", "Budget 2024"),
        ("latest budget", "Budget 2024"),
        ("newest budget of the harbour", "Budget 2024"),
        # what answers goes before what is merely of the period
        ("Who announced the recall of the Kern pumps in 2022?", "Recall"),
    ],
)
def test_of_its_time_the_best_comes_first(
    time_engine: clew.Clew, question: str, title: str
) -> None:
    assert found(time_engine, question)[0] == title


def test_what_answers_and_is_of_another_period_is_told(time_engine: clew.Clew) -> None:
    result = time_engine.search("Who announced the recall of the Kern pumps in 2022?")
    assert "what answers is not of the period 'in 2022'" in result.notes


@pytest.mark.parametrize(
    "question",
    ["latest meeting of the board", "What did the most recent meeting of the board decide?"],
)
def test_of_things_alike_the_latest_is_the_newest(tmp_path: Path, question: str) -> None:
    said = {
        "2023-03-14": "Marta Kowal proposed to close the depot, and the board decided to do so. The"
        " board will have a meeting on the pumps. The meeting of the board was long.",
        "2024-02-20": "The board heard of the recall of the pump, of the merger, and decided none.",
        "2022-11-08": "The board decided to buy chairs at this meeting of the board.",
    }
    titles = {day_: f"Meeting of the board, {day_}" for day_ in said}
    with clew.open(tmp_path) as engine:
        add(engine, {titles[d]: text for d, text in said.items()}, {titles[d]: d for d in said})
        engine.add("The pump was sold.", title="Note", metadata={"date": "2024-03-01"})
        assert found(engine, question)[0] == titles["2024-02-20"]


def test_words_that_only_look_like_a_time_are_looked_up(time_engine: clew.Clew) -> None:
    assert time_engine.search("current account").strategy == "hybrid"


# By title: when it was said, if that is known, and what.
CHOIR = {
    "spring": ("2021-03-05", "The choir of Vell sang at the mill."),
    "autumn": ("2021-09-02", "The choir of Vell sang at the fair."),
    "late": ("2024-12-20", "The choir of Vell will sing in March 2025."),
    "hall": (None, "The hall was built in May 1990."),
}
DIARY = {
    "fair of 2024": ("2024-12-03", "The fair was held."),
    "fair of 2026": ("2026-12-03", "The fair, with an appointment at the mill."),
    "feast": ("2025-12-19", "The feast was held."),
    "notice": ("2026-11-02", "The race is on 6 February 2027."),
    "talk of 2026": ("2026-10-20", "A talk."),
    "talk of 2027": ("2027-10-20", "A talk."),
    "card": (None, "The card is valid until 2029."),
}
choir_engine, diary_engine = (
    engine_of(
        {title: text for title, (_, text) in texts.items()},
        {title: said for title, (said, _) in texts.items() if said},
    )
    for texts in (CHOIR, DIARY)
)
YEARLESS = [
    *(
        ("choir_engine", now, f"Where did the choir of Vell sing in {month}?", first)
        for now in ("2024-12-30", "2026-11-01")
        for month, first in (
            ("March", "2021-03-01"),
            ("September", "2021-09-01"),
            ("December", "2024-12-01"),
            ("July", "2024-07-01"),  # nothing is of any July: the latest
            ("May", "2024-05-01"),  # one of 1990 is too long ago
        )
    ),
    ("choir_engine", "2024-12-30", "Where will the choir of Vell sing in March?", "2025-03-01"),
    *(
        (
            "diary_engine",
            "2026-11-29",
            f"Who {verb} an appointment on {form.format(day(f'2024-{on}'))}?",
            f"{year}-{on}",
        )
        for form in ("{0.day} {0:%B}", "{0:%B} {0.day}", "the {0.day}th of {0:%B}")
        for on, *years in (
            ("12-03", 2026, 2026, 2024),
            ("12-19", 2025, 2025, 2025),  # nothing is to come
            ("02-06", 2027, 2027, 2027),  # nothing was
            ("10-20", 2026, 2027, 2026),  # the nearest
            ("01-01", 2026, 2026, 2026),  # nothing at all, but of a year: the latest past
        )
        for verb, year in zip(("has anybody", "will we have", "did we have"), years, strict=True)
    ),
]


@pytest.mark.parametrize(("store", "now", "question", "first"), YEARLESS)
def test_a_month_or_a_day_without_a_year_is_the_nearest_of_which_there_is_anything(
    request: pytest.FixtureRequest, store: str, now: str, question: str, first: str
) -> None:
    """By the verb's tense; and one late text moves no month to another year."""
    session = new_session(request.getfixturevalue(store), question, now=day(now))
    period = read_asked_time(session).period
    assert (period and period.start) == day(first)


def test_of_two_periods_that_are_compared_each_has_its_turn(time_engine: clew.Clew) -> None:
    for question in (
        "How did the budget of the harbour differ between 2020 and 2024?",
        "Compare the budget of the harbour in 2020 with 2024",
        "budget of the harbour, 2020 versus 2024",
    ):
        assert found(time_engine, question)[:2] == ["Budget 2020", "Budget 2024"], question
    result = time_engine.search("Compare the budget of the harbour in 2020 with 2024", limit=2)
    assert result.temporal is not None
    assert [label for label, _ in result.temporal.timeline] == ["2020", "2024"]


# --- What there is on something that need not be a topic of the store.


TOPIC_TEXTS = {
    "Sandbox": "Capsicum is a sandbox of FreeBSD. The client enters it by its own setting.",
    **{
        f"Server {n}": f"The client connects to server {n}. The server list names the chat network,"
        f" and the chat network has channel {n}."
        for n in range(12)
    },
    **{
        f"Theme {n}": f"The theme file number {n} has colours for the status bar and for the window"
        f" list. The status bar is drawn below the window list."
        for n in range(12)
    },
}


# By a real model: how sure it is of a passage depends on meaning, too.
topic_engine = engine_of(TOPIC_TEXTS, real_model=True)


@pytest.mark.parametrize(
    "question",
    ["What do we have on Capsicum?", "Is there anything about capsicum?", "documents on capsicum"],
)
def test_what_is_asked_about_comes_first_though_it_is_no_topic(
    topic_engine: clew.Clew, question: str
) -> None:
    found = topic_engine.search(question)
    assert found.answered
    assert found.hits[0].chunk.title == "Sandbox"


def test_what_nothing_is_about_is_not_answered(topic_engine: clew.Clew) -> None:
    assert not topic_engine.search("Is there anything about sourdough?").answered


def test_who_asks_for_topics_gets_topics_alone(topic_engine: clew.Clew) -> None:
    found = topic_engine.search("What do we have on the status bar?", strategy="topic")
    assert all(hit.confidence is None for hit in found.hits)
    assert found.hits[0].chunk.title.startswith("Theme")


# --- What a question names exactly comes first, whatever the strategy.


# By source: title and text. What is sought shares few words with the question, or none.
LIBRARY = {
    "standards/rfc2616.txt": ("Hypertext Transfer", "Messages are requests and responses."),
    "standards/rfc26160.txt": ("Another", "RFC 2616 RFC 2616 RFC 2616, again and again."),
    "standards/pep-0287.rst": ("reStructuredText Docstrings", "The markup that modules may use."),
    "standards/pep-0256.rst": ("Docstring Framework", "See PEP 287, and PEP 287, and PEP 258."),
    "rules/charter.1.1.txt": ("Charter", "Ratified in spring. The chair is elected."),
    "rules/charter.1.2.txt": ("Charter", "Ratified in autumn. The chair is drawn by lot."),
    "books/ayli.txt": ("As You Like It", "All the world is a stage."),
    "notes/like.txt": ("Notes", "I like what you like, and you like it as well; like it or not."),
    "code/alpha/lib.rs": ("lib.rs", "pub fn first() {}"),
    "code/semver/lib.rs": ("lib.rs", "pub fn second() {}"),
    "notes/quiet.txt": ("Harbour", "The old harbour lies quiet at night, the boats asleep."),
    "notes/loud.txt": ("Night", "At night the quiet boats lie in the old harbour; quiet harbour."),
}


@pytest.fixture
def exact_engine(engine: clew.Clew) -> clew.Clew:
    engine.add_documents(
        document_from_text(text, source=source, title=title, media_type="text/plain")
        for source, (title, text) in LIBRARY.items()
    )
    return engine


@pytest.mark.parametrize(
    "strategy", ["auto", *(n for n, s in STRATEGIES.items() if s.finds == "exact")]
)
@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("RFC 2616", "standards/rfc2616.txt"),
        ("rfc2616.txt", "standards/rfc2616.txt"),
        ("What is rfc-2616 about?", "standards/rfc2616.txt"),
        ("PEP 287", "standards/pep-0287.rst"),
        ("What is in charter.1.2.txt?", "rules/charter.1.2.txt"),
        ("charter version 1.1", "rules/charter.1.1.txt"),
        ("As You Like It", "books/ayli.txt"),
        ("lib.rs of semver", "code/semver/lib.rs"),
        ('"harbour lies quiet"', "notes/quiet.txt"),
        ("Where is it that the “old harbour lies”?", "notes/quiet.txt"),
    ],
)
def test_what_is_named_comes_first(
    exact_engine: clew.Clew, strategy: str, question: str, source: str
) -> None:
    result = exact_engine.search(question, strategy=NamedStrategy(strategy), limit=5)
    assert result.hits[0].chunk.source == source
    assert result.hits[0].scores["exact"] == 1.0
    ids = [hit.chunk.id for hit in result.hits]
    assert len(set(ids)) == len(ids)
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_no_name_moves_nothing_and_filters_hold(exact_engine: clew.Clew) -> None:
    plain = exact_engine.search("requests and responses at night", strategy="keyword")
    assert all("exact" not in hit.scores for hit in plain.hits)
    other = exact_engine.search("RFC 2616", strategy="keyword", where=["path=rfc26160.txt"])
    assert [hit.chunk.source for hit in other.hits] == ["standards/rfc26160.txt"]


def test_the_rest_of_the_question_chooses_the_passage(engine: clew.Clew) -> None:
    text = "\n\n".join(f"# Part {word}\n\n" + f"All about {word}. " * 80 for word in WORDS)
    engine.add_documents(
        [document_from_text(text, source="rfc77.md", title="T", media_type="text/markdown")]
    )
    for word in WORDS:
        hit = engine.search(f"rfc77.md {word}", strategy="keyword").hits[0]
        assert word in hit.chunk.text
    assert engine.search("RFC 77", strategy="keyword").hits[0].chunk.ordinal == 0


WORDS = ("walnuts", "herrings", "tractors")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("RFC 2616", "rfc 2616"),
        ("pep-0287", "pep 287"),
        ("constitution.1.2", "constitution 1 2"),
        ("release-5.3.0", "release 5 3 0"),
        ("Élan_007", "elan 7"),
        ("—", ""),
    ],
)
def test_keys_of_names(name: str, key: str) -> None:
    assert name_key(name) == key


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b/rfc2616.txt", ("rfc2616", "txt")),
        ("C:\\notes\\Plan.MD", ("Plan", "md")),
        ("constitution.1.2", ("constitution.1.2", "")),
        (".profile", (".profile", "")),
        ("folder/", ("folder", "")),
        ("", ("", "")),
    ],
)
def test_file_names(path: str, expected: tuple[str, str]) -> None:
    assert split_file_name(path) == expected


def test_names_in_a_question() -> None:
    names = exact_names("Does RFC 2616 in 2004 say so, as in notes.md?")
    keys = {(name.key, name.ending) for name in names}
    assert {("rfc 2616", ""), ("notes", "md")} <= keys
    assert not {key for key, _ in keys} & {"2004", "in 2004", "2616"}
    assert exact_names("") == exact_names(" … ") == []


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ('"one  two" and “three” and «four» and "one two"', ["one two", "three", "four"]),
        ('5" by 7", and an "open one', []),
        ('Who sings "Diamond Cut"?', ["Diamond Cut"]),
        # in passing
        ('When was the singer born who has a husky voice and made the album "Diamond Cut"?', []),
    ],
)
def test_what_is_quoted_and_nothing_else_is_sought(question: str, phrases: list[str]) -> None:
    assert quoted_phrases(question) == phrases


# --- A few words that ask nothing: passages that hold every one of them go first.


LOOK_UP_TEXTS = {
    "Weaving": "Weaving is done at a loom. Looms of oak last longest.",
    "Register": "Oda McBride, weaver. Ivo Kern, dyer.",
    "Letter": "Oda wrote: the loom stands again. McBride signed below.",
    "Oak": "Oda Kern planted oaks, and oaks, and oaks, at Oda and at Kern.",
    "Kern": "Kern is a hamlet; the mill of Kern burnt down.",
}


look_up_engine = engine_of(LOOK_UP_TEXTS)


@pytest.mark.parametrize("question", ["Oda McBride", "oda kern", "oak looms", "Kern mill"])
def test_what_holds_every_word_goes_first_and_nothing_is_lost(
    look_up_engine: clew.Clew, question: str
) -> None:
    session = new_session(look_up_engine, question)
    wanted = set(terms(question))
    holding = {
        title for title, text in LOOK_UP_TEXTS.items() if wanted <= set(terms(f"{title} {text}"))
    }
    before = session.channels.by_vector()

    ranking = holding_all_first(session, before)

    assert holding
    assert set(titles(session, ranking)[: len(holding)]) == holding
    assert set(ranking.ids.tolist()) == set(before.ids.tolist())
    assert (ranking.scores[: len(holding)] == before.scores.max()).all()


@pytest.mark.parametrize("question", ["Oda Marlowe", "the of", "", "Oda weaver dyer hamlet"])
def test_without_a_passage_that_holds_all_the_order_stays(
    look_up_engine: clew.Clew, question: str
) -> None:
    session = new_session(look_up_engine, question)
    before = session.channels.by_vector()

    assert holding_all_first(session, before) == before


@pytest.mark.parametrize("strategy", ["auto", "graph"])
def test_a_passage_that_holds_all_that_is_looked_up_surely_answers(
    look_up_engine: clew.Clew, strategy: str
) -> None:
    found = look_up_engine.search("Oda McBride", strategy=NamedStrategy(strategy))
    sure = {hit.chunk.title: hit.confidence or 0 for hit in found.hits}
    assert (found.confidence or 0) >= 0.9
    assert min(sure.pop("Register"), sure.pop("Letter")) >= 0.6
    assert max(sure.values(), default=0) < 0.6
    assert (
        look_up_engine.search("Oda Marlowe", strategy=NamedStrategy(strategy)).confidence or 0
    ) < 0.6


# --- A name alone is no answer: what is asked about it must be said.


UNSAID_TEXTS = {
    "Minutes": "Ottilie Brenk chairs the choir. The choir of Ottilie Brenk rehearses on Mondays.",
    "Letter": "Dear Ottilie Brenk, your piano was repaired by Samir Qadri and costs 90 euros.",
    "Rota": "Samir Qadri opens the workshop at eight. Lena Oduya closes it at six.",
    "Garden": "The pond was dug in spring. Frogs came in summer, and the reeds are cut in winter.",
}


unsaid_engine = engine_of(UNSAID_TEXTS, real_model=True)


def sure(engine: clew.Clew, question: str) -> float:
    return engine.search(question).confidence or 0.0


@pytest.mark.parametrize(
    "asked",
    [
        "What is the salary of Ottilie Brenk?",
        "What is the blood type of Samir Qadri?",
        "Which password does Lena Oduya use?",
    ],
)
def test_a_name_without_what_is_asked_about_it_is_less_sure_than_what_is_said(
    unsaid_engine: clew.Clew, asked: str
) -> None:
    said = [
        sure(unsaid_engine, "Who chairs the choir of Ottilie Brenk?"),
        sure(unsaid_engine, "When does Samir Qadri open the workshop?"),
    ]
    assert 2 * sure(unsaid_engine, asked) < min(said)


def test_another_form_of_the_word_says_it(unsaid_engine: clew.Clew) -> None:
    repaired = sure(unsaid_engine, "Who did the repairs for Ottilie Brenk?")
    assert repaired > 2 * sure(unsaid_engine, "Who did the pedicure for Ottilie Brenk?")


def test_what_is_unlikely_is_not_called_answered_and_is_given_all_the_same(
    unsaid_engine: clew.Clew,
) -> None:
    found = unsaid_engine.search("Which enzyme splits lactose in the gut of calves?")
    assert found.hits
    assert not found.answered
    assert found.reached
    assert found.notes[0].startswith("nothing here is likely to answer")
