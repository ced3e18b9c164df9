"""Files that tests write, and what is read of them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from clew.indexing.inputs import read_file
from clew.indexing.reading.common import ReadResult
from clew.settings import ReadSettings
from clew.types import Document

SETTINGS = ReadSettings()


def write(root: Path, *names: str, text: str = "text") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(path: Path, content: object, settings: ReadSettings = SETTINGS) -> ReadResult:
    """A file of these bytes, of this text, or of the JSON of anything else."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, (str, bytes)) else json.dumps(content)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_file(path, settings)


def read_one(path: Path, content: object) -> Document:
    result = read(path, content)
    assert result.skipped == ()
    (document,) = result.documents
    return document


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
