"""Answers from a graph that Clew did not make, and what a database holds, on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from clew.cli.render import ENTITY, FAINT, INDENT, marked
from clew.cli.tables import table
from clew.text import one_line, terms

if TYPE_CHECKING:
    from clew.attach.answer import GraphAnswer, GraphHit
    from clew.attach.cypher import CypherAnswer
    from clew.attach.schema import GraphSchema, PropertyInfo


def print_answer(console: Console, answer: GraphAnswer) -> None:
    """Print the passages, best first, each with its scores and the path that leads to it."""
    asked = frozenset(terms(answer.question))
    if answer.seeds:
        console.print(Text(f"from {one_line(', '.join(answer.seeds))}", style=FAINT))
        console.print()
    for number, hit in enumerate(answer.hits, start=1):
        console.print(_heading(number, hit))
        _print_indented(console, Text.assemble(*marked(hit.text.strip(), asked)))
        channels = [f"{name} {value:.3f}" for name, value in hit.scores.items()]
        _print_indented(console, Text(" · ".join([f"score {hit.score:.4f}", *channels]), FAINT))
        if hit.path:
            _print_indented(console, _path(hit, f"[{number}]"))
        console.print()


def print_rows(console: Console, answer: CypherAnswer) -> None:
    """Print the query and what it found, a line a row."""
    if answer.query:
        console.print(Text(answer.query, style=FAINT))
        for name, value in answer.parameters.items():
            console.print(Text(f"  ${one_line(name)} = {value!r}", style=FAINT))
        console.print()
    if answer.rows:
        columns = tuple(one_line(name) for name in answer.columns)
        console.print(table(columns, [[_cell(value) for value in row] for row in answer.rows]))


def _cell(value: object) -> str:
    if isinstance(value, str):
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False))


def _heading(number: int, hit: GraphHit) -> Text:
    """`[1] Title, source, id`, of which each that is unknown is left out."""
    known = [one_line(name) for name in (hit.title, hit.source, hit.id) if name]
    first, *rest = dict.fromkeys(known)
    return Text.assemble((f"[{number}] {first}", "bold"), (", ".join(["", *rest]), FAINT))


def _path(hit: GraphHit, end: str) -> Text:
    """`Ada Morn —WORKS_FOR→ Vell Trust ←MENTIONS— [1]`."""
    line = Text()
    for step in hit.path:
        line.append(one_line(step.entity), style=ENTITY)
        tie = one_line(step.type)
        line.append(f" —{tie}→ " if step.forward else f" ←{tie}— ")
    return line.append(end, style="bold")


def _print_indented(console: Console, text: Text) -> None:
    """Print a text, every line of it indented; lines are folded on a terminal alone."""
    folded = text.split() if console.soft_wrap else text.wrap(console, console.width - len(INDENT))
    for line in folded:
        line.rstrip()
        console.print(Text.assemble(INDENT, line), soft_wrap=True)


def print_schema(console: Console, schema: GraphSchema) -> None:
    """Print tables of labels, of relationship types and of indexes."""
    labels = [(label.name, label.count, _properties(label.properties)) for label in schema.labels]
    console.print(table(("label", "nodes", "properties"), labels))
    types = [
        (
            type_.name,
            type_.count,
            ", ".join(f"{start} to {end}" for start, end in type_.ends),
            _properties(type_.properties),
        )
        for type_ in schema.types
    ]
    if types:
        console.print()
        console.print(table(("type", "relationships", "between", "properties"), types))
    indexes = [
        (
            index.name,
            index.kind if index.online else f"{index.kind}, not online",
            ", ".join(index.labels),
            ", ".join(index.properties),
            "" if index.dimension is None else index.dimension,
            index.similarity,
        )
        for index in schema.indexes
    ]
    if indexes:
        console.print()
        columns = ("index", "kind", "labels", "properties", "dimensions", "similarity")
        console.print(table(columns, indexes))


def _properties(properties: Iterable[PropertyInfo]) -> str:
    return ", ".join(f"{p.name} ({' or '.join(p.types)})" for p in properties)
