"""Whether what was told still holds: by periods, by what came later, and as tools show it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
import clew.indexing.manual_graph
from clew.settings import EmbedSettings
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS, Toolbox
from clew.types import NewEntity, Relation, current_first
from clew.types.relation_types import with_synonyms

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
PAIRS = Path(__file__).with_name("observation_pairs.jsonl")
PEOPLE = ("Lotte Brink", "Piet Oss", "Anna Morn", "Ravi Menon", "Ilse Marr", "Tom Vell", "Una Qui")


def relation(id_: int, start: datetime | None, end: datetime | None) -> Relation:
    return Relation(
        id=id_,
        from_entity_id=1,
        to_entity_id=2,
        relation_type="lives_in",
        weight=1.0,
        is_causal=False,
        confidence=1.0,
        context={},
        valid_from=start,
        valid_until=end,
        recorded_at=NOW,
        retracted_at=None,
        chunk_id=None,
        sentence=None,
        extractor="manual",
    )


moments = st.integers(-3, 3).map(lambda days: NOW + days * DAY)
bounds = st.none() | moments


@given(bounds, bounds, moments)
def test_a_statement_holds_from_its_beginning_until_before_its_end(
    start: datetime | None, end: datetime | None, moment: datetime
) -> None:
    state = relation(1, start, end).standing(moment).state
    has_begun = start is None or start <= moment
    has_ended = end is not None and end <= moment
    assert (state == "current") == (has_begun and not has_ended)
    assert (state == "ended") == has_ended


@given(st.lists(st.tuples(bounds, bounds), max_size=8), moments)
def test_what_holds_comes_first_and_the_rest_keeps_its_order(
    periods: list[tuple[datetime | None, datetime | None]], moment: datetime
) -> None:
    given_ = [relation(id_, *period) for id_, period in enumerate(periods)]
    ordered = current_first(given_, moment)
    states = [one.standing(moment).state == "current" for one in ordered]
    assert states == sorted(states, reverse=True)
    for one, other in combinations(ordered, 2):
        same = (one.standing(moment).state == "current") == (
            other.standing(moment).state == "current"
        )
        assert not same or one.id < other.id


# --- relations, as every tool shows them -------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        yield engine


def call(engine: clew.Clew, name: str, **arguments: object) -> dict[str, Any]:
    outcome = Toolbox(engine, TOOLS, profile="full").call(name, arguments)
    assert not outcome.is_error, outcome.text
    return outcome.content


@pytest.fixture
def lived(engine: clew.Clew) -> clew.Clew:
    """Orla Tamm lived in Aarau, lives in Basel, will live in Chur; heavier the longer ago."""
    names = ("Orla Tamm", "Aarau", "Basel", "Chur")
    ids = [
        id_ for id_, _ in engine.entities.memory.add_entities([NewEntity(name=n) for n in names])
    ]
    for place, start, end, weight in (
        (ids[1], None, NOW - 9 * DAY, 1.0),
        (ids[2], NOW - 9 * DAY, NOW + 9 * DAY, 0.6),
        (ids[3], NOW + 9 * DAY, None, 0.9),
    ):
        engine.entities.add_relation(
            ids[0], place, "lives_in", weight=weight, valid_from=start, valid_until=end
        )
    return engine


STATES = {"Aarau": "ended", "Basel": "current", "Chur": "planned"}


def test_the_memory_tools_show_what_holds_first_and_until_when_the_rest_held(
    lived: clew.Clew,
) -> None:
    for tool, arguments in (
        ("open_nodes", {"names": ["Orla Tamm"]}),
        ("read_graph", {}),
        ("search_nodes", {"query": "Orla"}),
    ):
        shown = call(lived, tool, **arguments)["relations"]
        assert shown[0]["to"] == "Basel", tool
        assert {one["to"]: one["state"] for one in shown} == STATES, tool
        (ended,) = [one for one in shown if one["to"] == "Aarau"]
        assert datetime.fromisoformat(ended["valid_until"]) == NOW - 9 * DAY
        assert all(datetime.fromisoformat(one["told_at"]) >= NOW for one in shown)


def test_neighbours_and_the_local_graph_show_the_same(lived: clew.Clew) -> None:
    near = call(lived, "get_entity_neighbors", entity_id="Orla Tamm")
    assert {one["neighbor_name"]: one["state"] for one in near["neighbors"]} == STATES
    assert near["neighbors"][0]["neighbor_name"] == "Basel"
    ids = {name: lived.entities.get(name).id for name in ("Orla Tamm", *STATES)}
    graph = call(lived, "build_local_graph", entity_ids=list(ids.values()))["graph"]
    by_id = {id_: name for name, id_ in ids.items()}
    assert {by_id[one["to_entity_id"]]: one["state"] for one in graph["edges"]} == STATES
    (found,) = [
        one
        for one in call(lived, "graph_enhanced_search", query="Orla Tamm")["results"]
        if one["entity_name"] == "Orla Tamm"
    ]
    states = {one["name"]: one.get("state", "current") for one in found["neighbors"]}
    assert states == STATES
    assert found["neighbors"][0]["name"] == "Basel"
    assert lived.graph.neighbors("Orla Tamm")[0].entity.name == "Basel"
    assert lived.graph.relations("Orla Tamm")[0].tail == "Basel"


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Where does Orla Tamm live?", "Basel"),
        ("Where is Orla Tamm living now?", "Basel"),
        ("What is the previous home of Orla Tamm?", "Aarau"),
        ("Where did Orla Tamm use to live, before?", "Aarau"),
        ("Where is Orla Tamm going to live?", "Chur"),
    ],
)
def test_the_first_statement_is_of_the_time_asked_about(
    lived: clew.Clew, question: str, place: str
) -> None:
    stated = lived.search(question).stated
    assert f"lives_in → {place}" in stated[0]
    assert len(stated) == 3
    for line in stated:
        (named,) = [name for name in STATES if name in line]
        assert (STATES[named] in line) == (STATES[named] != "current")
        assert "told 20" in line


def test_an_earlier_moment_is_told_as_it_was_then(lived: clew.Clew) -> None:
    within = lived.search("Where does Orla Tamm live?", since=NOW - 20 * DAY, until=NOW - 15 * DAY)
    assert within.stated == ()
    day = (NOW - 30 * DAY).date()
    stated = lived.search(f"Where did Orla Tamm live on {day}?").stated
    assert "Aarau" in stated[0]
    assert "Aarau" in lived.search("Where does Orla Tamm live?", as_of=NOW - 30 * DAY).stated[0]


def test_of_a_fact_that_holds_again_the_period_that_holds_is_shown(engine: clew.Clew) -> None:
    (orla, _), (aarau, _) = engine.entities.memory.add_entities(
        [NewEntity(name="Orla Tamm"), NewEntity(name="Aarau")]
    )
    for start, end in ((NOW - 9 * DAY, NOW - 5 * DAY), (NOW - 2 * DAY, None)):
        engine.entities.add_relation(orla, aarau, "lives_in", valid_from=start, valid_until=end)
    (near,) = call(engine, "get_entity_neighbors", entity_id="Orla Tamm")["neighbors"]
    assert near["state"] == "current"
    assert datetime.fromisoformat(near["valid_from"]) == NOW - 2 * DAY
    (edge,) = call(engine, "build_local_graph", entity_ids=[orla, aarau])["graph"]["edges"]
    assert edge["state"] == "current"


SYNONYMS = [
    (one, other)
    for meant in ("lives_in", "works_at", "married_to")
    for one, other in permutations(sorted(with_synonyms([meant])), 2)
]


def test_a_type_ends_what_another_of_its_meaning_states_and_keeps_its_name(
    engine: clew.Clew,
) -> None:
    people = [f"Person {n}" for n in range(len(SYNONYMS))]
    engine.entities.memory.add_entities([NewEntity(name=n) for n in (*people, "Aarau", "Basel")])

    def relate(place: str, which: int) -> None:
        stated = [
            {"from": person, "to": place, "relationType": types[which]}
            for person, types in zip(people, SYNONYMS, strict=True)
        ]
        call(engine, "create_relations", relations=stated)

    relate("Aarau", 0)
    relate("Basel", 1)
    for person, types in zip(people, SYNONYMS, strict=True):
        shown = call(engine, "open_nodes", names=[person])["relations"]
        assert [(r["to"], r["relationType"], r.get("state", "current")) for r in shown] == [
            ("Basel", types[1], "current"),
            ("Aarau", types[0], "ended"),
        ]
    assert engine.maintenance.check().problems == ()


# --- observations ------------------------------------------------------------------------


def told_at(patch: pytest.MonkeyPatch, moment: datetime) -> None:
    class Told(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Told:
            return cls.fromtimestamp(moment.timestamp(), UTC)

    patch.setattr(clew.indexing.manual_graph, "datetime", Told)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, list[dict[str, Any]]]:
    """The labelled pairs, each told of an entity of its own among others, with what came first."""
    from clew.models.onnx import OnnxEmbedder

    labelled = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    embedder = OnnxEmbedder(EmbedSettings(cache=tmp_path_factory.mktemp("models")))
    found: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    with clew.open(tmp_path_factory.mktemp("pairs"), embedder=embedder) as engine:
        memory = engine.entities.memory
        names = [f"{PEOPLE[n % 7]} {'abcdefghijklmnop'[n // 7]}ar" for n in range(len(labelled))]
        with pytest.MonkeyPatch.context() as patch:
            told_at(patch, NOW - 9 * DAY)
            memory.add_entities(
                [NewEntity(name=name) for name in names], [[one["earlier"]] for one in labelled]
            )
            told_at(patch, NOW - 2 * DAY)
            memory.add_observations(
                [(name, [one["later"]]) for name, one in zip(names, labelled, strict=True)]
            )
        for name, one in zip(names, labelled, strict=True):
            hits = engine.search(one["question"].replace("NAME", name)).hits
            own = [hit.chunk for hit in hits if hit.chunk.title == name and not hit.chunk.is_card]
            found[one["half"] == "held out"].append({**one, "own": own})
    return found


@pytest.mark.parametrize(("held_out", "least"), [(False, 0.9), (True, 0.8)])
def test_the_newer_of_equals_comes_first(
    pairs: dict[bool, list[dict[str, Any]]], held_out: bool, least: float
) -> None:
    right = [
        one["own"][0].text == one["later" if one["renews"] else "earlier"]
        for one in pairs[held_out]
    ]
    assert sum(right) >= least * len(right)


def test_every_observation_says_when_it_was_told(pairs: dict[bool, list[dict[str, Any]]]) -> None:
    for one in pairs[False]:
        for chunk in one["own"]:
            assert (
                chunk.standing.told_at.date()
                == (NOW - (9 if chunk.text == one["earlier"] else 2) * DAY).date()
            )


@pytest.mark.parametrize(
    ("first", "second", "current"),
    [
        ("lives in Cadiz", "moved to Bilbao in May", 1),
        ("lives in Bilbao", "visited Cadiz in May", 0),
        ("works at Ostra Mills", "worked at Mistral Boats from 2010 to 2014", 0),
        ("works at Ostra Mills", "used to work at Mistral Boats", 0),
        ("formerly worked at Ostra Mills", "works at Mistral Boats", 1),
    ],
)
@pytest.mark.parametrize("name", ["Amparo Sandoval", "Jory Penhale", "Ottilie Brask"])
def test_what_is_over_never_goes_before_what_is_so(
    tmp_path: Path, name: str, first: str, second: str, current: int
) -> None:
    """Whichever was told last: one lives and works in one place at a time."""
    from clew.models.onnx import OnnxEmbedder

    with clew.open(tmp_path, embedder=OnnxEmbedder(EmbedSettings(cache=tmp_path))) as engine:
        named = {"Cadiz": "city", "Bilbao": "city", "Ostra Mills": "company"}
        named |= {"Mistral Boats": "company", name: "person"}
        memory = engine.entities.memory
        memory.add_entities([NewEntity(name=n, entity_type=t) for n, t in named.items()])
        told = [f"{name} {said}." for said in (first, second)]
        for text in told:
            memory.add_observations([(name, [text])])
        asked = "live" if "in" in first.split() else "work"
        hits = engine.search(f"Where does {name} {asked}?").hits
    own = [hit.chunk.text for hit in hits if hit.chunk.text in told]
    assert own[0] == told[current]


# --- what only one holds of at a time, in whatever words --------------------------------------


NOW_SO: dict[str, tuple[str, ...]] = {
    "Where does NAME live?": ("Lives in {}.", "Resides in {}.", "Moved to {}.", "Now lives in {}."),
    "Where does NAME work?": ("Works at {}.", "Works for {}.", "Is employed by {}."),
    "Who is NAME married to?": ("Is married to {}.", "Married {}.", "Is the wife of {}."),
}
NOT_SO: dict[str, tuple[str, ...]] = {
    "Where does NAME live?": (
        "Lived in {} as a child.",
        "Used to live in {}.",
        "Grew up in {}.",
        "Was living in {} before.",
        "Had lived in {} before.",
        "Will move to {}.",
        "Will move to {} in June 2099.",
        "Plans to move to {} one day.",
        "Might relocate to {}.",
        "Is going to live in {}.",
        "Would like to live in {}.",
    ),
    "Where does NAME work?": (
        "Worked at {} as a student.",
        "Used to work for {}.",
        "Had worked at {}.",
        "Was working for {} before.",
        "Will start at {} in June 2099.",
        "Hopes to work for {}.",
        "Might work at {}.",
    ),
    "Who is NAME married to?": (
        "Was married to {}.",
        "Used to be married to {}.",
        "Will marry {}.",
        "Is going to marry {} in June 2099.",
        "Wants to marry {}.",
    ),
}
NONE: dict[str, tuple[str, ...]] = {
    "Where does NAME work?": ("Is retired.", "Was laid off.", "Is unemployed.", "Got laid off."),
    "Who is NAME married to?": ("Is single.", "Divorced.", "Is a widow.", "Is unmarried now."),
}
ENDS = {
    "Where does NAME live?": ("Tarnmoor", "Oskevik", "Bellaria", "Quintrell"),
    "Where does NAME work?": ("Brill Foods", "Kappa Rail", "Sanderling Ltd", "Ostra Mills"),
    "Who is NAME married to?": ("Jo Falk", "Max Orr", "Emil Brask", "Ida Roon"),
}


def told_in_turn(said: list[tuple[str, str, str, str]], folder: Path) -> list[str]:
    """What is wrong of (first told, then told, question, what goes first), each of its own name."""
    from clew.models.onnx import OnnxEmbedder

    firsts = (
        "Benna",
        "Carol",
        "Dario",
        "Edda",
        "Fenno",
        "Greta",
        "Hilke",
        "Imre",
        "Jarno",
        "Katla",
    )
    names = [f"{firsts[n % 10]} {'bcdfghklmnprstvwz'[n // 10]}arden" for n in range(len(said))]
    wrong = []
    embedder = OnnxEmbedder(EmbedSettings(cache=folder / "models"))
    with clew.open(folder, embedder=embedder) as engine:
        memory = engine.entities.memory
        people = [NewEntity(name=name, entity_type="person") for name in names]
        memory.add_entities(people, [[first] for first, *_ in said])
        memory.add_observations([(n, [one[1]]) for n, one in zip(names, said, strict=True)])
        for name, (first, second, question, right) in zip(names, said, strict=True):
            hits = engine.search(question.replace("NAME", name)).hits
            own = [
                hit.chunk
                for hit in hits
                if hit.chunk.title == name and hit.chunk.text in (first, second)
            ]
            states = [chunk.standing.state for chunk in own if chunk.standing]
            if own[0].text != right or states[0] != "current" or "current" in states[1:]:
                wrong.append(f"{first} {second} {question}: {states}")
    return wrong


def turns(kind: str) -> list[tuple[str, str, str, str]]:
    found = []
    for n, (question, ways) in enumerate(NOW_SO.items()):
        one, other, *_ = ENDS[question][n % 2 :]
        for way in ways:
            so = way.format(one)
            for rest in {"not so": NOT_SO, "none": NONE, "newer": NOW_SO}[kind].get(question, ()):
                said = rest.format(other)
                if kind == "not so":
                    found += [(so, said, question, so), (said, so, question, so)]
                else:
                    found.append((so, said, question, said))
    return found


@pytest.mark.parametrize("kind", ["not so", "none", "newer"])
def test_of_what_one_has_one_of_the_last_that_is_so_goes_first(tmp_path: Path, kind: str) -> None:
    assert told_in_turn(turns(kind), tmp_path) == []
