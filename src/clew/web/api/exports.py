"""A picture of the graph as a file: SVG, GraphML, JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from clew.graph.export import NOT_XML, graphml
from clew.tools.validate import complete
from clew.web.api.graph import PICTURE, edges_of, wanted
from clew.web.graph_view import places, view
from clew.web.render import environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.web.graph_view import Node, Tie, View
    from clew.web.request import PageRequest

EXPORTS = {"svg": "image/svg+xml", "graphml": "application/graphml+xml", "json": "application/json"}
"""Media types by ending."""
SIZE, MARGIN = 1000, 60
"""Of the drawing."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A node of a drawing."""

    node: Node
    x: float
    y: float
    radius: float


def export(kind: str, asked: PageRequest, given: Mapping[str, Any]) -> Response:
    """The file of the picture that the address describes."""
    asked.need("view_graph")
    seen = view(asked.engine, wanted(asked.engine, complete("graph", tuple(PICTURE), given)))
    text = {"svg": _svg, "graphml": _graphml, "json": _json}[kind](seen)
    name = f'attachment; filename="graph.{kind}"'
    return Response(text, media_type=EXPORTS[kind], headers={"Content-Disposition": name})


def drawing(seen: View) -> tuple[list[Spot], list[tuple[Tie, Spot, Spot]]]:
    """Nodes and ties with their places in a square of `SIZE`."""
    at, half = places(seen), SIZE / 2 - MARGIN
    spots = {
        node.id: Spot(
            node,
            round(SIZE / 2 + half * at[node.id][0], 1),
            round(SIZE / 2 - half * at[node.id][1], 1),
            round(4 + 10 * node.importance, 1),
        )
        for node in seen.nodes
    }
    ties = [(tie, spots[tie.source], spots[tie.target]) for tie in seen.ties]
    return list(spots.values()), ties


def _svg(seen: View) -> str:
    spots, ties = drawing(seen)
    template = environment().get_template("graph.svg.html")
    return template.render(spots=spots, ties=ties, size=SIZE).translate(NOT_XML)


def _graphml(seen: View) -> str:
    def relation(tie: Tie) -> dict[str, object]:
        return {"relation_type": tie.relation, "weight": tie.weight, "confidence": tie.confidence}

    nodes = (
        (
            f"e{node.id}",
            {
                "name": node.name,
                "entity_type": node.type,
                "salience_score": node.importance,
            },
        )
        for node in seen.nodes
    )
    edges = (
        (f"t{number}", f"e{tie.source}", f"e{tie.target}", relation(tie))
        for number, tie in enumerate(seen.ties)
    )
    return "".join(graphml(nodes, edges))


def _json(seen: View) -> str:
    nodes = [asdict(node) for node in seen.nodes]
    return json.dumps({"nodes": nodes, "edges": edges_of(seen)}, ensure_ascii=False)
