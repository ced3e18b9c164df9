"""A picture of the graph as a file: GraphML, JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from clew.graph.export import graphml
from clew.tools.validate import complete
from clew.web.api.graph import PICTURE, edges_of, wanted
from clew.web.graph_view import view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.web.graph_view import Tie, View
    from clew.web.request import PageRequest

EXPORTS = {"graphml": "application/graphml+xml", "json": "application/json"}
"""Media types by ending."""


def export(kind: str, asked: PageRequest, given: Mapping[str, Any]) -> Response:
    """The file of the picture that the address describes."""
    asked.need("view_graph")
    seen = view(asked.engine, wanted(asked.engine, complete("graph", tuple(PICTURE), given)))
    text = {"graphml": _graphml, "json": _json}[kind](seen)
    name = f'attachment; filename="graph.{kind}"'
    return Response(text, media_type=EXPORTS[kind], headers={"Content-Disposition": name})


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
