"""Questions answered by a query that a language model writes, where nothing but reading can happen.

The model sees the schema, as far as the question needs it, the examples nearest to the question,
and never the data. Texts in what it writes become parameters (`literals`), and relationships that
are the wrong way round are turned (`directions`). The query is judged by the server's plan
(`plans`), then run in a session that may only read, within a time and a number of rows. Where the
server refuses a query, the model is told why, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from clew.attach.directions import with_directions
from clew.attach.examples import nearest_examples, own_examples, shown_example
from clew.attach.literals import with_parameters
from clew.attach.plans import check_functions, check_plan
from clew.attach.schema import read_schema
from clew.errors import InputError, ModelError, StoreError
from clew.ports.language_model import Message, Request
from clew.text import terms
from clew.untrusted import NOTICE, untrusted_block

if TYPE_CHECKING:
    from clew.attach.examples import Example
    from clew.attach.schema import GraphSchema, LabelInfo, TypeInfo
    from clew.ports import Embedder
    from clew.ports.language_model import LanguageModel
    from clew.stores.neo4j.connection import Neo4jDatabase

SHOWN = 40
"""Labels, and relationship types, that the model is shown at most."""
INSTRUCTIONS = f"""\
Write one Cypher query for Neo4j 5 that answers the question from the graph whose schema is given.
- Use the labels, relationship types and properties of the schema alone, and the directions in it.
- Only read: MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, LIMIT. No CALL of
  procedures, no LOAD CSV, no functions of plugins such as apoc.*, no comments.
- Values from the question are parameters ($name), given beside the query; compare names by
  toLower(…) CONTAINS toLower($name) unless they are exact.
