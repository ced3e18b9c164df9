"""Putting the graph right: each change through its tool, each page then offers the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from clew.errors import InputError
from clew.web.render import render_page

if TYPE_CHECKING:
    from starlette.responses import Response

    from clew.web.request import PageRequest

PAIRS = 50
"""Suggestions shown."""


def merge(page: PageRequest) -> Response:
    """Make the entity of the address one with another; from then on that one is shown."""
    source = page.id("entity")
    target = page.engine.entities.get(page.sent("target"))
    done = page.call("merge_entities", source_id=source, target_id=target.id)
    return _back(page, target.id, done="merged", names=done["names"])


def split(page: PageRequest) -> Response:
    """Take the ticked names out."""
    names = [] if page.form is None else [str(v) for v in page.form.getlist("names")]
    if not names:
        raise InputError("no name is ticked; go back and tick those that are another's")
    done = page.call("split_entity", entity_id=page.id("entity"), names=names)
    return _back(page, done["new_entity_id"], done="split", other=done["entity_id"])


def rename(page: PageRequest) -> Response:
    """Show it under another name."""
    entity = page.id("entity")
    done = page.call("rename_entity", entity_id=entity, name=page.sent("name"))
    return _back(page, entity, done="renamed", before=done["before"])


def retype(page: PageRequest) -> Response:
    """Say what it is."""
    entity = page.id("entity")
    done = page.call("retype_entity", entity_id=entity, entity_type=page.sent("entity_type"))
    return _back(page, entity, done="retyped", before=done["before"])


def delete_relation(page: PageRequest) -> Response:
    """Take a relation back, with all that states it."""
    wanted = page.id("relation")
    known = page.engine.store.relations_by_id([wanted])
    page.call("delete_relation", relation_id=wanted, confirm=True)
    fact = {"one": known[0].from_entity_id, "other": known[0].to_entity_id} if known else {}
    said = known[0].relation_type if known else ""
    return _back(page, _entity(page), done="deleted", relation=said, **fact)


def state_relation(page: PageRequest) -> Response:
    """State a relation by hand: a new one, one that texts state, or one that was deleted."""
    page.call(
        "add_entity_relationship",
        source_id=page.sent("source_id"),
        target_id=page.engine.entities.get(page.sent("target")).id,
        relation_type=page.sent("relation_type"),
    )
    return _back(page, _entity(page), done="stated")


def suggestions(page: PageRequest) -> Response:
    """Pairs that may be one."""
    found = page.call("suggest_merges", limit=PAIRS)["suggestions"]
    return render_page(page, "merges.html", suggestions=found)


def refuse(page: PageRequest) -> Response:
    """Keep a pair apart."""
    ids = {name: page.sent(name) for name in ("entity_id", "other_id")}
    page.call("refuse_merge", **ids)
    return RedirectResponse(page.url("merges"), 303)


def _entity(page: PageRequest) -> int:
    """The entity whose page the form was on."""
    return page.engine.entities.get(page.sent("entity")).id


def _back(page: PageRequest, entity: int, **done: object) -> Response:
    """To the entity's page, which says what was done and offers to undo it."""
    return RedirectResponse(page.url(f"entities/{entity}", **done), 303)
