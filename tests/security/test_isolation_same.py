"""What comes out of a worker is what this process would have made of the same input."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docx
import openpyxl
import pytest
from fpdf import FPDF
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import ClewError, InputError, LimitError, UnreadableError
from clew.indexing.inputs import (
    DocumentInput,
    DocumentOverrides,
    FileInput,
    Input,
    RawInput,
    TextInput,
)
from clew.indexing.isolation.pool import WorkerPool
from clew.indexing.isolation.worker import Extract, InProcess, Prepare, Runner, Steps
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.reading.formats.common import RawFile
from clew.indexing.reading.reader import read_raw
from clew.settings import LimitSettings, ReadSettings, SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.types import Document, Piece

STEPS = Steps(
    tokens=HashEmbedder(),
    extractor=PatternExtractor(),
    split_settings=SplitSettings(chunk_tokens=40, section_tokens=120),
    limits=LimitSettings(),
)
STORY = (
    "---\ntitle: The Mill\nyear: 1999\ndate: 2021-03-04\n---\n# The Mill\n\nAda Morn, born in 1950,"
    " was taught by Piet Oss. She works at the Lorne Estate (LE) since 2 May 2017.\n\n"
    + "The LE owns the mill. 東京は日本の首都です。 Яна Морн живёт в Москве.\n\n"
    * 30
)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(STEPS, lambda: None)
    yield pool
    pool.close()


def check_same(pool: WorkerPool, item: Input) -> None:
    """Documents, chunks, names, relations and times are the same, or the error is."""
    request = Prepare(input=item)
    assert outcome(pool, request) == outcome(InProcess(STEPS), request)


def outcome(runner: Runner, request: Prepare) -> object:
    """What comes of it, or the error that does."""
    try:
        return list(runner.run(request))
    except ClewError as error:
        return type(error), str(error)


TEXTS = st.text(st.characters(codec=None)) | st.lists(
    st.sampled_from([*STORY.split(), "# ", "\n\n", "- ", "|", "\r\n", "\x00", "\ud800", "﷽", "🧶"])
).map(" ".join)


@given(TEXTS, st.sampled_from(["text/plain", "text/markdown", "text/x-rst", "text/html"]))
@settings(max_examples=300)
def test_texts(pool: WorkerPool, text: str, media_type: str) -> None:
    overrides = DocumentOverrides(title=text[:20], metadata={"note": text[:9]})
    check_same(
        pool, TextInput(source="text", text=text, media_type=media_type, overrides=overrides)
    )
    document = Document(source="given", text=text, title=text[:30])
    check_same(pool, DocumentInput(document))


def test_documents_with_pieces(pool: WorkerPool) -> None:
    pieces = (Piece(start=0, end=20, key="a", metadata={"n": 1}), Piece(start=20, end=50, key="b"))
    document = Document(source="d", text=STORY, pieces=pieces, page_starts=(0, 40))
    check_same(pool, DocumentInput(document))
    with pytest.raises(InputError, match="expected a range within") as raised:
        list(pool.run(Prepare(input=DocumentInput(replace(document, pieces=pieces[::-1])))))
    assert type(raised.value) is InputError


def files() -> Iterator[tuple[str, bytes]]:
    records = [
        {"_id": n, "text": f"{STORY[80:200]} {n}", "created": "2020-01-02"} for n in range(5)
    ]
    yield "a.md", STORY.encode()
    yield "a.rst", b"Title\n=====\n\nAda Morn works at Lorne.\n"
    yield "a.html", f"<html lang=en><title>T</title><body><p>{STORY}</p></body>".encode()
    yield "a.csv", b"id,name,year\n1,Ada Morn,1950\n2,Piet Oss,1930\n"
    yield "a.jsonl", "\n".join([*map(json.dumps, records), "broken"]).encode()
    yield "a.json", json.dumps({"title": "x", "nested": {"a": [1, 2.5, None, True]}}).encode()
    yield "a.py", b"def mill(wheel):\n    return wheel.turn()\n\n\nclass Weir:\n    pass\n"
    yield "empty.md", b""
    yield "binary.md", bytes(range(256)) * 20
    pdf = FPDF()
    pdf.set_font("helvetica")
    for number in (1, 2):
        pdf.add_page()
        pdf.write(text=f"Ada Morn was taught by Piet Oss on page {number}.")
    yield "a.pdf", bytes(pdf.output())
    word, sheet = docx.Document(), openpyxl.Workbook()
    word.add_heading("The Mill")
    word.add_paragraph("Ada Morn works at the Lorne Estate.")
    yield "a.docx", saved(word)
    active = sheet.active
    assert active is not None
    active.append(["name", "year"])
    active.append(["Ada Morn", 1950])
    yield "a.xlsx", saved(sheet)


def saved(made: object) -> bytes:
    file = io.BytesIO()
    made.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


@pytest.mark.parametrize(("name", "data"), [pytest.param(*f, id=f[0]) for f in files()])
def test_files(pool: WorkerPool, tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    check_same(pool, FileInput(path, ReadSettings()))
    overrides = DocumentOverrides(title="Said", metadata={"n": 1})
    for given_data in (data, path):
        raw = RawInput(
            source="s", data=given_data, name=name, settings=ReadSettings(), overrides=overrides
        )
        check_same(pool, raw)


def test_files_that_are_not_there(pool: WorkerPool, tmp_path: Path) -> None:
    check_same(pool, FileInput(tmp_path / "none.md", ReadSettings()))


@pytest.mark.parametrize("strategy", ["recursive", "semantic", "page", "code", "fixed"])
def test_strategies(strategy: str) -> None:
    chosen = SplitSettings(strategy=strategy, chunk_tokens=40, section_tokens=120)  # type: ignore[arg-type]
    steps = replace(STEPS, split_settings=chosen)
    request = Prepare(input=TextInput(source="t", text=STORY, media_type="text/markdown"))
    pool = WorkerPool(steps, lambda: None)
    try:
        assert list(pool.run(request)) == list(InProcess(steps).run(request))
    finally:
        pool.close()


def test_extraction_alone(pool: WorkerPool) -> None:
    document = Document(source="d", text=STORY)
    chunks = STEPS.prepare(document).split.chunks
    request = Extract(document=document, chunks=chunks)
    assert list(pool.run(request)) == list(InProcess(STEPS).run(request))


def test_records_that_are_known_are_left_out(pool: WorkerPool, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(dict(files())["a.jsonl"])
    item = FileInput(path, ReadSettings())
    every = item.read(STEPS.limits, {}).documents
    known = {document.source: document.sha256 for document in every[1:]}
    contents, *prepared = pool.run(Prepare(input=item, known=known))
    assert contents.sources == tuple(document.source for document in every)  # type: ignore[union-attr]
    expected = STEPS.prepare(every[0]).document  # its language is told from its text
    assert [one.document for one in prepared] == [expected]  # type: ignore[union-attr]


# --- what unfolds to more than its size says


def bomb_sheet(*cells: str) -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    for cell in cells:
        book.active[cell] = "x"
    return saved(book)


def bomb_sheet_without_references() -> bytes:
    rows = f'<row r="1">{"<c/>" * 3000}</row><row r="1048576"><c/></row>'
    return rewritten(bomb_sheet("A1"), "xl/worksheets/sheet1.xml", b"<sheetData>", rows.encode())


def bomb_paragraphs() -> bytes:
    word = docx.Document()
    return rewritten(saved(word), "word/document.xml", b"<w:body>", b"<w:p/>" * 3_000_000)


def bomb_members() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(10_001):
            archive.writestr(f"{number}.txt", b"")
    return file.getvalue()


def rewritten(data: bytes, name: str, after: bytes, more: bytes) -> bytes:
    """An office file with more in one of its parts."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for member in source.namelist():
            content = source.read(member)
            if member == name:
                assert after in content
                content = content.replace(after, after + more, 1)
            target.writestr(member, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "make", "limit"),
    [
        ("a.xlsx", lambda: bomb_sheet("A1", "XFD1048576"), "cells"),
        ("b.xlsx", bomb_sheet_without_references, "cells"),
        ("a.docx", bomb_paragraphs, "elements"),
        ("a.pptx", bomb_members, "members"),
        ("a.csv", lambda: b"a,b\n" + b"1,\n" * 2_500_001, "cells"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_unfolds_is_counted_first(name: str, make: object, limit: str) -> None:
    assert callable(make)
    raw = RawFile(source=name, data=make(), settings=ReadSettings(), name=name)
    with pytest.raises(LimitError, match=rf"raise limits\.{limit} or split the document"):
        read_raw(raw)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", b"+++\n" + b".".join([b"a"] * 45_000) + b" = 1\n+++\ntext\n"),
        ("lists.html", b"<ul><li>x" * 20_000),
        ("quotations.html", b"<blockquote>x" * 14_000),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_depth_does_not_multiply(name: str, data: bytes) -> None:
    raw = RawFile(source=name, data=data, settings=ReadSettings(), name=name)
    (document,) = read_raw(raw).documents
    assert len(document.text) < 6 * len(data)
    assert document.text.count("x") == data.count(b"x")


def test_a_file_that_is_no_archive_says_so() -> None:
    raw = RawFile(source="a.docx", data=b"PK\x03\x04junk", settings=ReadSettings(), name="a.docx")
    with pytest.raises(UnreadableError, match="not a ZIP archive"):
        read_raw(raw)
