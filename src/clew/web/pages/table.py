"""All pages: where each is, and which right it takes."""

from __future__ import annotations

from clew.web.pages import ask, documents, entities, graph
from clew.web.request import Page

PAGES = (
    Page(path="/", run=ask.ask, right="query_documents"),
    Page(path="/suggest", run=ask.suggest, right="graph_enhanced_search"),
    Page(path="/compare", run=ask.compare, right="query_documents"),
    Page(path="/documents", run=documents.documents, right="list_documents"),
    Page(path="/documents/{document}", run=documents.document, right="get_document"),
    Page(path="/entities", run=entities.entities, right="graph_enhanced_search"),
    Page(path="/entity", run=entities.named, right="graph_enhanced_search"),
    Page(path="/entities/{entity:int}", run=entities.entity, right="graph_enhanced_search"),
    Page(path="/graph", run=graph.graph, right="view_graph"),
)
