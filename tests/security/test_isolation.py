"""Reading in a process of its own: limits, faults, the same outcome."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pytest
from fpdf import FPDF
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.engine import Engine
from clew.errors import ClewError, InputError, LimitError, StoreError, UnreadableError
from clew.indexing.inputs import (
    DocumentInput,
    DocumentOverrides,
    FileInput,
    Input,
    RawInput,
    TextInput,
)
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.processes import (
    InProcess,
    Prepare,
    Runner,
    Steps,
    WorkerPool,
    pack,
    unpack,
)
from clew.indexing.reading.formats.common import RawFile
from clew.indexing.reading.reader import read_raw
from clew.jobs.runner import make_runner
from clew.settings import LimitSettings, ReadSettings, SplitSettings
from clew.testing.fakes import HashEmbedder
from clew.types import Document, Piece
from tests.security import hostile
from tests.security.hostile import Hostile

# --- Documents that take their reader along: they are refused, and everything else goes on.


PATIENCE = 60.0
GOOD = "Ada Morn was taught by Piet Oss in the mill at Harrow Ford."


class Bench:
    """A folder of documents, one of them hostile, and engines whose extractor obeys it."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store"
        self.files = folder / "files"
        self.files.mkdir()
        self.extractor = Hostile(folder / "attempts.log")
        self._opened: list[Engine] = []

    def write(self, name: str, text: str) -> None:
        (self.files / name).write_text(f"# Title of {name}\n\n{text}\n", "utf-8")

    def open(self, **limits: Any) -> Engine:  # noqa: ANN401
        settings = clew.load_settings(
            store=self.store, access={"roots": [self.files]}, limits=limits
        )
        engine = clew.open(settings=settings, embedder=HashEmbedder(), extractor=self.extractor)
        self._opened.append(engine)
        return engine

    def close(self) -> None:
        for engine in self._opened:
            engine.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    for name in ("a.md", "c.md"):
        bench.write(name, GOOD)
    yield bench
    bench.close()


QUICK = {"document_seconds": 1.0, "seconds_per_megabyte": 0.0}


def names(engine: Engine) -> set[str]:
    return {Path(document.source).name for document in engine.documents.list()}


