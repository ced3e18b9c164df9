"""Bytes to text."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

from clew.indexing.reading.formats.common import RawFile, clean_text

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_CONTROL_SHARE = 0.02
_DAMAGED_SHARE = 0.1
_PIXMAP = "/* XPM */"
"""How X pixmaps begin, images that are written in letters."""
_SPARSE_BYTES = 8
_SPARSE_SHARE = 0.25


def decode(raw: RawFile, declared: str | None = None) -> str:
    r"""The file's text, newlines as `\n`.

    A byte order mark decides; then UTF-8 is tried, then the encoding that the file declares, then
    what charset-normalizer finds most likely. Raises `UnreadableError` with the reason "empty",
    "binary" or "undecodable".
    """
    text = clean_text(_decode(raw, declared))
    if not text.strip():
        raise raw.unreadable("empty")
    is_image = text.startswith(_PIXMAP)
    if is_image or len(_CONTROL.findall(text)) > _CONTROL_SHARE * len(text):
        raise raw.unreadable("binary")
    return text


def _decode(raw: RawFile, declared: str | None) -> str:
    for mark, encoding in _MARKS:
        if raw.data.startswith(mark):
            return _decode_marked(raw, raw.data[len(mark) :], encoding)
    if b"\x00" in raw.data:
        raise raw.unreadable("binary")
    try:
        return raw.data.decode("utf-8")
    except UnicodeDecodeError:
        return _declared(raw.data, declared) or _damaged_utf8(raw.data) or _guessed(raw)


def _decode_marked(raw: RawFile, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise raw.unreadable(f"undecodable (marked as {encoding.upper()})") from error


def _declared(data: bytes, declared: str | None) -> str:
    try:
        # "utf-8" was tried already; codecs such as "hex" make no text of bytes.
        is_other = declared is not None and codecs.lookup(declared).name != "utf-8"
        return data.decode(declared or "", "replace") if is_other else ""
    except LookupError:
        return ""


def _damaged_utf8(data: bytes) -> str:
    """The text, where all but a few bytes beyond ASCII are good UTF-8; else nothing."""
    text = data.decode("utf-8", "replace")
    beyond_ascii = sum(1 for character in text if character > "\x7f")
    return text if text.count("\ufffd") <= _DAMAGED_SHARE * beyond_ascii else ""


def _is_sparse(data: bytes) -> bool:
    """Whether too few bytes beyond ASCII are there to tell an encoding by."""
    beyond_ascii = sum(byte > 0x7F for byte in data)
    return beyond_ascii <= _SPARSE_BYTES and beyond_ascii <= _SPARSE_SHARE * len(data)


def _guessed(raw: RawFile) -> str:
    if _is_sparse(raw.data):
        with suppress(UnicodeDecodeError):
            return raw.data.decode("cp1252")  # Western European, the most common by far
    from charset_normalizer import from_bytes  # only the rare file needs it

    best = from_bytes(raw.data).best()
    if best is None:
        raise raw.unreadable("undecodable")
    return str(best)
