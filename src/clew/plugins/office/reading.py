"""Slides, spreadsheets, mail and e-books through markitdown, an optional dependency."""

from __future__ import annotations

import re
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from clew.indexing.reading.common import (
    Properties,
    RawFile,
    ReadResult,
    clean_text,
    joined,
    media_type_of,
    stated_property_title,
)
from clew.indexing.reading.word import OLE_MAGIC, check_archive, package_properties

if TYPE_CHECKING:
    from markitdown import MarkItDown, StreamInfo


_SLIDE = re.compile(r"<!-- Slide number: \d+ -->\n")
_OLE_SUFFIXES = frozenset({".xls", ".msg"})


def read_office(raw: RawFile) -> ReadResult:
    """The file as Markdown; slides are pages."""
    if raw.suffix not in _OLE_SUFFIXES:
        check_archive(raw)
    elif not raw.data.startswith(OLE_MAGIC):
        raise raw.unreadable(f"malformed {raw.suffix} file")
    from markitdown import MarkItDownException, MissingDependencyException, StreamInfo

    # Markdown and title.
    try:
        result = _converter().convert_stream(
            BytesIO(raw.data), stream_info=StreamInfo(extension=raw.suffix)
        )
    except MissingDependencyException as error:
        raise raw.unreadable("needs pip install 'clew[office]'") from error
    except MarkItDownException as error:
        raise raw.unreadable(f"malformed {raw.suffix} file") from error
    markdown, title = result.markdown, result.title or ""
    text, page_starts = clean_text(markdown), tuple[int, ...]()
    if _SLIDE.match(text.lstrip()):
        # Without the marks between slides, and with the offset of each slide.
        slides = [slide.strip() for slide in _SLIDE.split(text)[1:]]
        text, starts = joined(slides, "\n\n")
        page_starts = tuple(starts)
    known = Properties() if raw.suffix in _OLE_SUFFIXES else package_properties(raw)
    document = known.document(
        raw.source,
        text,
        media_type_of(raw.suffix),
        title=stated_property_title(clean_text(title)),
        page_starts=page_starts,
    )
    return ReadResult(documents=(document,))


@lru_cache(maxsize=1)
def _converter() -> MarkItDown:
    """A markitdown that knows these formats alone: no fallback to text, no audio, no network."""
    from markitdown import DocumentConverterResult, MarkItDown, converters

    class Part(converters.HtmlConverter):
        """Of books, each of whose parts is read once, however often its order names it."""

        def __init__(self) -> None:
            super().__init__()
            self._seen: set[str] = set()

        def convert(
            self, file_stream: BinaryIO, stream_info: StreamInfo, **options: object
        ) -> DocumentConverterResult:
            if file_stream.name in self._seen:
                return DocumentConverterResult(markdown="")
            self._seen.add(file_stream.name)
            return super().convert(file_stream, stream_info, **options)

    class Book(converters.EpubConverter):
        def convert(
            self, file_stream: BinaryIO, stream_info: StreamInfo, **options: object
        ) -> DocumentConverterResult:
            book = converters.EpubConverter()  # type: ignore[no-untyped-call]
            book._html_converter = Part()
            return book.convert(file_stream, stream_info, **options)

    converter = MarkItDown(enable_builtins=False, enable_plugins=False)
    for kind in (
        converters.PptxConverter,
        converters.XlsxConverter,
        converters.XlsConverter,
        converters.OutlookMsgConverter,
        Book,
    ):
        converter.register_converter(kind())
    return converter
