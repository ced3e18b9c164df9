"""What can be read by address (documents, entities, collections, schema, counts), and its names."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Completion, Resource, ResourceTemplate

from clew.errors import NotFoundError
from clew.mcp.auth.permissions import COMPLETED, may_read
from clew.text import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.mcp.auth.permissions import What
    from clew.mcp.request_context import RequestScope
    from clew.types import DocumentInfo


JSON = "application/json"
PAGE = 100
"""Documents a page of the list."""
CHARACTERS = 20_000
"""Of a document's text at a time: some 5,000 tokens."""
RELATIONS = 50
"""Of an entity, at most."""

FIXED = (
    Resource(
        uri="clew://statistics",
        name="statistics",
        title="Statistics",
        description="How many documents, passages, entities and relations there are.",
        mime_type=JSON,
    ),
    Resource(
        uri="clew://schema",
        name="schema",
        title="Schema",
        description="The types of relations, with counts, and the fields of what is stored.",
        mime_type=JSON,
    ),
    Resource(
        uri="clew://collections",
        name="collections",
        title="Collections",
        description="Your collections, with the counts of each.",
        mime_type=JSON,
    ),
)
TEMPLATES = (
    ResourceTemplate(
        uri_template="clew://documents/{document}{?offset}",
        name="document",
        title="Document",
        description=f"A document by id or source: {CHARACTERS:,} characters from offset (0) on.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        uri_template="clew://entities/{entity}",
        name="entity",
        title="Entity",
        description=f"An entity by name or id, its names and up to {RELATIONS} relations.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        uri_template="clew://collections/{collection}",
        name="collection",
        title="Collection",
        description="One of your collections: its counts and settings.",
        mime_type=JSON,
    ),
)


def resources(scope: RequestScope, cursor: str | None) -> tuple[list[Resource], str | None]:
    """A page of the list, and the cursor of the next one; documents by source."""
    documents = documents_of(scope)
    after = [document for document in documents if cursor is None or document.source > cursor]
    page = [
        Resource(
            uri=document_uri(document.id),
            name=document.source,
            title=document.title or None,
            mime_type=JSON,
        )
        for document in after[:PAGE]
    ]
    further = after[PAGE - 1].source if len(after) > PAGE else None
    fixed = [resource for resource in FIXED if _may_read(scope, resource.uri)]
    return ([*fixed, *page] if cursor is None else page), further


def templates(scope: RequestScope) -> list[ResourceTemplate]:
    """Templates of the addresses that the caller may read."""
    return [template for template in TEMPLATES if _may_read(scope, template.uri_template)]


def documents_of(scope: RequestScope) -> list[DocumentInfo]:
    """The documents of which the caller may know."""
    if not may_read(scope.caller, "sources"):
        return []
    with scope.acquire() as opened:
        return opened.engine.documents.list()


def _may_read(scope: RequestScope, uri: str) -> bool:
    return any(may_read(scope.caller, what) for what in _READERS if what == urlsplit(uri).netloc)


def document_uri(document: str, offset: int = 0) -> str:
    """The address of a document, or of its text from an offset on."""
    query = f"?offset={offset}" if offset else ""
    return f"clew://documents/{quote(document, safe='')}{query}"


def read(scope: RequestScope, uri: str) -> str:
    """What is at an address, as JSON text.

    Raises `ResourceNotFoundError` where there is nothing, or nothing of the caller's.
    """
    try:
        parts = urlsplit(uri)
        name = unquote(parts.path.removeprefix("/"))
        what = next(w for w in _READERS if (parts.scheme, parts.netloc) == ("clew", w))
        if not may_read(scope.caller, what):
            raise NotFoundError(f"{what} are not among what this token is for")
        found = _READERS[what](scope, name, parts.query)
    except (NotFoundError, StopIteration, ValueError) as error:
        raise _nothing(uri) from error
    return json.dumps(found, ensure_ascii=False, default=_plain)


