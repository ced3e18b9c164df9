"""Putting the graph right: each change through its tool, each page then offers the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from clew.errors import InputError
from clew.web.pages.changes import changes, last
from clew.web.render import render_page

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.web.request import PageRequest

PAIRS = 50
"""Suggestions shown."""


def merge(page: PageRequest) -> Response:
    """Make the entity of the address one with another; from then on that one is shown."""
    source = page.id("entity")
    target = page.engine.entities.named(page.sent("target"))
    page.call("merge_entities", source_id=source, target_id=target.id)
    return _back(page, target.id, "merge_entities")


def split(page: PageRequest) -> Response:
    """Take the ticked names out."""
    names = [] if page.form is None else [str(v) for v in page.form.getlist("names")]
    if not names:
        raise InputError("no name is ticked; go back and tick those that are another's")
    done = page.call("split_entity", entity_id=page.id("entity"), names=names)
    return _back(page, done["new_entity_id"], "split_entity")


def rename(page: PageRequest) -> Response:
    """Show it under another name."""
    entity = page.id("entity")
    page.call("rename_entity", entity_id=entity, name=page.sent("name"))
    return _back(page, entity, "rename_entity")


def retype(page: PageRequest) -> Response:
    """Say what it is."""
    entity = page.id("entity")
    page.call("retype_entity", entity_id=entity, entity_type=page.sent("entity_type"))
    return _back(page, entity, "retype_entity")


def delete_relation(page: PageRequest) -> Response:
    """Take a relation back, with all that states it."""
    page.call("delete_relation", relation_id=page.id("relation"), confirm=True)
    return _back(page, _entity(page), "delete_relation")


def state_relation(page: PageRequest) -> Response:
    """State a relation by hand: a new one, one that texts state, or one that was deleted."""
    page.call(
        "add_entity_relationship",
        source_id=page.sent("source_id"),
        target_id=page.engine.entities.get(page.sent("target")).id,
        relation_type=page.sent("relation_type"),
    )
    return _back(page, _entity(page), "add_entity_relationship")


def suggestions(page: PageRequest) -> Response:
    """Pairs that may be one."""
    found = page.call("suggest_merges", limit=PAIRS)["suggestions"]
    return render_page(
        page,
        "merges.html",
        suggestions=found,
        refused=[change for change in changes(page) if change.tool == "refuse_merge"],
    )


def refuse(page: PageRequest) -> Response:
    """Keep a pair apart."""
    ids = {name: page.sent(name) for name in ("entity_id", "other_id")}
    page.call("refuse_merge", **ids)
    return RedirectResponse(page.url("merges"), 303)


def _entity(page: PageRequest) -> int:
    """The entity whose page the form was on."""
    return page.engine.entities.get(page.sent("entity")).id


def _back(page: PageRequest, entity: int, tool: str) -> Response:
    """To the entity's page, which says what was done and offers to undo it."""
    return RedirectResponse(page.url(f"entities/{entity}", change=last(page, tool)), 303)
