"""Relationships of a written query lead where the graph's do."""

from __future__ import annotations

import pytest

from clew.attach.cypher import with_directions
from clew.attach.schema import GraphSchema, TypeInfo


def type_info(name: str, *ends: tuple[str, str]) -> TypeInfo:
    return TypeInfo(name=name, count=1, properties=(), ends=ends)


SCHEMA = GraphSchema(
    labels=(),
    types=(
        type_info("WORKS_FOR", ("Person", "Company")),
        type_info("KNOWS", ("Person", "Person")),
        type_info("OWNS", ("Person", "Company"), ("Company", "Person")),
    ),
    indexes=(),
    lookups=frozenset(),
)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "MATCH (c:Company)-[:WORKS_FOR]->(p:Person) RETURN p",
            "MATCH (c:Company)<-[:WORKS_FOR]-(p:Person) RETURN p",
        ),
        (
            "MATCH (p:Person)<-[r:WORKS_FOR]-(c:Company {name: $n}) RETURN p",
            "MATCH (p:Person)-[r:WORKS_FOR]->(c:Company {name: $n}) RETURN p",
        ),
        (
            "MATCH (c:Company) MATCH (p:Person {name: $n}), (c)-[:WORKS_FOR {since: 1}]->(p)",
            "MATCH (c:Company) MATCH (p:Person {name: $n}), (c)<-[:WORKS_FOR {since: 1}]-(p)",
        ),
        (
            "MATCH (a:Company)-[:WORKS_FOR]->(b:Person)-[:WORKS_FOR]->(c:Company) RETURN a",
            "MATCH (a:Company)<-[:WORKS_FOR]-(b:Person)-[:WORKS_FOR]->(c:Company) RETURN a",
        ),
    ],
)
def test_a_step_against_the_graph_is_turned(written: str, expected: str) -> None:
    assert with_directions(written, SCHEMA) == expected


@pytest.mark.parametrize(
    "written",
    [
        "MATCH (p:Person)-[:WORKS_FOR]->(c:Company) RETURN c",
        "MATCH (a:Person)-[:KNOWS]->(b:Person) RETURN b",
        "MATCH (c:Company)-[:OWNS]->(p:Person) RETURN p",
        "MATCH (c:Company)-[:WORKS_FOR]-(p:Person) RETURN p",
        "MATCH (a)-[:WORKS_FOR]->(p:Person) RETURN p",
        "MATCH (c:Company)-[:WORKS_FOR|KNOWS]->(p:Person) RETURN p",
        "MATCH (c:Company)-[:SELLS]->(p:Person) RETURN p",
        "RETURN 'a)-[:WORKS_FOR]->('",
    ],
)
def test_what_is_open_or_right_stays(written: str) -> None:
    assert with_directions(written, SCHEMA) == written