def _document(scope: RequestScope, name: str, query: str) -> dict[str, Any]:
    with scope.acquire() as opened:
        document = opened.engine.documents.get(name)
        text = opened.engine.documents.text(document.id)
    start = _offset(query)
    end = min(start + CHARACTERS, len(text))
    return {
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "metadata": document.metadata,
        "characters": len(text),
        "offset": start,
        "text": text[start:end],
        "next": document_uri(document.id, end) if end < len(text) else None,
    }


def _offset(query: str) -> int:
    given = parse_qs(query).get("offset", ["0"])[-1]
    offset = whole_number(given)
    if offset is None:
        raise NotFoundError(f"no text at offset {given!r}; expected a whole number from 0")
    return offset


def _entity(scope: RequestScope, name: str, _: str) -> dict[str, Any]:
    with scope.acquire() as opened:
        engine = opened.engine
        entity = engine.entities.get(name)
        relations = engine.graph.relations(name, RELATIONS)
        aliases = engine.entities.aliases(name)
    return {
        **dataclasses.asdict(entity),
        "aliases": [alias.name for alias in aliases],
        "relations": [dataclasses.asdict(relation) for relation in relations],
    }


def _collections(scope: RequestScope, name: str, _: str) -> dict[str, Any]:
    if not name:
        return {"collections": [_counts(scope, namespace) for namespace in visible(scope)]}
    if name not in visible(scope):
        raise NotFoundError(f"no collection {name!r}")
    with scope.engines.acquire(name) as opened:
        settings = opened.engine.settings.model_dump(
            mode="json", include={"split", "embed", "link", "search"}
        )
    return {**_counts(scope, name), "settings": settings}


def visible(scope: RequestScope) -> tuple[str, ...]:
    """Names of the collections that the reader may see."""
    return scope.caller.namespaces or (scope.namespace,)


def _counts(scope: RequestScope, namespace: str) -> dict[str, Any]:
    with scope.engines.acquire(namespace) as opened:
        stats = opened.engine.maintenance.stats()
    counted = ("documents", "chunks", "entities", "relations")
    return {"name": namespace, **{name: stats[name] for name in counted}}


def _statistics(scope: RequestScope, _name: str, _query: str) -> dict[str, Any]:
    with scope.acquire() as opened:
        return opened.engine.maintenance.stats()


def _schema(scope: RequestScope, _name: str, _query: str) -> dict[str, Any]:
    from clew.types import DocumentInfo, Entity, Relation

    with scope.acquire() as opened:
        relation_types = opened.engine.maintenance.stats()["relation_types"]
    kinds = {"document": DocumentInfo, "entity": Entity, "relation": Relation}
    fields = {name: [f.name for f in dataclasses.fields(kind)] for name, kind in kinds.items()}
    return {"relation_types": relation_types, "fields": fields}


_READERS: dict[What, Callable[[RequestScope, str, str], dict[str, Any]]] = {
    "documents": _document,
    "entities": _entity,
    "collections": _collections,
    "statistics": _statistics,
    "schema": _schema,
}


def _nothing(uri: str) -> ResourceNotFoundError:
    return ResourceNotFoundError(
        f"nothing at {uri!r}; resources/list and resources/templates/list show what there is"
    )


def _plain(value: object) -> str:
    return str(value)


# --- completion: names that an argument may take ------------------------------------------

MOST_NAMES = 100
"""Names of one answer, as the protocol has it."""


def complete(scope: RequestScope, argument: str, begun: str) -> Completion:
    """The names that fit what was typed, best first."""
    found = _names(scope, argument, begun)
    return Completion(values=found[:MOST_NAMES], has_more=len(found) > MOST_NAMES)


def _names(scope: RequestScope, argument: str, begun: str) -> list[str]:
    what = COMPLETED.get(argument)
    if what is None or not may_read(scope.caller, what):
        return []
    if what == "collections":
        return [name for name in visible(scope) if name.startswith(begun)]
    with scope.acquire() as opened:
        if what == "entities":
            return [
                entity.name for entity in opened.engine.store.find_entities(begun, MOST_NAMES + 1)
            ]
        wanted = begun.casefold()
        documents = opened.engine.documents.list()
        return [d.source for d in documents if wanted in f"{d.source}\n{d.title}".casefold()]