- Return the nodes themselves where the question asks for things, numbers where it counts.
- Where examples are given, follow their form.
- Where the schema cannot answer the question, leave the query empty and say why.
{NOTICE}"""


class Parameter(BaseModel):
    """A value of a query."""

    name: str
    value: str | int | float | bool


class WrittenQuery(BaseModel):
    """What the model writes."""

    query: str = Field(description="One Cypher query; empty where the schema has no answer.")
    parameters: list[Parameter] = Field(default_factory=list)
    reason: str = Field(default="", description="Why there is no query, in one sentence.")


@dataclass(frozen=True, kw_only=True, slots=True)
class CypherAnswer:
    """What a written query found. Nodes carry their `element_id`, by which they are cited."""

    question: str
    query: str
    """The query that ran, or would run; empty where none was written."""
    parameters: Mapping[str, object]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""


def ask_by_cypher(
    database: Neo4jDatabase,
    model: LanguageModel,
    question: str,
    *,
    embedder: Embedder,
    examples: Sequence[Example] = (),
    limit: int = 50,
    run: bool = True,
) -> CypherAnswer:
    """The rows, at most `limit`, of a query that the model writes for the question.

    It is shown the examples nearest to the question, of those given and, where Clew keeps its own
    graph there, of `own_examples`. Without `run` the query is written and judged, and not run.
    Raises `InputError` where the
    second try is refused as well, or where the database holds several of Clew's namespaces;
    `ModelError` where the model fails.
    """
    if limit < 1:
        raise InputError(f"limit {limit!r} cannot be; expected at least 1")
    notes: list[str] = []
    schema, request = _begun(database, question, embedder, examples, notes)
    while True:
        written, name = _written(model, request)
        given = {one.name: one.value for one in written.parameters}
        query, values = with_parameters(written.query.strip().rstrip(";"), given)
        query = with_directions(query, schema)
        answer = CypherAnswer(question=question, query=query, parameters=values, model=name)
        if not query:
            notes.append(written.reason or "the graph's schema has no answer to the question")
            return _with(answer, notes=notes)
        try:
            check_functions(query)
            check_plan(*database.explained(query, values))
            if not run:
                return _with(answer, notes=notes)
            columns, rows = database.bounded_rows(query, values, limit + 1)
        except (InputError, StoreError) as error:
            if len(request.messages) > 1:
                raise InputError(f"{error}; the query was: {' '.join(query.split())}") from error
            notes.append(f"a first query was refused: {error}")
            request = replace(request, messages=(*request.messages, *_told(written, error)))
            continue
        if len(rows) > limit:
            notes.append(f"there are more than {limit} rows; the first are shown")
        return _with(answer, columns=columns, rows=rows[:limit], notes=notes)


def cypher_requests(
    database: Neo4jDatabase,
    question: str,
    *,
    embedder: Embedder,
    examples: Sequence[Example] = (),
) -> list[Request]:
    """What `ask_by_cypher` asks first of a model; a query that is refused is asked for again.

    Raises `InputError` as that does.
    """
    return [_begun(database, question, embedder, examples, [])[1]]


def _begun(
    database: Neo4jDatabase,
    question: str,
    embedder: Embedder,
    examples: Sequence[Example],
    notes: list[str],
) -> tuple[GraphSchema, Request]:
    """The schema, and the question with what of it and of the examples the model is shown."""
    if not question.strip():
        raise InputError("there is no question; say what is asked of the graph")
    known = [*examples, *(own_examples() if _is_own(database) else ())]
    near = _nearest(question, known, embedder, notes)
    schema = read_schema(database)
    parts = [_shown(schema, question), *map(shown_example, near), f"Question: {question}"]
    return schema, Request(
        task="answer",
        instructions=INSTRUCTIONS,
        messages=(Message(role="user", text="\n\n".join(parts)),),
        schema=WrittenQuery,
        subject=question,
    )


def _written(model: LanguageModel, request: Request) -> tuple[WrittenQuery, str]:
    reply = model.reply(request)
    value = reply.value
    if not isinstance(value, WrittenQuery):
        value = WrittenQuery.model_validate_json(reply.text)
    return value, reply.model


def _told(written: WrittenQuery, error: Exception) -> list[Message]:
    wrong = untrusted_block(str(error), kind="error")
    return [
        Message(role="assistant", text=written.model_dump_json()),
        Message(role="user", text=f"The server refused that query. Mend it.\n{wrong}"),
    ]


def _with(
    answer: CypherAnswer,
    *,
    notes: Sequence[str],
    columns: tuple[str, ...] = (),
    rows: Sequence[Sequence[object]] = (),
) -> CypherAnswer:
    return CypherAnswer(
        question=answer.question,
        query=answer.query,
        parameters=answer.parameters,
        columns=columns,
        rows=tuple(tuple(shown_value(value) for value in row) for row in rows),
        notes=tuple(notes),
        model=answer.model,
    )


def _nearest(
    question: str, examples: Sequence[Example], embedder: Embedder, notes: list[str]
) -> list[Example]:
    try:
        return nearest_examples(question, examples, embedder)
    except ModelError as error:
        notes.append(f"no examples were shown to the model: {error}")
        return []


def _is_own(database: Neo4jDatabase) -> bool:
    """Whether Clew keeps its graph there.

    Raises `InputError` for a database of several namespaces: a query reads all of it.
    """
    found = {str(row[0]) for row in database.rows("MATCH (s:ClewStore) RETURN s.namespace")}
    if found - {database.namespace}:
        raise InputError(
            f"this database holds {len(found)} of Clew's namespaces, and a written query could read"
            " all of them; keep the namespace in a database of its own to ask it by Cypher"
        )
    return bool(found)


# --- the schema, as far as a question needs it


def _shown(schema: GraphSchema, question: str) -> str:
    """Labels and types as text: those that share words with the question first, at most `SHOWN`."""
    asked = set(terms(question))
    labels = sorted(schema.labels, key=lambda one: (-_shared(one, asked), -one.count))[:SHOWN]
    types = sorted(schema.types, key=lambda one: (-_shared(one, asked), -one.count))[:SHOWN]
    lines = [f"({one.name} {_properties(one)}) {one.count} nodes" for one in labels]
    lines += [
        f"({start})-[:{one.name} {_properties(one)}]->({end})"
        for one in types
        for start, end in one.ends
    ]
    return "Schema:\n" + untrusted_block("\n".join(lines), kind="schema")


def _shared(one: LabelInfo | TypeInfo, asked: set[str]) -> int:
    """Words of a name and of its properties that the question has."""
    names = [one.name, *(known.name for known in one.properties)]
    return len(asked & {term for name in names for term in terms(name.replace("_", " "))})


def _properties(one: LabelInfo | TypeInfo) -> str:
    known = (f"{p.name}: {'|'.join(p.types)}" for p in one.properties)
    return "{" + ", ".join(known) + "}"


# --- values


def shown_value(value: object) -> object:
    """A value as JSON has it; a node or a relationship by its id, what it is, and what it holds."""
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node):
        held = dict(_held(value))
        return {"element_id": value.element_id, "labels": sorted(value.labels), **held}
    if isinstance(value, Relationship):
        ends = {"from": value.start_node, "to": value.end_node}
        ids = {name: node.element_id if node else None for name, node in ends.items()}
        return {"element_id": value.element_id, "type": value.type, **ids, **dict(_held(value))}
    if isinstance(value, Path):
        nodes = [shown_value(node) for node in value.nodes]
        return {"nodes": nodes, "relationships": [shown_value(one) for one in value.relationships]}
    if isinstance(value, list):
        return [shown_value(one) for one in value]
    if isinstance(value, dict):
        return {str(key): shown_value(one) for key, one in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _held(entity: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - a node or a relationship
    """Properties, without vectors, which say nothing to a reader."""
    for name, value in entity.items():
        if not (isinstance(value, list) and len(value) > 100):
            yield name, shown_value(value)
