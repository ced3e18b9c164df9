"""Questions answered by a query that a language model writes, where nothing but reading can happen.

The model sees the schema, as far as the question needs it, the examples nearest to the question,
and never the data. Texts in what it writes become parameters (`literals`), and relationships that
are the wrong way round are turned (`directions`). The query is judged by the server's plan
(`plans`), then run in a session that may only read, within a time and a number of rows. Where the
server refuses a query, the model is told why, once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from clew.errors import InputError, ModelError, StoreError
from clew.plugins.neo4j.connection import Neo4jDatabase
from clew.plugins.neo4j.mapping import GraphSchema, LabelInfo, TypeInfo, read_schema, read_toml
from clew.ports import Embedder, LanguageModel, Message, Request
from clew.text import terms
from clew.types import CypherAnswer
from clew.untrusted import NOTICE, untrusted_block

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
    Raises `InputError` where the second try is refused as well, or where the database holds several
    of Clew's namespaces; `ModelError` where the model fails.
    """
    if limit < 1:
        raise InputError(f"limit {limit!r} cannot be; expected at least 1")
    notes: list[str] = []
    schema, request = first_request(database, question, embedder, examples, notes)
    while True:
        reply = model.reply(request)
        written = reply.value
        if not isinstance(written, WrittenQuery):
            written = WrittenQuery.model_validate_json(reply.text)
        given = {one.name: one.value for one in written.parameters}
        query, values = with_parameters(written.query.strip().rstrip(";"), given)
        query = with_directions(query, schema)
        answer = CypherAnswer(question=question, query=query, parameters=values, model=reply.model)
        if not query:
            notes.append(written.reason or "the graph's schema has no answer to the question")
            return replace(answer, notes=tuple(notes))
        try:
            check_functions(query)
            check_plan(*database.explained(query, values))
            if not run:
                return replace(answer, notes=tuple(notes))
            columns, rows = database.bounded_rows(query, values, limit + 1)
        except (InputError, StoreError) as error:
            if len(request.messages) > 1:
                raise InputError(f"{error}; the query was: {' '.join(query.split())}") from error
            notes.append(f"a first query was refused: {error}")
            wrong = untrusted_block(str(error), kind="error")
            told = Message(role="assistant", text=written.model_dump_json())
            mend = Message(role="user", text=f"The server refused that query. Mend it.\n{wrong}")
            request = replace(request, messages=(*request.messages, told, mend))
            continue
        if len(rows) > limit:
            notes.append(f"there are more than {limit} rows; the first are shown")
        shown = tuple(tuple(map(shown_value, row)) for row in rows[:limit])
        return replace(answer, columns=columns, rows=shown, notes=tuple(notes))


def first_request(
    database: Neo4jDatabase,
    question: str,
    embedder: Embedder,
    examples: Sequence[Example],
    notes: list[str],
) -> tuple[GraphSchema, Request]:
    """The schema, and what `ask_by_cypher` asks first: the question with what the model is shown.

    A query that is refused is asked for again. Raises `InputError` as `ask_by_cypher` does.
    """
    if not question.strip():
        raise InputError("there is no question; say what is asked of the graph")
    found = {str(row[0]) for row in database.rows("MATCH (s:ClewStore) RETURN s.namespace")}
    if found - {database.namespace}:
        raise InputError(
            f"this database holds {len(found)} of Clew's namespaces, and a written query could read"
            " all of them; keep the namespace in a database of its own to ask it by Cypher"
        )
    known = [*examples, *(own_examples() if found else ())]
    near: list[Example] = []
    try:
        near = nearest_examples(question, known, embedder)
    except ModelError as error:
        notes.append(f"no examples were shown to the model: {error}")
    schema = read_schema(database)
    parts = [_shown(schema, question), *map(shown_example, near), f"Question: {question}"]
    return schema, Request(
        task="answer",
        instructions=INSTRUCTIONS,
        messages=(Message(role="user", text="\n\n".join(parts)),),
        schema=WrittenQuery,
        subject=question,
    )


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


# Relationships of a written query, turned where the graph has them the other way round alone.


_STEP = re.compile(
    r"\((?P<left>\w{1,60})?(?::(?P<from_>\w{1,60}))?[^()\[\]]{0,200}\)"
    r"(?P<in><)?-\[(?P<inside>\w{0,60}:(?P<type>\w{1,60})\b[^()\[\]|]{0,200})\]-(?P<out>>)?"
    r"(?=\((?P<right>\w{1,60})?(?::(?P<to>\w{1,60}))?[^()\[\]]{0,200}\))"
)
_LABELLED = re.compile(r"\((?P<name>\w{1,60}):(?P<label>\w{1,60})\b")


