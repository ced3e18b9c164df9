"""The graph: a picture that begins from a question, an entity or a community, and its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clew.errors import NotFoundError
from clew.text import whole_number
from clew.tools.validate import complete
from clew.web.api.graph import PICTURE, wanted
from clew.web.graph_view import view
from clew.web.pages.entities import most_important
from clew.web.passages import name_ids
from clew.web.render import render_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from clew.types import RelationEvidence
    from clew.web.graph_view import View
    from clew.web.request import PageRequest

LISTED = 200
"""Entities and ties of the tables beside the picture."""
COMMUNITIES = 12
"""Communities of the picture to keep or leave out, at most."""
LEVELS = 30
"""Communities offered to begin from."""


def graph(page: PageRequest) -> Response:
    """The picture of the address with its tables, or where to begin."""
    asked = _asked(page)
    given = {parameter.name: asked.get(parameter.name) for parameter in PICTURE}
    if not any(asked.get(name) for name in ("question", "entities", "alone", "community")):
        return render_page(page, "graph.html", seen=None, given=given, **_beginnings(page))
    arguments = complete("graph", tuple(PICTURE), asked)
    seen = view(page.engine, wanted(page.engine, arguments))
    state = page.engine.state
    names = {node.id: node.name for node in seen.nodes}
    paths, notes = _paths(page)
    return render_page(
        page,
        "graph.html",
        seen=seen,
        asked=asked,
        given=given,
        names=names,
        listed=LISTED,
        paths=paths,
        path_ids=name_ids(page.engine, (step.name for path in paths for step in path)),
        path_notes=notes,
        ends=(whole_number(page.text("from")), whole_number(page.text("to"))),
        community=_titles(page, [asked["community"]] if "community" in asked else [])[:1],
        communities=_titles(page, seen.communities[:COMMUNITIES]),
        current=state.kept_communities.generation() == state.store.generation(),
        file=lambda kind: page.url(f"/api/v1/graph.{kind}", **asked),
        data=page.url("/api/v1/graph", **asked),
        summary=_summary(seen),
    )


def _asked(page: PageRequest) -> dict[str, Any]:
    """What the address says of the picture; a name is as good as an id."""
    found: dict[str, Any] = {}
    for parameter in PICTURE:
        values = [v.strip() for v in page.query.getlist(parameter.name) if v.strip()]
        if not values:
            continue
        if parameter.name == "communities":
            found[parameter.name] = values
        elif parameter.kind == "integers":
            found[parameter.name] = [page.engine.entities.get(value).id for value in values]
        else:
            found[parameter.name] = values if parameter.kind == "strings" else values[-1]
    return found


def _beginnings(page: PageRequest) -> dict[str, Any]:
    """Entities and communities to begin from."""
    engine = page.engine
    if not engine.store.document_digests():
        return {"documents": 0, "examples": [], "communities": []}
    return {
        "documents": 1,
        "examples": most_important(page, 12),
        "communities": engine.graph.communities(0, LEVELS) if page.may("list_communities") else [],
    }


def _titles(page: PageRequest, communities: Sequence[object]) -> list[tuple[int, str]]:
    """Ids and titles of the communities that there are, in order."""
    if not page.may("list_communities"):
        return []
    ids = [number for one in communities if (number := whole_number(str(one))) is not None]
    return [(c.id, c.title) for c in page.engine.state.kept_communities.communities(ids=ids)]


@dataclass(frozen=True, slots=True)
class Step:
    """An entity of a path, and the tie that leads on from it; None behind the last."""

    name: str
    tie: RelationEvidence | None = None
    reversed: bool = False
    """Whether the tie is stated of the next entity, and of this one as its object."""


def steps(start: str, path: Sequence[RelationEvidence]) -> list[Step]:
    """The entities of a path from its start on, whichever way round each tie is stated."""
    found, at = [], start
    for tie in path:
        found.append(Step(at, tie, tie.head != at))
        at = tie.tail if tie.head == at else tie.head
    return [*found, Step(at)]


def _paths(page: PageRequest) -> tuple[list[list[Step]], list[str]]:
    """The paths between the two entities that were picked."""
    ends = page.text("from"), page.text("to")
    if not all(ends) or ends[0] == ends[1]:
        return [], []
    page.need("find_paths")
    try:
        found, notes = page.engine.graph.paths(*ends, max_hops=5, limit=3)
    except NotFoundError as error:
        return [], [str(error)]
    start = page.engine.entities.get(ends[0]).name
    paths = [steps(start, path) for path in found]
    return paths, list(notes) if paths else [*notes, "no path of at most 5 steps ties the two"]


def _summary(seen: View) -> str:
    """What the picture shows, for those who cannot see it."""
    return (
        f"{len(seen.nodes)} entities and {len(seen.ties)} ties between them; the tables list them"
    )