def is_running(process: int) -> bool:
    """Whether it runs: one that ended and waits for its parent to notice does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text("ascii")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


# --- each limit


@pytest.mark.parametrize(
    ("word", "limits", "reason"),
    [
        (hostile.LOOP, QUICK, r"within 1 s .*limits\.document_seconds = 1.*split the document"),
        (hostile.MEMORY, {"memory_megabytes": 200}, r"200 MB of memory.*limits\.memory_megabytes"),
        (hostile.NAMES, {"sentences": 4999}, r"5,000 sentences, limit 4,999; raise limits\.sent"),
        (hostile.FLOOD, {"output_megabytes": 2}, r"more than 2 MB, .*raise limits\.output_mega"),
        (hostile.ABORT, {}, r"ended 2 times \(signal 6\)"),
    ],
)
def test_what_exceeds_a_limit_is_refused_and_the_rest_is_stored(
    bench: Bench, word: str, limits: dict[str, float], reason: str
) -> None:
    bench.write("b.md", word)
    engine = bench.open(**limits)

    report = engine.index([bench.files])

    assert names(engine) == {"a.md", "c.md"}
    (skipped,) = report.skipped
    assert Path(skipped.source).name == "b.md"
    with pytest.raises(LimitError, match=reason):
        raise LimitError(skipped.source, skipped.reason)
    assert engine.maintenance.check().problems == ()


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"characters": 100}, r"characters, limit 100; raise limits\.characters"),
        ({"chunks": 2}, r"chunks, limit 2; raise limits\.chunks"),
        ({"names": 10}, r"names, limit 10; raise limits\.names"),
    ],
)
def test_limits_of_output_hold_for_any_document(
    bench: Bench, limits: dict[str, int], reason: str
) -> None:
    text = " ".join(f"Ada Morn{n} was taught by Piet Oss{n} in Harrow Ford." for n in range(200))
    with pytest.raises(UnreadableError, match=reason):
        bench.open(**limits).add(text)


def test_a_fault_of_the_extractor_costs_that_document_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.write("b.md", hostile.FAULT)
    engine = bench.open()
    report = engine.index([bench.files])
    assert names(engine) == {"a.md", "c.md"}
    assert [skipped.reason for skipped in report.skipped] == [
        "failed inside Clew; the log says why"
    ]
    assert "ZeroDivisionError: a fault of the extractor" in caplog.text


# --- not again in vain


def test_what_was_refused_is_not_read_again_until_something_changes(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    first = bench.open(**QUICK).index([bench.files])
    assert bench.extractor.attempts("b.md") == 1

    again = bench.open(**QUICK).index([bench.files])
    assert again.skipped == first.skipped
    assert bench.extractor.attempts("b.md") == 1

    assert bench.open(**QUICK).index([bench.files], retry=True).skipped == first.skipped
    assert bench.extractor.attempts("b.md") == 2

    raised = bench.open(document_seconds=1.5, seconds_per_megabyte=0).index([bench.files])
    assert "1.5 s" in raised.skipped[0].reason
    assert bench.extractor.attempts("b.md") == 3

    bench.write("b.md", GOOD)
    engine = bench.open(**QUICK)
    assert engine.index([bench.files]).skipped == ()
    assert names(engine) == {"a.md", "b.md", "c.md"}


def test_what_was_stored_of_a_document_stays(bench: Bench) -> None:
    bench.write("b.md", GOOD)
    engine = bench.open(**QUICK)
    engine.index([bench.files])
    bench.write("b.md", f"{GOOD} {hostile.LOOP}")
    assert len(engine.index([bench.files]).skipped) == 1
    assert engine.documents.text("b.md").endswith(f"{GOOD}\n")


# --- killed from outside


def test_a_document_whose_worker_is_killed_is_read_once_more(bench: Bench) -> None:
    bench.write("b.md", hostile.ONCE)
    engine = bench.open()

    def kill_first() -> None:
        until(lambda: bench.extractor.attempts("b.md") == 1)
        os.kill(bench.extractor.processes("b.md")[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_first)
    killer.start()
    report = engine.index([bench.files])
    killer.join()
    assert report.skipped == ()
    assert report.added == 3
    assert bench.extractor.attempts("b.md") == 2


def test_a_document_whose_worker_is_killed_twice_is_refused(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open()

    def kill_all() -> None:
        for attempt in (1, 2):
            until(lambda attempt=attempt: bench.extractor.attempts("b.md") == attempt)  # type: ignore[misc]
            os.kill(bench.extractor.processes("b.md")[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    (skipped,) = engine.index([bench.files]).skipped
    killer.join()
    assert "ended 2 times (signal 9)" in skipped.reason
    assert names(engine) == {"a.md", "c.md"}
    assert bench.open().index([bench.files]).skipped == (skipped,)
    assert bench.extractor.attempts("b.md") == 2


# --- who else uses the store


def test_another_run_goes_on_beside_a_document_that_hangs(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open(document_seconds=20, seconds_per_megabyte=0)
    reports: list[clew.IndexReport] = []
    hanging = threading.Thread(target=lambda: reports.append(engine.index([bench.files / "b.md"])))
    hanging.start()
    until(lambda: bench.extractor.attempts("b.md") == 1)

    engine.index([bench.files / "a.md", bench.files / "c.md"])

    assert hanging.is_alive()
    assert names(engine) == {"a.md", "c.md"}
    os.kill(bench.extractor.processes("b.md")[0], signal.SIGKILL)
    until(lambda: bench.extractor.attempts("b.md") == 2)
    os.kill(bench.extractor.processes("b.md")[1], signal.SIGKILL)
    hanging.join()
    assert len(reports[0].skipped) == 1


def test_closing_the_engine_ends_what_is_read(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open()
    failures: list[Exception] = []

    def index() -> None:
        try:
            engine.index([bench.files / "b.md"])
        except StoreError as error:
            failures.append(error)

    reading = threading.Thread(target=index)
    reading.start()
    until(lambda: bench.extractor.attempts("b.md") == 1)
    engine.close()
    reading.join(PATIENCE)
    assert not reading.is_alive()
    assert "the engine is closed" in str(failures[0])
    until(lambda: not any(map(is_running, bench.extractor.processes())))


# --- jobs


def test_a_job_ends_with_the_limits_name_and_does_the_other_documents(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    runner = make_runner(bench.open(**QUICK))
    job = runner.submit("ingest", {"path": str(bench.files)}, description="")
    done = runner.wait(job.id, PATIENCE)
    assert (done.status, done.completed, done.failed) == ("completed", 3, 1)
    (failure,) = runner.failures(job.id, 10)
    assert "limits.document_seconds" in failure.error

    # Asked for once more, and by another process: the time is not spent again.
    other = make_runner(bench.open(**QUICK))
    job = other.submit("ingest", {"path": str(bench.files / "b.md")}, description="")
    done = other.wait(job.id, PATIENCE)
    assert done.status == "failed"
    assert done.error == failure.error
    assert bench.extractor.attempts("b.md") == 1


def test_a_job_that_is_cancelled_leaves_the_document_under_way(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open()
    runner = make_runner(engine)
    job = runner.submit("ingest", {"path": str(bench.files / "b.md")}, description="")
    until(lambda: bench.extractor.attempts("b.md") == 1)
    assert runner.cancel(job.id).status == "cancelled"
    until(lambda: not is_running(bench.extractor.processes("b.md")[0]))
    assert engine.documents.text(engine.add(GOOD)) == GOOD


def test_what_takes_long_goes_on_behind_a_call_that_wants_it_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.jobs.runner.AT_ONCE_SECONDS", 0.2)
    engine = bench.open(document_seconds=3, seconds_per_megabyte=0)
    runner = make_runner(engine)
    job = runner.submit("ingest", {"text": hostile.LOOP}, description="", at_once=True)
    assert job.status == "running"
    done = runner.wait(job.id, PATIENCE)
    assert done.status == "failed"
    assert "limits.document_seconds" in done.error


# --- what a worker is believed


def test_an_object_that_is_no_value_is_refused(bench: Bench) -> None:
    bench.write("b.md", hostile.OBJECT)
    engine = bench.open()
    (skipped,) = engine.index([bench.files]).skipped
    assert f"{os.name}.mkdir is no value that a worker may send" in skipped.reason
    assert names(engine) == {"a.md", "c.md"}
    assert not Path("taken-over").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"garbage", pickle.dumps(("item", os.system)), pickle.dumps(7), pack("item")[:-3]],
)
def test_garbage_is_no_message(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="what was found is no plain value"):
        unpack(data, "letter.md")


# --- what cannot be sent to another process


def test_an_extractor_that_only_this_process_has_runs_here(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys
    import types

    module = types.ModuleType("only_here")
    kind = type("Present", (Hostile,), {"__module__": "only_here"})
    module.Present = kind  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "only_here", module)
    extractor = kind(tmp_path / "log")
    with clew.open(tmp_path / "s", embedder=HashEmbedder(), extractor=extractor) as engine:
        engine.add(GOOD)
        engine.add(f"{GOOD} Twice.")
    assert set(extractor.processes()) == {os.getpid()}
    assert caplog.text.count("No module named 'only_here'") == 1


# --- What comes out of a worker is what this process would have made of the same input.


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
@settings(max_examples=80)
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