def with_directions(query: str, schema: GraphSchema) -> str:
    """The query with each `(:A)-[:TYPE]->(:B)` turned where the graph has only B to A of it.

    A step whose labels, type or direction the query leaves open stays as it is.
    """
    labels = {match["name"]: match["label"] for match in _LABELLED.finditer(query)}

    def turned(match: re.Match[str]) -> str:
        left = match["from_"] or labels.get(match["left"] or "")
        right = match["to"] or labels.get(match["right"] or "")
        known = schema.type(match["type"])
        if known is None or not left or not right or bool(match["in"]) == bool(match["out"]):
            return match[0]
        pair = (right, left) if match["in"] else (left, right)
        if pair in known.ends or pair[::-1] not in known.ends:
            return match[0]
        node = match[0][: match[0].index(")") + 1]
        if match["in"]:
            return f"{node}-[{match['inside']}]->"
        return f"{node}<-[{match['inside']}]-"

    return _STEP.sub(turned, query)


# Questions with the queries that answer them: the nearest ones show a model what to write.


NEAREST = 4
"""Examples that a model is shown."""


class Example(BaseModel):
    """A question and the query that answers it."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1)
    query: str = Field(min_length=1)
    parameters: dict[str, str | int | float | bool] = Field(default_factory=dict)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    example: list[Example]


def read_examples(path: Path) -> list[Example]:
    """Those of a TOML file of `[[example]]` tables; raises `InputError`."""
    return read_toml(path, "file of examples", _File).example


def own_examples() -> list[Example]:
    """Those about the graph that Clew itself keeps."""
    return read_examples(Path(__file__).with_name("own_examples.toml"))


def nearest_examples(
    question: str, examples: Sequence[Example], embedder: Embedder, most: int = NEAREST
) -> list[Example]:
    """The examples whose questions are most like the question, the nearest first.

    Names are what differs between two questions of one form: those that are parameters of an
    example are left out of it.
    """
    if len(examples) <= most:
        return list(examples)
    nameless = []
    for example in examples:
        text = example.question
        for name, value in example.parameters.items():
            text = text.replace(str(value), name)
        nameless.append(text)
    near = embedder.embed_documents(nameless) @ embedder.embed_query(question)
    return [examples[place] for place in (-near).argsort(kind="stable")[:most]]


def shown_example(example: Example) -> str:
    """An example as a model reads it."""
    parameters = [{"name": name, "value": value} for name, value in example.parameters.items()]
    written = {"query": example.query, "parameters": parameters, "reason": ""}
    return f"Example question: {example.question}\n{json.dumps(written, ensure_ascii=False)}"


# Texts within a written query, made parameters of it.


_TEXT = re.compile(
    r"//[^\n]*+"
    r"|/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
    r"|`[^`]*+`?"
    r"|(?P<text>'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")"
    r"|['\"].*",
    re.DOTALL,
)
"""Comments and quoted names, which stay; texts; and a text without an end, to the query's end."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def with_parameters(
    query: str, values: Mapping[str, str | int | float | bool]
) -> tuple[str, dict[str, str | int | float | bool]]:
    """The query with each text in it as a parameter `$text1`, `$text2` …, and all values.

    A query with Unicode escapes stays as it is: the server reads these before it looks for texts.
    """
    found = dict(values)
    if "\\u" in query or "\\U" in query:
        return query, found
    names: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        if match["text"] is None:
            return match[0]
        text = _ESCAPE.sub(lambda one: _MEANT.get(one[1], one[1]), match["text"][1:-1])
        if text not in names:
            number = len(names) + 1
            while f"text{number}" in found:
                number += 1
            names[text] = f"text{number}"
            found[names[text]] = text
        return f"${names[text]}"

    return _TEXT.sub(replaced, query), found


# What a query would do, judged by the server's own plan of it; the query does not run.
#
# A list of forbidden words fails: comments, Unicode escapes and sub-queries hide words. The plan
# does not: it has one operator for each thing that would be done, whatever the text looked like.
#
# Functions are no operators, and one of a plugin may read files or run another query. The plan
# writes
# the expressions of each operator out, and only functions of Cypher's own may stand in them.
# Since a
# server may compute constants while it plans, the text is looked through first.


