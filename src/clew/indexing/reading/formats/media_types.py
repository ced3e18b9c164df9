"""Media types by the ending of a file's name."""

from __future__ import annotations

from clew.hookspecs import listed

_OWN = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdx": "text/markdown",
    ".qmd": "text/markdown",
    ".rmd": "text/markdown",
    ".rst": "text/x-rst",
    ".rest": "text/x-rst",
    ".pod": "text/x-pod",
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".org": "text/org",
    ".tex": "text/x-tex",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ndjson": "application/jsonl",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".eml": "message/rfc822",
    ".mbox": "application/mbox",
    ".mbx": "application/mbox",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".docm": "application/vnd.ms-word.document.macroenabled.12",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xls": "application/vnd.ms-excel",
    ".msg": "application/vnd.ms-outlook",
    ".epub": "application/epub+zip",
    ".zip": "application/zip",
}

UNKNOWN = "text/plain"
"""The media type of files whose ending says nothing."""


def media_type_of(suffix: str) -> str:
    """The media type of files that end so (lower case, with the dot), plugins' among them."""
    known = (kind.endings[suffix] for kind in listed("kinds") if suffix in kind.endings)
    return _OWN.get(suffix) or next(known, UNKNOWN)


def suffix_of(media_type: str) -> str:
    """The first ending of files of that media type; empty where none is known."""
    tables = (_OWN, *(kind.endings for kind in listed("kinds")))
    return next((end for table in tables for end, one in table.items() if one == media_type), "")
