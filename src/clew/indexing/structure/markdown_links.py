"""What notes in Markdown state: links to other documents, tags, and further names of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from clew.indexing.markdown import MEDIA_TYPE, inline_tags, links, listed, title_from_name
from clew.text import entity_key
from clew.types import AliasEvidence, Statement, Structure

if TYPE_CHECKING:
    from clew.types import Document

LINKS_TO = "links_to"
TAGGED = "tagged"
_MOST = 2_000
"""Links and tags of a document."""
_SUFFIXES = (".md", ".markdown", ".mdx")
_NO_NAMES = frozenset({"index", "readme"})
"""Names of files that say nothing of what is in them."""


def markdown_links(document: Document) -> Structure:
    """`links_to` and `tagged`, from what the document is about; its other names as aliases.

    A link states the name of a file, which is the title of what is in it unless that states one;
    therefore a document that does has its file's name for an alias.
    """
    if document.media_type != MEDIA_TYPE or not entity_key(document.title):
        return Structure()
    return Structure(
        statements=tuple(islice(_statements(document), _MOST)), aliases=tuple(_aliases(document))
    )


def _statements(document: Document) -> Iterator[Statement]:
    title, own = document.title, {entity_key(name) for name in (document.title, _stem(document))}
    for link in links(document.text):
        if entity_key(link.target) not in own | _NO_NAMES:
            yield Statement(
                head=title,
                relation_type=LINKS_TO,
                tail=link.target,
                start=link.start,
                end=link.end,
            )
    places = {tag.name: (tag.start, tag.end) for tag in reversed(list(inline_tags(document.text)))}
    for name in listed(document.metadata.get("tags")):
        start, end = places.get(name, (0, 0))
        yield Statement(
            head=title, relation_type=TAGGED, tail=name, tail_type="concept", start=start, end=end
        )


def _aliases(document: Document) -> Iterator[AliasEvidence]:
    metadata = document.metadata
    stated = [*listed(metadata.get("aliases")), *listed(metadata.get("alias"))]
    for name in stated:
        yield _alias(document, name, f"front matter of {document.title} names it")
    stem = _stem(document)
    if document.source.endswith(_SUFFIXES) and stem.casefold() not in _NO_NAMES:
        yield _alias(document, stem, f"file name of {document.title}")


def _alias(document: Document, name: str, evidence: str) -> AliasEvidence:
    return AliasEvidence(
        alias=name, name=document.title, method="exact", score=1.0, evidence=evidence
    )


def _stem(document: Document) -> str:
    return title_from_name(document.source)
