"""Any calls of the memory tools come to what plain lists and dictionaries come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.testing.fakes import HashEmbedder
from clew.tools.toolbox import TOOLS, Toolbox

Record: TypeAlias = dict[str, Any]

NAMES = ("Anna Morn", "Vell", "C_3", "東京", "Piet's Mill")
KINDS = ("lives in", "knows", "worksAt")
FACTS = ("Sings.", "Anna Morn lives in Vell.", "Likes 東京!", "Knows Piet Oss, too.")

names, facts = st.sampled_from(NAMES), st.lists(st.sampled_from(FACTS), max_size=3)
entity = st.fixed_dictionaries(
    {"name": names, "entityType": st.sampled_from(("person", "place")), "observations": facts}
)
relation = st.fixed_dictionaries(
    {"from": names, "to": names, "relationType": st.sampled_from(KINDS)}
)
told = st.fixed_dictionaries({"entityName": names, "contents": facts})
untold = st.fixed_dictionaries({"entityName": names, "observations": facts})


def call(name: str, argument: str, items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(name), st.fixed_dictionaries({argument: st.lists(items, max_size=3)}))


calls = st.lists(
    st.one_of(
        call("create_entities", "entities", entity),
        call("create_relations", "relations", relation),
        call("add_observations", "observations", told),
        call("delete_entities", "entityNames", names),
        call("delete_observations", "deletions", untold),
        call("delete_relations", "relations", relation),
    ),
    max_size=10,
)


class Model:
    """The reference server's rules on a dictionary and a list."""

    def __init__(self) -> None:
        self.entities: dict[str, Record] = {}
        self.relations: list[Record] = []

    def create_entities(self, entities: list[Record]) -> None:
        for one in entities:
            known = self.entities.setdefault(one["name"], {**one, "observations": []})
            observations = [*known["observations"], *one["observations"]]
            known["observations"] = list(dict.fromkeys(observations))

    def create_relations(self, relations: list[Record]) -> None:
        ends = {name for one in relations for name in (one["from"], one["to"])}
        if ends <= self.entities.keys():
            for one in relations:
                if one not in self.relations:
                    self.relations.append(one)

    def add_observations(self, observations: list[Record]) -> None:
        if all(one["entityName"] in self.entities for one in observations):
            for one in observations:
                known = self.entities[one["entityName"]]["observations"]
                known += [c for c in dict.fromkeys(one["contents"]) if c not in known]

    def delete_entities(self, entityNames: list[str]) -> None:
        for name in entityNames:
            self.entities.pop(name, None)
        gone = set(entityNames)
        self.relations = [r for r in self.relations if not {r["from"], r["to"]} & gone]

    def delete_observations(self, deletions: list[Record]) -> None:
        for one in deletions:
            if one["entityName"] in self.entities:
                kept = self.entities[one["entityName"]]
                gone = one["observations"]
                kept["observations"] = [o for o in kept["observations"] if o not in gone]

    def delete_relations(self, relations: list[Record]) -> None:
        self.relations = [r for r in self.relations if r not in relations]


def triple(relation: Record) -> tuple[str, str, str]:
    return relation["from"], relation["relationType"], relation["to"]


@given(script=calls)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_tools_do_as_a_plain_model(
    tmp_path_factory: pytest.TempPathFactory, script: list[tuple[str, Record]]
) -> None:
    model = Model()
    folder = tmp_path_factory.mktemp("store")
    with clew.open(folder, embedder=HashEmbedder(dimension=8)) as engine:
        toolbox = Toolbox(engine, TOOLS, profile="memory")
        for name, arguments in script:
            toolbox.call(name, arguments)
            rule: Callable[..., None] = getattr(model, name)
            rule(**arguments)
        graph = toolbox.call("read_graph").content
        assert engine.maintenance.check().problems == ()
        for one in graph["entities"]:  # when each was told, where that differs
            assert len(one.pop("told_at", one["observations"])) == len(one["observations"])
        assert {one["name"]: one for one in graph["entities"]} == model.entities
        assert len(graph["entities"]) == len(model.entities)
        assert sorted(map(triple, graph["relations"])) == sorted(map(triple, model.relations))
        # What nobody names any more is gone: no entity is left behind.
        toolbox.call("delete_entities", {"entityNames": list(NAMES)})
        assert engine.store.aliases() == []
