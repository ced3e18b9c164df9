"""What is told in turn: what holds, what is imported, what is carried over."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import cycle, permutations
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
import clew.indexing.manual_graph
from clew.models.onnx import OnnxEmbedder
from clew.operations.toolbox import OPERATIONS, Toolbox
from clew.settings import EmbedSettings
from clew.stores.relations import with_synonyms
from clew.testing.fakes import HashEmbedder
from clew.types import NewEntity, Relation, state_at
from tests.unit.called import call

# --- Whether what was told still holds: by periods, by what came later, and as tools show it.


NOW = datetime.now(UTC)
DAY = timedelta(days=1)
PAIRS = Path(__file__).with_name("observation_pairs.jsonl")
PEOPLE = ("Lotte Brink", "Piet Oss", "Anna Morn", "Ravi Menon", "Ilse Marr", "Tom Vell", "Una Qui")


moments = st.integers(-3, 3).map(lambda days: NOW + days * DAY)
bounds = st.none() | moments


@given(bounds, bounds, moments)
def test_a_statement_holds_from_its_beginning_until_before_its_end(
    start: datetime | None, end: datetime | None, moment: datetime
) -> None:
    has_begun = start is None or start <= moment
    has_ended = end is not None and end <= moment
    begun = "current" if has_begun else "planned"
    assert state_at(moment, start, end) == ("ended" if has_ended else begun)


# --- relations, as every tool shows them -------------------------------------------------


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


@pytest.mark.parametrize(
    ("tool", "arguments", "where", "name"),
    [
        ("open_nodes", {"names": ["Orla Tamm"]}, "relations", "to"),
        ("read_graph", {}, "relations", "to"),
        ("search_nodes", {"query": "Orla"}, "relations", "to"),
        ("get_entity_neighbors", {"entity_id": "Orla Tamm"}, "neighbors", "neighbor_name"),
        ("graph_enhanced_search", {"query": "Orla Tamm", "limit": 1}, "neighbors", "name"),
    ],
)
def test_tools_show_what_holds_first_and_until_when_the_rest_held(
    lived: clew.Clew, tool: str, arguments: dict[str, Any], where: str, name: str
) -> None:
    found = call(lived.tools, tool, **arguments)
    shown = (found["results"][0] if "results" in found else found)[where]
    assert shown[0][name] == "Basel"
    assert {one[name]: one.get("state", "current") for one in shown} == STATES
    if where == "relations":
        (ended,) = [one for one in shown if one["to"] == "Aarau"]
        assert datetime.fromisoformat(ended["valid_until"]) == NOW - 9 * DAY
        assert all(datetime.fromisoformat(one["told_at"]) >= NOW for one in shown)


def test_the_library_and_the_local_graph_show_the_same(lived: clew.Clew) -> None:
    ids = {lived.entities.get(name).id: name for name in ("Orla Tamm", *STATES)}
    graph = call(lived.tools, "build_local_graph", entity_ids=list(ids))["graph"]
    assert {ids[one["to_entity_id"]]: one["state"] for one in graph["edges"]} == STATES
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
    asked, then = "Where does Orla Tamm live?", NOW - 30 * DAY
    assert lived.search(asked, since=NOW - 20 * DAY, until=NOW - 15 * DAY).stated == ()
    assert "Aarau" in lived.search(f"Where did Orla Tamm live on {then.date()}?").stated[0]
    assert "Aarau" in lived.search(asked, as_of=then).stated[0]


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
        call(engine.tools, "create_relations", relations=stated)

    relate("Aarau", 0)
    relate("Basel", 1)
    for person, types in zip(people, SYNONYMS, strict=True):
        shown = call(engine.tools, "open_nodes", names=[person])["relations"]
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
            told = NOW - (9 if chunk.text == one["earlier"] else 2) * DAY
            assert chunk.standing.told_at.date() == told.date()


@pytest.mark.parametrize(
    ("first", "second", "current"),
    [
        ("lives in Cadiz", "moved to Bilbao in May", 1),
        ("lives in Bilbao", "visited Cadiz in May", 0),
        ("works at Ostra Mills", "worked at Mistral Boats from 2010 to 2014", 0),
        ("works at Ostra Mills", "used to work at Mistral Boats", 0),
        ("formerly worked at Ostra Mills", "works at Mistral Boats", 1),
        # A date of its own that is before the day of telling, in whatever unit.
        *(
            ("lives in Cadiz", f"{verb} Bilbao {(NOW - 40 * DAY).strftime(when)}", 1)
            for verb in ("moved to", "has lived in")
            for when in ("on %d %B %Y", "since %Y-%m-%d", "in %B %Y", "since %Y", "last month")
        ),
    ],
)
def test_what_is_over_never_goes_before_what_is_so(
    tmp_path: Path, first: str, second: str, current: int
) -> None:
    """Whichever was told last: one lives and works in one place at a time."""
    people = ("Amparo Sandoval", "Jory Penhale", "Ottilie Brask")
    named = {"Cadiz": "city", "Bilbao": "city", "Ostra Mills": "company"}
    named |= {"Mistral Boats": "company", **dict.fromkeys(people, "person")}
    asked = "live" if "in" in first.split() else "work"
    with clew.open(tmp_path, embedder=OnnxEmbedder(EmbedSettings(cache=tmp_path))) as engine:
        memory = engine.entities.memory
        memory.add_entities([NewEntity(name=n, entity_type=t) for n, t in named.items()])
        for name in people:
            told = [f"{name} {said}." for said in (first, second)]
            for text in told:
                memory.add_observations([(name, [text])])
            hits = engine.search(f"Where does {name} {asked}?").hits
            assert next(h.chunk.text for h in hits if h.chunk.text in told) == told[current]


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
    firsts = "Benna Carol Dario Edda Fenno Greta Hilke Imre Jarno Katla".split()
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
    """Each wording of the kind beside each way to say what is so, in turn."""
    found = []
    for n, (question, ways) in enumerate(NOW_SO.items()):
        one, other, *_ = ENDS[question][n % 2 :]
        rest = {"not so": NOT_SO, "none": NONE, "newer": NOW_SO}[kind].get(question, ())
        for way, wording in zip(cycle(ways), rest, strict=False):
            so, said = way.format(one), wording.format(other)
            if kind == "not so":
                found += [(so, said, question, so), (said, so, question, so)]
            else:
                found.append((so, said, question, said))
    return found


@pytest.mark.parametrize("kind", ["not so", "none", "newer"])
def test_of_what_one_has_one_of_the_last_that_is_so_goes_first(tmp_path: Path, kind: str) -> None:
    assert told_in_turn(turns(kind), tmp_path) == []


# --- Whatever is told is kept or reported: random tellings against plain dictionaries.


Record: TypeAlias = dict[str, Any]

WRITES_PEOPLE = ("Olaf", "olaf", "Ada+", "Ada")
TOWNS = ("Bergen", "Oslo", "BERGEN.")
TEXTS = ("Sings.", "Has the van.", "Goes by Lo.")
NODES = {"Olaf": "olaf", "olaf": "olaf", "BERGEN.": "bergen", "Bergen": "bergen"}

told = st.one_of(
    st.tuples(st.just("entity"), st.sampled_from(WRITES_PEOPLE), st.sampled_from(("", *TEXTS))),
    st.tuples(st.just("observation"), st.sampled_from(WRITES_PEOPLE), st.sampled_from(TEXTS)),
    st.tuples(st.just("lives_in"), st.sampled_from(WRITES_PEOPLE), st.sampled_from(TOWNS)),
    st.tuples(st.just("tool"), st.sampled_from(WRITES_PEOPLE), st.sampled_from(TOWNS)),
)


def node(name: str) -> str:
    return NODES.get(name, name)


class Teller:
    """Tells a store by its tools, and notes in dictionaries what is so then."""

    def __init__(self, engine: clew.Clew) -> None:
        self.engine = engine
        self.toolbox = engine.tools
        self.texts: dict[str, list[str]] = {}
        self.homes: dict[str, list[str]] = defaultdict(list)
        for town in TOWNS:
            self.entity(town, "")

    def call(self, tool: str, **arguments: object) -> Record:
        outcome = self.toolbox.call(tool, arguments)
        assert not outcome.is_error, outcome.text
        return dict(outcome.content)

    def tell(self, kind: str, name: str, value: str) -> None:
        if kind == "entity":
            self.entity(name, value)
        elif node(name) not in self.texts:
            assert self.toolbox.call("open_nodes", {"names": [name]}).content["entities"] == []
        elif kind == "observation":
            self.observation(name, value)
        else:
            self.home(name, value, by_id=kind == "tool")

    def entity(self, name: str, text: str) -> None:
        given_texts = [text] if text else []
        made = self.call(
            "create_entities",
            entities=[{"name": name, "entityType": "thing", "observations": given_texts}],
        )
        there = made.get("existing", [])
        assert bool(made["entities"]) == (node(name) not in self.texts) == (not there)
        known = self.texts.setdefault(node(name), [])
        for one in there:
            assert one["addedObservations"] + one["knownObservations"] == given_texts
            assert one["knownObservations"] == [t for t in given_texts if t in known]
        known += [t for t in given_texts if t not in known]

    def observation(self, name: str, text: str) -> None:
        given_texts = [{"entityName": name, "contents": [text]}]
        made = self.call("add_observations", observations=given_texts)
        known, (result,) = self.texts[node(name)], made["results"]
        is_known = text in known
        assert result["addedObservations"] == ([] if is_known else [text])
        assert [one["observations"] for one in made.get("existing", [])] == [[text]] * is_known
        known += [] if is_known else [text]

    def home(self, name: str, town: str, *, by_id: bool) -> None:
        homes = self.homes[node(name)]
        is_news = homes[-1:] != [node(town)]
        if by_id:
            ids = {one: self.engine.entities.get(one).id for one in (name, town)}
            before = [one.id for one in self.periods(name)]
            made = self.call(
                "add_entity_relationship",
                source_id=ids[name],
                target_id=ids[town],
                relation_type="lives_in",
            )
            assert (made["relationship_id"] in before) == (not is_news)
        else:
            stated = {"from": name, "to": town, "relationType": "lives_in"}
            made = self.call("create_relations", relations=[stated])
            assert made["relations"] == [stated] * is_news
            assert made.get("existing", []) == [stated] * (not is_news)
        homes += [node(town)] if is_news else []

    def periods(self, name: str) -> list[Relation]:
        (found,) = self.engine.entities.memory.find([name]).values()
        return [
            one
            for one in self.engine.store.unstated_relations([found])
            if one.from_entity_id == found
        ]


@given(script=st.lists(told, max_size=14))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_that_was_said_is_lost(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with clew.open(folder, embedder=HashEmbedder(dimension=8)) as engine:
        teller = Teller(engine)
        for one in script:
            teller.tell(*one)
        graph = teller.call("read_graph")
        stored = {node(one["name"]): one["observations"] for one in graph["entities"]}
        assert stored == teller.texts
        facts: set[tuple[str, str]] = set()
        for name, homes in teller.homes.items():
            periods = teller.periods(name)
            towns = engine.store.entity_names([one.to_entity_id for one in periods])
            assert [node(towns[one.to_entity_id]) for one in periods] == homes
            # Each holds until the next begins, and the last one holds.
            ends = [one.valid_until for one in periods]
            assert ends == [*(one.valid_from for one in periods[1:]), *[None] * bool(homes)]
            facts |= {(name, town) for town in homes}
        statistics = teller.call("get_graph_statistics")["statistics"]
        assert statistics["relationships"] == len(facts)
        assert engine.maintenance.check().problems == ()


@given(homes=st.lists(st.sampled_from(("Bergen", "Oslo")), min_size=1, max_size=6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_undone_leaves_the_periods_before(
    tmp_path_factory: pytest.TempPathFactory, homes: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    with clew.open(folder, embedder=HashEmbedder(dimension=8)) as engine:
        teller = Teller(engine)
        teller.entity("Olaf", "")
        pictures = []
        for town in homes:
            pictures.append(picture(teller))
            teller.home("Olaf", town, by_id=True)
        for before in reversed(pictures):
            entries = engine.maintenance.audit(limit=50)
            last = next(e for e in entries if e.tool == "add_entity_relationship" and e.undo)
            teller.call("undo_change", entry_id=last.id)
            assert picture(teller) == before


def picture(teller: Teller) -> list[tuple[object, ...]]:
    return [
        (one.to_entity_id, one.valid_from, one.valid_until, one.recorded_at)
        for one in teller.periods("Olaf")
    ]


def test_importing_says_what_was_new_there_joined_and_refused(
    tmp_path: Path, engine: clew.Clew
) -> None:
    bergen = {"type": "entity", "name": "BERGEN", "entityType": "river"}
    lines: list[Record] = [
        {"type": "entity", "name": "Olaf", "entityType": "person", "observations": ["Sings."]},
        bergen | {"observations": ["Wet.", "Old."]},
        {"type": "relation", "from": "Olaf", "to": "BERGEN", "relationType": "lives_in"},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    engine.entities.memory.create([NewEntity(name="Bergen", entity_type="place")], [["Wet."]])
    first, again = (engine.entities.import_memory(file) for _ in range(2))
    new = [(one.entities, one.observations, one.relations) for one in (first, again)]
    known = [
        (one.known_entities, one.known_observations, one.known_relations) for one in (first, again)
    ]
    assert (new, known) == ([(1, 2, 1), (0, 0, 0)], [(1, 1, 0), (2, 3, 1)])
    assert first.joined == ("'BERGEN' is 'Bergen'",)
    assert [one.reason for one in first.skipped] == ["the type 'river': 'Bergen' keeps 'place'"]


def test_the_same_text_of_two_is_told_of_both(engine: clew.Clew) -> None:
    """An observation that names nobody has its own text and its own subject."""
    memory = engine.entities.memory
    people = [NewEntity(name=name, entity_type="person") for name in ("Olaf Moe", "Ada Quill")]
    memory.create(people, [["Has the van."], ["Has the van."]])
    hits = {(h.chunk.title, h.chunk.text) for h in engine.search("Who has the van?").hits}
    assert hits > {(name, "Has the van.") for name in ("Olaf Moe", "Ada Quill")}
    assert memory.delete_observations([("Olaf Moe", ["Has the van."])]) == [1]
    left = engine.store.observations(list(memory.find(["Olaf Moe", "Ada Quill"]).values()))
    assert [[one.text for one in texts] for texts in left.values()] == [["Has the van."]]


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ("Goes by Liz.", "Liz"),
        ("She goes by Liz at work.", "Liz"),
        ("Elizabeth Stone goes by Liz.", "Liz"),
        ("Is known as Bess.", "Bess"),
        ("Also known as Betty Moor.", "Betty Moor"),
        ("Nickname: Lizzy", "Lizzy"),
    ],
)
def test_a_name_that_one_goes_by_is_an_alias(engine: clew.Clew, text: str, alias: str) -> None:
    memory = engine.entities.memory
    stone = NewEntity(name="Elizabeth Stone", entity_type="person")
    (made,) = memory.create([stone], [[text]])
    assert engine.entities.get(alias).id == made.entity_id
    assert engine.entities.get(alias).name == "Elizabeth Stone"
    # Who tells something of the alias tells it of her, and is told so.
    outcome = Toolbox(engine, OPERATIONS, profile="memory").call(
        "add_observations", {"observations": [{"entityName": alias, "contents": ["Sings."]}]}
    )
    assert outcome.content["joined"] == [{"name": alias, "entity": "Elizabeth Stone"}]


# --- What was stated by hand goes from one store into another by `clew export` and `clew
# import`.


TEXT = (
    "The Clockmaster of Lisse lives in Vell. Ada Morn built the tower of Vell."
    " Brida Kall met Ada Morn. Jon Vale sails."
)


def open_store(folder: Path) -> clew.Clew:
    return clew.open(folder, embedder=HashEmbedder())


def at(year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=UTC)


def state_things(engine: clew.Clew) -> None:
    """Something of every kind that is stated by hand, beside a text."""
    engine.add(TEXT, source="text")
    memory = engine.entities.memory
    olaf = NewEntity(
        name="Olaf Moe", entity_type="person", content="A sailor.", metadata={"importance": 0.5}
    )
    memory.create([olaf, NewEntity(name="Bergen", entity_type="place")], [["Sings.", "A\nb."], []])
    memory.add_observations([("Bergen", ["Wet."])], at={("Bergen", "Wet."): at(2020)})
    engine.entities.rename("Bergen", "Bergen am See")
    engine.entities.merge("Clockmaster of Lisse", "Ada Morn")
    engine.entities.refuse("Jon Vale", "Brida Kall")
    names = ("Olaf Moe", "Bergen", "Ada Morn", "Brida Kall")
    olaf_id, bergen, ada, brida = (engine.entities.get(name).id for name in names)
    add = engine.entities.add_relation
    add(olaf_id, bergen, "lives_in", weight=0.7, valid_from=at(2020), valid_until=at(2022))
    add(olaf_id, bergen, "lives_in", context={"a": [1]}, valid_from=at(2023))
    add(brida, ada, "causes")
    engine.graph.delete_relation(add(olaf_id, ada, "knows").id)


def stated(engine: clew.Clew) -> dict[str, object]:
    """What a store holds of that, without its ids."""
    store = engine.store
    names = dict(store.entity_names(sorted({alias.entity_id for alias in store.aliases()})))
    by_hand = [r for i in names for r in store.relations([i], limit=1000) if r.chunk_id is None]
    return {
        "observations": {
            (names[i], one.text, engine.documents.get(one.document_id).created_at)
            for i, told in store.observations(store.made_by_hand()).items()
            for one in told
        },
        "relations": {
            (
                *(names[r.from_entity_id], r.relation_type, names[r.to_entity_id]),
                *(r.weight, r.is_causal, json.dumps(r.context)),
                *(r.valid_from, r.valid_until, r.recorded_at),
            )
            for r in by_hand
        },
        "rules": (store.link_rules(), store.given_names()),
        "cards": {
            (d.title, engine.documents.text(d.source), json.dumps(d.metadata))
            for d in engine.documents.list()
            if d.title == "Olaf Moe"
        },
    }


def entity(engine: clew.Clew, name: str) -> tuple[object, ...]:
    found = engine.entities.get(name)
    names = {alias.name for alias in engine.entities.aliases(found)}
    return found.name, found.entity_type, found.content, names


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, object]]:
    """The lines of a store, and what it holds."""
    with open_store(tmp_path_factory.mktemp("first")) as engine:
        state_things(engine)
        return list(engine.maintenance.export("jsonl")), stated(engine)


@pytest.mark.parametrize("indexed_first", [False, True])
def test_what_was_stated_by_hand_is_in_the_new_store(
    exported: tuple[list[str], dict[str, object]], indexed_first: bool, tmp_path: Path
) -> None:
    lines, before = exported
    file = tmp_path / "all.jsonl"
    file.write_text("".join(lines), "utf-8")
    with open_store(tmp_path / "store") as engine:
        if indexed_first:
            engine.add(TEXT, source="text")
        report = engine.entities.import_memory(file)
        engine.add(TEXT, source="text")
        after = stated(engine)
        assert after | {"rules": ()} == before | {"rules": ()}
        assert report.documents == 1
        assert entity(engine, "Olaf Moe") == ("Olaf Moe", "person", "A sailor.", {"Olaf Moe"})
        assert engine.maintenance.check().problems == ()
        if indexed_first:
            # Whether names that texts have brought in are one is left as it is, and told.
            tied = " ".join(one.source for one in report.skipped)
            assert "'clockmaster of lisse'" in tied
            assert all("import before indexing" in one.reason for one in report.skipped)
        else:
            assert report.skipped == ()
            assert after == before
            assert engine.entities.get("Clockmaster of Lisse").name == "Ada Morn"
        assert entity(engine, "Bergen")[0] == "Bergen am See"
        again = engine.entities.import_memory(file)
        assert (again.entities, again.observations, again.relations) == (0, 0, 0)
        assert stated(engine) == after


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.none(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_line_keeps_the_others_from_being_taken(
    exported: tuple[list[str], dict[str, object]], data: st.DataObject, tmp_path: Path
) -> None:
    records: list[Mapping[str, Any]] = [json.loads(line) for line in exported[0]]
    spoilt = data.draw(st.sampled_from([one for one in records if one["kind"] != "chunk"]))
    field = data.draw(st.sampled_from(sorted(spoilt)))
    value = data.draw(junk)
    file = tmp_path / "all.jsonl"
    sound = {"type": "entity", "name": "Last", "entityType": "person", "observations": ["Sound."]}
    changed = [one | {field: value} if one is spoilt else one for one in records]
    file.write_text("\n".join(map(json.dumps, [*changed, sound])), "utf-8")
    with open_store(tmp_path / str(len(list(tmp_path.iterdir())))) as engine:
        engine.entities.import_memory(file)
        told = {text for _, text, _ in stated(engine)["observations"]}  # type: ignore[attr-defined]
        assert "Sound." in told
        assert engine.maintenance.check().problems == ()
