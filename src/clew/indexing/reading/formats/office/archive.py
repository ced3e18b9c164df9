"""Office files are ZIP archives: what they unfold to is counted before anything unfolds them."""

from __future__ import annotations

import re
import zipfile
import zlib
from io import BytesIO
from typing import IO
from xml.parsers import expat

from clew.indexing.reading.formats.common import RawFile, check_limit

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of the container that Office used before ZIP."""

_UNPACKED_FACTOR = 10
_XML_SUFFIXES = (".xml", ".rels", ".xhtml", ".html", ".opf", ".ncx")
_BLOCK = 1 << 16
_ROW = re.compile(r"[0-9]{1,7}", re.ASCII)
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})", re.ASCII)
_FAULTS = (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, RuntimeError, OSError)


def check_archive(raw: RawFile) -> None:
    """Raise `UnreadableError` unless the file is a ZIP archive that unfolds to a bearable size.

    Bytes, parts, XML elements, and the cells between the first and the last of a sheet are
    counted; what has more than its limit raises `LimitError`.
    """
    if raw.data.startswith(
        OLE_MAGIC
    ):  # Office wraps a file with a password into its older container
        raise raw.unreadable("encrypted")
    try:
        with zipfile.ZipFile(BytesIO(raw.data)) as archive:
            members = archive.infolist()
            check_limit(raw.limits, "members", len(members), raw.source)
            unpacked = sum(member.file_size for member in members)
            limit = raw.settings.max_megabytes * _UNPACKED_FACTOR
            if unpacked > limit * 1_000_000:
                raise raw.unreadable(f"unpacks to more than {limit:g} MB")
            count = _Count(raw)
            for member in members:
                if member.filename.lower().endswith(_XML_SUFFIXES):
                    with archive.open(member) as part:
                        count.read(part)
    except _FAULTS as error:
        raise raw.unreadable("malformed (not a ZIP archive)") from error


class _Count:
    """Counts the XML elements of a file's parts, and the cells that each spans, as they stream."""

    def __init__(self, raw: RawFile) -> None:
        self._raw = raw
        self._elements = 0

    def read(self, part: IO[bytes]) -> None:
        """Count one part; what is no XML is left to its reader."""
        self._rows = self._columns = self._row = self._column = 0
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._element
        try:
            while block := part.read(_BLOCK):
                parser.Parse(block, False)
        except expat.ExpatError:
            return

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        raw = self._raw
        self._elements += 1
        check_limit(raw.limits, "elements", self._elements, raw.source)
        kind = name.rpartition(":")[2]
        if kind == "row":
            row = attributes.get("r", "")
            self._row = int(row) if _ROW.fullmatch(row) else self._row + 1
            self._column = 0
        elif kind == "c":
            cell = _CELL.fullmatch(attributes.get("r", ""))
            self._row = int(cell[2]) if cell else self._row
            self._column = _column(cell[1]) if cell else self._column + 1
            self._rows = max(self._rows, self._row)
            self._columns = max(self._columns, self._column)
            check_limit(raw.limits, "cells", self._rows * self._columns, raw.source)


def _column(letters: str) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