MOST_ROWS = 1_000_000
"""Rows of a step, at most, as the server estimates them."""
# What only reads the graph. Not among them: CALL of procedures, LOAD CSV, SHOW, CALL … IN
# TRANSACTIONS, and everything that writes.
_READS = frozenset(
    """
    AllNodesScan AntiConditionalApply AntiSemiApply Apply Argument AssertSameNode
    AssertSameRelationship BFSPruningVarLengthExpand BidirectionalRepeat CacheProperties
    CartesianProduct ConditionalApply DirectedAllRelationshipsScan
    DirectedRelationshipByElementIdSeek DirectedRelationshipByIdSeek
    DirectedRelationshipIndexContainsScan DirectedRelationshipIndexEndsWithScan
    DirectedRelationshipIndexScan DirectedRelationshipIndexSeek
    DirectedRelationshipIndexSeekByRange DirectedRelationshipTypeScan
    DirectedUnionRelationshipTypesScan Distinct Eager EagerAggregation EmptyResult EmptyRow
    ExhaustiveLimit Expand Filter
    IntersectionNodeByLabelsScan LeftOuterHashJoin LetAntiSemiApply LetSelectOrAntiSemiApply
    LetSelectOrSemiApply LetSemiApply Limit MultiNodeIndexSeek NodeByElementIdSeek NodeByIdSeek
    NodeByLabelScan NodeCountFromCountStore NodeHashJoin NodeIndexContainsScan
    NodeIndexEndsWithScan NodeIndexScan NodeIndexSeek NodeIndexSeekByRange NodeLeftOuterHashJoin
    NodeRightOuterHashJoin NodeUniqueIndexSeek NodeUniqueIndexSeekByRange NullifyMetadata Optional
    OptionalExpand OrderedAggregation OrderedDistinct OrderedUnion PartialSort PartialTop
    ProduceResults ProjectEndpoints Projection PruningVarLengthExpand
    RelationshipCountFromCountStore Repeat RightOuterHashJoin RollUpApply
    SelectOrAntiSemiApply SelectOrSemiApply SemiApply ShortestPath Skip Sort StatefulShortestPath
    SubtractionNodeByLabelsScan Top Top1WithTies TriadicBuild TriadicFilter TriadicSelection
    UndirectedAllRelationshipsScan UndirectedRelationshipByElementIdSeek
    UndirectedRelationshipByIdSeek UndirectedRelationshipIndexContainsScan
    UndirectedRelationshipIndexEndsWithScan UndirectedRelationshipIndexScan
    UndirectedRelationshipIndexSeek UndirectedRelationshipIndexSeekByRange
    UndirectedRelationshipTypeScan UndirectedUnionRelationshipTypesScan Union
    UnionNodeByLabelsScan Unwind ValueHashJoin VarLengthExpand
    """.split()
)

# Cypher's own functions that have a namespace. Servers take functions of plugins within a namespace
# alone, so that a name without one is Cypher's own, or unknown to the server.
_DOTTED = frozenset(
    f"{kind}.{name}".casefold()
    for kinds, names in (
        ("date time datetime localtime localdatetime", "realtime statement transaction truncate"),
        ("datetime", "fromEpoch fromEpochMillis"),
        ("duration", "between inDays inMonths inSeconds"),
        ("point", "distance withinBBox"),
        ("vector.similarity", "cosine euclidean"),
    )
    for kind in kinds.split()
    for name in names.split()
)
_NAME = r"(?:`(?:[^`]|``)*+`|[^\s.`'\"(){}\[\],;:=<>+\-*/%^|&!~$@#?\\]++)"
_CALLED = re.compile(
    rf"(?P<name>{_NAME}(?:\s*+\.\s*+{_NAME})*+)\s*+(?P<called>\()?"
    r"|'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|(?P<hidden>(?://|/\*|['\"`]).*)",
    re.DOTALL,
)
"""Names; texts, which are passed over; and what could hide a name: comments, texts without end."""


def check_functions(query: str) -> None:
    """Raise `InputError` where a text calls a function that is not Cypher's own, or may hide one.

    Comments and Unicode escapes are refused: the server resolves them before it looks for names.
    """
    hidden = re.search(r"\\[uU]", query)
    for match in _CALLED.finditer(query):
        hidden = hidden or (match if match["hidden"] else None)
        if hidden:
            raise InputError(
                f"the query holds {hidden[0][:40]!r}; write it without comments and without"
                " Unicode escapes, and close each text"
            )
        if match["called"]:
            _check_function(match["name"])


def _check_function(name: str) -> None:
    parts = [part.strip("`") for part in re.findall(_NAME, name)]
    if len(parts) > 1 and ".".join(parts).casefold() not in _DOTTED:
        raise InputError(
            f"the query calls {'.'.join(parts)[:100]}, which is no function of Cypher's own and"
            " could do anything; write it without functions of plugins"
        )


def check_plan(kind: str, root: Mapping[str, Any]) -> None:
    """Raise `InputError` where a query would do anything but read, or read far too much.

    `kind` and `root` are what `Neo4jDatabase.explained` gives.
    """
    if kind != "r":
        raise InputError("the query would change the database; only queries that read are run")
    waiting = [root]
    while waiting:
        operator = waiting.pop()
        waiting.extend(operator.get("children", ()))
        name = str(operator.get("operatorType", "")).partition("@")[0].partition("(")[0]
        if name.removeprefix("Partitioned") not in _READS:
            raise InputError(
                f"the query would do more than read the graph ({name}); write it with MATCH, WHERE,"
                " WITH and RETURN alone"
            )
        args = operator.get("args", {})
        for match in _CALLED.finditer(str(args.get("Details", ""))):
            if match["called"]:
                _check_function(match["name"])
        rows = float(args.get("EstimatedRows", 0))
        if rows > MOST_ROWS:
            raise InputError(
                f"the query would go through about {rows:,.0f} rows ({name}), more than"
                f" {MOST_ROWS:,}; begin it from a label and a property of what is asked for"
            )
