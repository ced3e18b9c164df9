"""All pages: where each is, and which right it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.web.pages import changing as changes
from clew.web.pages import changing as corrections
from clew.web.pages import changing as jobs
from clew.web.pages import changing as settings
from clew.web.pages import reading as ask
from clew.web.pages import reading as documents
from clew.web.pages import reading as entities
from clew.web.pages import reading as graph
from clew.web.pages import reading as overview
from clew.web.request import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from clew.web.request import PageRequest


def _form(path: str, run: Callable[[PageRequest], Response], right: str) -> Page:
    return Page(path=path, run=run, right=right, method="POST")


PAGES = (
    Page(path="/", run=ask.ask, right="query_documents"),
    Page(path="/suggest", run=ask.suggest, right="graph_enhanced_search"),
    Page(path="/compare", run=ask.compare, right="query_documents"),
    Page(path="/documents", run=documents.documents, right="list_documents"),
    Page(path="/documents/{document}", run=documents.document, right="get_document"),
    Page(path="/documents/{document}/versions", run=documents.versions, right="get_document"),
    Page(path="/entities", run=entities.entities, right="graph_enhanced_search"),
    Page(path="/entity", run=entities.named, right="graph_enhanced_search"),
    Page(path="/entities/{entity}", run=entities.entity, right="graph_enhanced_search"),
    Page(path="/graph", run=graph.graph, right="view_graph"),
    Page(path="/merges", run=corrections.suggestions, right="suggest_merges"),
    Page(path="/communities", run=overview.communities, right="list_communities"),
    Page(path="/communities/{community}", run=overview.community, right="list_communities"),
    Page(path="/timeline", run=overview.timeline, right="entity_timeline"),
    Page(path="/statistics", run=overview.statistics, right="get_graph_statistics"),
    Page(path="/settings", run=settings.settings, right="audit"),
    Page(path="/jobs", run=jobs.jobs, right="list_jobs"),
    _form("/entities/{entity}/merge", corrections.merge, "merge_entities"),
    _form("/entities/{entity}/split", corrections.split, "split_entity"),
    _form("/entities/{entity}/rename", corrections.rename, "rename_entity"),
    _form("/entities/{entity}/retype", corrections.retype, "retype_entity"),
    _form("/relations", corrections.state_relation, "add_entity_relationship"),
    _form("/relations/{relation}/delete", corrections.delete_relation, "delete_relation"),
    _form("/merges/refuse", corrections.refuse, "refuse_merge"),
    _form("/changes/{change}/undo", changes.undo, "undo_change"),
    _form("/documents", jobs.upload, "ingest_document"),
    _form("/documents/{document}/delete", jobs.delete, "delete_document"),
    _form("/jobs/{job}/cancel", jobs.cancel, "cancel_job"),
    _form("/jobs/{job}/retry", jobs.retry, "retry_job"),
    _form("/demo", jobs.add_demo, "ingest_document"),
)
