"""The table of the memory tools: names, parameters and shapes of the reference memory server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.tools.memory import reading, writing
from clew.tools.parameters import CURSOR, LEAST_TOKENS, array, integer, text
from clew.tools.schema import shape
from clew.tools.spec import MEMORY, Tool

if TYPE_CHECKING:
    from clew.tools.spec import Parameter, Run, Schema

_LONGEST_NAME = 500


def _name(name: str, description: str) -> Parameter:
    return text(name, description, required=True, max_length=_LONGEST_NAME)


_ENTITY = (
    _name("name", "Name of the entity."),
    _name("entityType", "Type of the entity, such as person."),
    array("observations", "strings", "What is known of it, one fact each.", required=True),
)
_RELATION = (
    _name("from", "Name of the entity where the relation starts."),
    _name("to", "Name of the entity where the relation ends."),
    _name("relationType", "Type of the relation, in the active voice, such as works_at."),
)
_PAGE = (
    integer("limit", "Entities", 100, 1, 1000),
    CURSOR,
    integer("max_tokens", "", 10_000, LEAST_TOKENS, 100_000),
)


def _graph() -> Schema:
    """Entities and relations; what was left out, if anything was."""
    whole = shape(entities="array", relations="array")
    cut = {"next_cursor": {"type": "string"}, "left_out": {"type": "integer"}}
    return {**whole, "properties": {**whole["properties"], **cut}}


def _reading(name: str, title: str, description: str, run: Run, *parameters: Parameter) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=f"{description} next_cursor: there is more.",
        parameters=(*parameters, *_PAGE),
        result=_graph(),
        run=run,
        scope="read",
        profiles=MEMORY,
    )


def _writing(
    name: str, title: str, description: str, run: Run, parameter: Parameter, result: str
) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=description,
        parameters=(parameter,),
        result=shape(**{result: "array"}),
        run=run,
        scope="write",
        profiles=MEMORY,
    )


def _deleting(name: str, title: str, description: str, run: Run, parameter: Parameter) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=description,
        parameters=(parameter,),
        result=shape(message="string"),
        run=run,
        scope="write",
        profiles=MEMORY,
        destructive=True,
        idempotent=True,
    )


MEMORY_TOOLS: tuple[Tool, ...] = (
    _writing(
        "create_entities",
        "Create entities",
        "Create entities in the knowledge graph. Those that exist get the observations they lack.",
        writing.create_entities,
        array("entities", "objects", "Up to 1000.", required=True, fields=_ENTITY),
        "entities",
    ),
    _writing(
        "create_relations",
        "Create relations",
        "Create relations between entities that exist; what ended before begins again.",
        writing.create_relations,
        array("relations", "objects", "Up to 1000.", required=True, fields=_RELATION),
        "relations",
    ),
    _writing(
        "add_observations",
        "Add observations",
        "Add facts to entities that exist; facts that are known are left out.",
        writing.add_observations,
        array(
            "observations",
            "objects",
            "Up to 1000.",
            required=True,
            fields=(
                _name("entityName", "Name of the entity."),
                array("contents", "strings", "Facts to add, one each.", required=True),
            ),
        ),
        "results",
    ),
    _deleting(
        "delete_entities",
        "Delete entities",
        "Delete entities with their observations and relations.",
        writing.delete_entities,
        array("entityNames", "strings", "Names, up to 1000.", required=True),
    ),
    _deleting(
        "delete_observations",
        "Delete observations",
        "Delete facts of entities.",
        writing.delete_observations,
        array(
            "deletions",
            "objects",
            "Up to 1000.",
            required=True,
            fields=(
                _name("entityName", "Name of the entity."),
                array(
                    "observations", "strings", "Facts to delete, as they were added.", required=True
                ),
            ),
        ),
    ),
    _deleting(
        "delete_relations",
        "Delete relations",
        "Delete relations of the knowledge graph.",
        writing.delete_relations,
        array("relations", "objects", "Up to 1000.", required=True, fields=_RELATION),
    ),
    _reading(
        "read_graph",
        "Read the graph",
        "Read the graph that was told by hand: entities, their observations and relations.",
        reading.read_graph,
    ),
    _reading(
        "search_nodes",
        "Search nodes",
        "Find entities told by hand by a part of their name, type or observations.",
        reading.search_nodes,
        text("query", "Up to 2048 characters.", required=True, max_length=2048),
    ),
    _reading(
        "open_nodes",
        "Open nodes",
        "Read entities by name, with all relations that start or end at them.",
        reading.open_nodes,
        array("names", "strings", "Names, up to 1000.", required=True),
    ),
)
