"""All pages: where each is, and which right it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.web.pages import changing, reading
from clew.web.request import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from clew.web.request import PageRequest


def _form(path: str, run: Callable[[PageRequest], Response], right: str) -> Page:
    return Page(path=path, run=run, right=right, method="POST")


def _sends(path: str, tool: str, **how: Any) -> Page:  # noqa: ANN401 - as `changing.sends` takes it
    return _form(path, changing.sends(tool, **how), tool)


PAGES = (
    Page(path="/", run=reading.ask, right="query_documents"),
    Page(path="/suggest", run=reading.suggest, right="graph_enhanced_search"),
    Page(path="/compare", run=reading.compare, right="query_documents"),
    Page(path="/documents", run=reading.documents, right="list_documents"),
    Page(path="/documents/{document}", run=reading.document, right="get_document"),
    Page(path="/documents/{document}/versions", run=reading.versions, right="get_document"),
    Page(path="/entities", run=reading.entities, right="graph_enhanced_search"),
    Page(path="/entity", run=reading.named, right="graph_enhanced_search"),
    Page(path="/entities/{entity}", run=reading.entity, right="graph_enhanced_search"),
    Page(path="/graph", run=reading.graph, right="view_graph"),
    Page(path="/merges", run=changing.suggestions, right="suggest_merges"),
    Page(path="/communities", run=reading.communities, right="list_communities"),
    Page(path="/communities/{community}", run=reading.community, right="list_communities"),
    Page(path="/timeline", run=reading.timeline, right="entity_timeline"),
    Page(path="/statistics", run=reading.statistics, right="get_graph_statistics"),
    Page(path="/settings", run=changing.settings, right="audit"),
    Page(path="/jobs", run=changing.jobs, right="list_jobs"),
    _sends("/entities/{source_id}/merge", "merge_entities"),
    _sends("/entities/{entity_id}/split", "split_entity", ticked="names"),
    _sends("/entities/{entity_id}/edit", "edit_entity"),
    _sends("/relations", "add_entity_relationship", exact=False),
    _sends("/relations/{relation_id}/delete", "delete_relation", confirm=True),
    _sends("/merges/refuse", "refuse_merge", place="merges"),
    _sends("/documents/{document}/delete", "delete_document", place="documents", confirm=True),
    _sends("/jobs/{job_id}/cancel", "cancel_job", place="jobs"),
    _sends("/jobs/{job_id}/retry", "retry_job", place="jobs"),
    _form("/changes/{change}/undo", changing.undo, "undo_change"),
    _form("/documents", changing.upload, "ingest_document"),
    _form("/demo", changing.add_demo, "ingest_document"),
)
