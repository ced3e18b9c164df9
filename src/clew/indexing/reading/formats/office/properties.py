"""What EPUB, PPTX and XLSX say of themselves: the properties in their archives."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

from lxml import etree  # type: ignore[import-untyped]

from clew.indexing.reading.formats.common import (
    TEMPLATE_AUTHORS,
    Properties,
    RawFile,
    clean_text,
    properties,
    stated_property_title,
)
from clew.text import one_line

_CONTAINER = "META-INF/container.xml"
_CORE = "docProps/core.xml"
_LARGEST = 1_000_000
"""Bytes of the part that holds the properties, at most."""
_LISTS = frozenset({"author", "subject"})
_NAMES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "description": "description",
    "keywords": "keywords",
    "publisher": "publisher",
    "language": "language",
    "date": "date",
    "created": "created_at",
    "modified": "updated_at",
}
_FAULTS = (SyntaxError, KeyError, ValueError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error)


def package_properties(raw: RawFile) -> Properties:
    """Title, authors, subjects, language and dates; nothing where they are missing or damaged.

    `raw` has passed `check_archive`.
    """
    values: dict[str, list[str]] = {}
    try:
        for name, value in _elements(raw.data):
            values.setdefault(name, []).append(value)
    except _FAULTS:
        return Properties()
    if TEMPLATE_AUTHORS.intersection(values.get("author", ())):
        values.pop("created_at", None)  # that of the library's template
        values.pop("author")
    known = {
        name: found if name in _LISTS and len(found) > 1 else found[0]
        for name, found in values.items()
    }
    title = stated_property_title(str(known.pop("title", "")))
    found = properties({**known, "title": title} if title else known)
    # The date of a book is the publisher's, that of an office document its program's.
    return found if "date" in values else replace(found, date_source="properties")


def _elements(data: bytes) -> Iterator[tuple[str, str]]:
    """(name, text) of each property, in order."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        part = _CORE
        if _CONTAINER in archive.namelist():
            container = _parsed(archive, _CONTAINER)
            paths = (str(e.get("full-path")) for e in container.iter() if e.get("full-path"))
            part = next(paths, part)
        for element in _parsed(archive, part).iter():
            name = _NAMES.get(str(element.tag).rpartition("}")[2])
            text = one_line(clean_text(element.text or ""))
            if name and text:
                yield name, text


def _parsed(archive: zipfile.ZipFile, name: str) -> etree._Element:
    """A part, no entity of which is resolved."""
    with archive.open(name) as part:
        data = part.read(_LARGEST)
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
