"""Whatever is told is kept or reported: random tellings against plain dictionaries."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS, Toolbox
from clew.types import NewEntity, Relation

Record: TypeAlias = dict[str, Any]

PEOPLE = ("Olaf", "olaf", "Ada+", "Ada")
TOWNS = ("Bergen", "Oslo", "BERGEN.")
TEXTS = ("Sings.", "Has the van.", "Goes by Lo.")
NODES = {"Olaf": "olaf", "olaf": "olaf", "BERGEN.": "bergen", "Bergen": "bergen"}

told = st.one_of(
    st.tuples(st.just("entity"), st.sampled_from(PEOPLE), st.sampled_from(("", *TEXTS))),
    st.tuples(st.just("observation"), st.sampled_from(PEOPLE), st.sampled_from(TEXTS)),
    st.tuples(st.just("lives_in"), st.sampled_from(PEOPLE), st.sampled_from(TOWNS)),
    st.tuples(st.just("tool"), st.sampled_from(PEOPLE), st.sampled_from(TOWNS)),
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


def test_importing_says_what_was_new_there_joined_and_refused(tmp_path: Path) -> None:
    lines: list[Record] = [
        {"type": "entity", "name": "Olaf", "entityType": "person", "observations": ["Sings."]},
        {
            "type": "entity",
            "name": "BERGEN",
            "entityType": "river",
            "observations": ["Wet.", "Old."],
        },
        {"type": "relation", "from": "Olaf", "to": "BERGEN", "relationType": "lives_in"},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with clew.open(tmp_path / "store", embedder=HashEmbedder(dimension=8)) as engine:
        memory = engine.entities.memory
        memory.create([NewEntity(name="Bergen", entity_type="place")], [["Wet."]])
        first, again = (engine.entities.import_memory(file) for _ in range(2))
        assert (first.entities, first.observations, first.relations) == (1, 2, 1)
        assert (first.known_entities, first.known_observations, first.known_relations) == (1, 1, 0)
        assert first.joined == ("'BERGEN' is 'Bergen'",)
        assert [one.reason for one in first.skipped] == ["the type 'river': 'Bergen' keeps 'place'"]
        assert (again.entities, again.observations, again.relations) == (0, 0, 0)
        assert (again.known_entities, again.known_observations, again.known_relations) == (2, 3, 1)


def test_the_same_text_of_two_is_told_of_both(tmp_path: Path) -> None:
    """An observation that names nobody has its own text and its own subject."""
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        memory = engine.entities.memory
        people = [NewEntity(name=name, entity_type="person") for name in ("Olaf Moe", "Ada Quill")]
        memory.create(people, [["Has the van."], ["Has the van."]])
        hits = {(h.chunk.title, h.chunk.text) for h in engine.search("Who has the van?").hits}
        assert hits > {(name, "Has the van.") for name in ("Olaf Moe", "Ada Quill")}
        assert memory.delete_observations([("Olaf Moe", ["Has the van."])]) == [1]
        left = engine.store.observations(list(memory.find(["Olaf Moe", "Ada Quill"]).values()))
        assert [[one.text for one in texts] for texts in left.values()] == [["Has the van."]]


def test_a_name_that_is_only_spelled_alike_is_not_told_of_the_other(tmp_path: Path) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        memory = engine.entities.memory
        memory.create([NewEntity(name="Muhammad Alison", entity_type="person")], [["Boxes."]])
        engine.add("Mohammad Alison came home. Mohammad Alison slept.", source="a")
        assert memory.find(["Mohammad Alison"]) == {}
        (made,) = memory.create([NewEntity(name="Mohammad Alison")], [["Paints."]])
        assert made.is_new
        assert made.entity_id != memory.find(["Muhammad Alison"])["Muhammad Alison"]


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
def test_a_name_that_one_goes_by_is_an_alias(tmp_path: Path, text: str, alias: str) -> None:
    with clew.open(tmp_path, embedder=HashEmbedder()) as engine:
        memory = engine.entities.memory
        stone = NewEntity(name="Elizabeth Stone", entity_type="person")
        (made,) = memory.create([stone], [[text]])
        assert engine.entities.get(alias).id == made.entity_id
        assert engine.entities.get(alias).name == "Elizabeth Stone"
        # Who tells something of the alias tells it of her, and is told so.
        outcome = Toolbox(engine, TOOLS, profile="memory").call(
            "add_observations", {"observations": [{"entityName": alias, "contents": ["Sings."]}]}
        )
        assert outcome.content["joined"] == [{"name": alias, "entity": "Elizabeth Stone"}]
