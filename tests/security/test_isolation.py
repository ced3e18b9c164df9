"""Reading in a process of its own: limits, faults, the same outcome."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pytest
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
    read_raw,
)
from clew.indexing.ner.pattern_extractor import PatternExtractor
from clew.indexing.processes import (
    InProcess,
    Prepare,
    Runner,
    Steps,
    WorkerPool,
    WorkerProcess,
    pack,
    unpack,
)
from clew.indexing.reading.common import RawFile
from clew.jobs import make_runner
from clew.settings import LimitSettings, ReadSettings, SplitSettings
from clew.stores.sqlite.journal import SqliteJobs
from clew.testing.fakes import HashEmbedder
from clew.types import Document, Piece
from tests.security import hostile
from tests.security.hostile import Hostile
from tests.unit.test_read_formats import pdf, saved, word

# --- Documents that take their reader along: they are refused, and everything else goes on.


PATIENCE = 60.0
GOOD = "Ada Morn was taught by Piet Oss in the mill at Harrow Ford."


@dataclass
class Bench:
    """A folder of documents, one of them hostile, and engines whose extractor obeys it."""

    folder: Path
    opened: ExitStack
    extractor: Hostile

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def write(self, name: str, text: str) -> None:
        (self.files / name).write_text(f"# Title of {name}\n\n{text}\n", "utf-8")

    def open(self, **limits: Any) -> Engine:  # noqa: ANN401
        settings = clew.load_settings(
            store=self.folder / "store", access={"roots": [self.files]}, limits=limits
        )
        engine = clew.open(settings=settings, embedder=HashEmbedder(), extractor=self.extractor)
        return self.opened.enter_context(engine)

    def kill(self, attempt: int) -> None:
        """Kill the worker of an attempt at b.md, once it reads."""
        until(lambda: self.extractor.attempts("b.md") == attempt)
        os.kill(self.extractor.processes("b.md")[-1], signal.SIGKILL)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "files").mkdir()
    with ExitStack() as opened:
        bench = Bench(tmp_path, opened, Hostile(tmp_path / "attempts.log"))
        for name in ("a.md", "c.md"):
            bench.write(name, GOOD)
        yield bench


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


QUICK = {"document_seconds": 2.0, "seconds_per_megabyte": 0.0}


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
        (hostile.LOOP, QUICK, r"within 2 s .*limits\.document_seconds = 2.*split the document"),
        (hostile.MEMORY, {"memory_megabytes": 200}, r"200 MB of memory.*limits\.memory_megabytes"),
        (hostile.NAMES, {"sentences": 4999}, r"5,000 sentences, limit 4,999; raise limits\.sent"),
        (hostile.FLOOD, {"output_megabytes": 2}, r"more than 2 MB, .*raise limits\.output_mega"),
        (hostile.ABORT, {}, r"ended 2 times \(signal 6\)"),
        (hostile.OBJECT, {}, rf"{os.name}\.mkdir is no value that a worker may send"),
        (hostile.FAULT, {}, "its reading failed .ZeroDivisionError"),
    ],
)
def test_what_is_hostile_is_refused_and_the_rest_is_stored(
    bench: Bench,
    word: str,
    limits: dict[str, float],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench.write("b.md", word)
    engine = bench.open(**limits)
    (skipped,) = engine.index([bench.files]).skipped
    assert Path(skipped.source).name == "b.md"
    assert re.search(reason, skipped.reason)
    assert ("ZeroDivisionError" in caplog.text) is (word == hostile.FAULT)
    assert not Path("taken-over").exists()
    assert names(engine) == {"a.md", "c.md"}
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


# --- not again in vain


def test_what_was_refused_is_not_read_again_until_something_changes(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    path = bench.files / "b.md"
    first = bench.open(**QUICK).index([path]).skipped
    for retry, attempts in ((False, 1), (True, 2)):
        assert bench.open(**QUICK).index([path], retry=retry).skipped == first
        assert bench.extractor.attempts("b.md") == attempts
    raised = bench.open(**{**QUICK, "document_seconds": 2.5}).index([path])
    assert "2.5 s" in raised.skipped[0].reason
    bench.write("b.md", GOOD)
    engine = bench.open(**QUICK)
    assert engine.index([path]).skipped == ()
    assert names(engine) == {"b.md"}
    bench.write("b.md", f"{GOOD} {hostile.LOOP}")
    assert len(engine.index([path]).skipped) == 1
    assert engine.documents.text("b.md").endswith(f"{GOOD}\n")  # what was stored of it stays


# --- killed from outside


@pytest.mark.parametrize(("word", "kills"), [(hostile.ONCE, 1), (hostile.LOOP, 2)])
def test_a_document_whose_worker_is_killed_is_read_once_more_and_then_refused(
    bench: Bench, threads: ThreadPoolExecutor, word: str, kills: int
) -> None:
    bench.write("b.md", word)
    engine = bench.open()
    indexing = threads.submit(engine.index, [bench.files])
    for attempt in range(kills):
        bench.kill(attempt + 1)
    skipped = indexing.result(PATIENCE).skipped
    assert ["ended 2 times (signal 9)" in one.reason for one in skipped] == [True] * (kills - 1)
    assert len(names(engine)) == 4 - kills
    assert bench.open().index([bench.files]).skipped == skipped
    assert bench.extractor.attempts("b.md") == 2


# --- who else uses the store


def test_another_run_goes_on_beside_a_document_that_hangs(
    bench: Bench, threads: ThreadPoolExecutor
) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open(document_seconds=20, seconds_per_megabyte=0)
    hanging = threads.submit(engine.index, [bench.files / "b.md"])
    until(lambda: bench.extractor.attempts("b.md") == 1)
    engine.index([bench.files / "a.md", bench.files / "c.md"])
    assert not hanging.done()
    assert names(engine) == {"a.md", "c.md"}
    bench.kill(1)
    bench.kill(2)
    assert len(hanging.result(PATIENCE).skipped) == 1


def test_closing_the_engine_ends_what_is_read(bench: Bench, threads: ThreadPoolExecutor) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open()
    reading = threads.submit(engine.index, [bench.files / "b.md"])
    until(lambda: bench.extractor.attempts("b.md") == 1)
    engine.close()
    with pytest.raises(StoreError, match="the engine is closed"):
        reading.result(PATIENCE)
    until(lambda: not any(map(is_running, bench.extractor.processes())))


# --- jobs


def test_a_job_names_the_limit_and_does_the_other_documents(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clew.jobs.AT_ONCE_SECONDS", 0.2)
    bench.write("b.md", hostile.LOOP)
    runner = make_runner(bench.open(**QUICK))
    # What takes long goes on behind a call that wants it at once.
    job = runner.submit("ingest", {"path": str(bench.files)}, description="", at_once=True)
    assert job.status == "running"
    done = runner.wait(job.id, PATIENCE)
    assert (done.status, done.completed, done.failed) == ("completed", 3, 1)
    (failure,) = runner.failures(job.id, 10)
    assert "limits.document_seconds" in failure.error


def test_a_job_that_is_cancelled_leaves_the_document_under_way(bench: Bench) -> None:
    bench.write("b.md", hostile.LOOP)
    engine = bench.open()
    runner = make_runner(engine)
    job = runner.submit("ingest", {"path": str(bench.files / "b.md")}, description="")
    until(lambda: bench.extractor.attempts("b.md") == 1)
    assert runner.cancel(job.id).status == "cancelled"
    until(lambda: not is_running(bench.extractor.processes("b.md")[0]))
    assert engine.documents.text(engine.add(GOOD)) == GOOD


# --- what a worker is believed


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
    module = ModuleType("only_here")
    kind = type("Present", (Hostile,), {"__module__": "only_here"})
    monkeypatch.setattr(module, "Present", kind, raising=False)
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
@settings(max_examples=60)
def test_texts(pool: WorkerPool, text: str, media_type: str) -> None:
    overrides = DocumentOverrides(title=text[:20], metadata={"note": text[:9]})
    check_same(
        pool, TextInput(source="text", text=text, media_type=media_type, overrides=overrides)
    )
    check_same(pool, DocumentInput(Document(source="given", text=text, title=text[:30])))


def test_documents_with_pieces(pool: WorkerPool) -> None:
    pieces = (Piece(start=0, end=20, key="a", metadata={"n": 1}), Piece(start=20, end=50, key="b"))
    document = Document(source="d", text=STORY, pieces=pieces, page_starts=(0, 40))
    check_same(pool, DocumentInput(document))
    with pytest.raises(InputError, match="expected a range within") as raised:
        list(pool.run(Prepare(input=DocumentInput(replace(document, pieces=pieces[::-1])))))
    assert type(raised.value) is InputError


def sheet(*cells: str) -> bytes:
    book = openpyxl.Workbook()
    for cell in cells:
        book.worksheets[0][cell] = "Ada Morn"
    return saved(book)


RECORDS = [{"_id": n, "text": f"{STORY[80:200]} {n}", "created": "2020-01-02"} for n in range(5)]
FILES = {
    "a.md": STORY.encode(),
    "a.rst": b"Title\n=====\n\nAda Morn works at Lorne.\n",
    "a.html": f"<html lang=en><title>T</title><body><p>{STORY}</p></body>".encode(),
    "a.csv": b"id,name,year\n1,Ada Morn,1950\n2,Piet Oss,1930\n",
    "a.jsonl": "\n".join([*map(json.dumps, RECORDS), "broken"]).encode(),
    "a.json": json.dumps({"title": "x", "nested": {"a": [1, 2.5, None, True]}}).encode(),
    "a.py": b"def mill(wheel):\n    return wheel.turn()\n\n\nclass Weir:\n    pass\n",
    "empty.md": b"",
    "binary.md": bytes(range(256)) * 20,
    "a.pdf": pdf(*(f"Ada Morn was taught by Piet Oss on page {number}." for number in (1, 2))),
    "a.docx": word(),
    "a.xlsx": sheet("A1", "B2"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(pool: WorkerPool, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    check_same(pool, FileInput(path, ReadSettings()))
    overrides = DocumentOverrides(title="Said", metadata={"n": 1})
    for data in (FILES[name], path):
        item = RawInput(
            source="s", data=data, name=name, settings=ReadSettings(), overrides=overrides
        )
        check_same(pool, item)


def test_records_that_are_known_are_left_out(pool: WorkerPool, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(FILES["a.jsonl"])
    item = FileInput(path, ReadSettings())
    every = item.read(STEPS.limits, {}).documents
    known = {document.source: document.sha256 for document in every[1:]}
    contents, *prepared = pool.run(Prepare(input=item, known=known))
    assert contents.sources == tuple(document.source for document in every)  # type: ignore[union-attr]
    expected = STEPS.prepare(every[0]).document  # its language is told from its text
    assert [one.document for one in prepared] == [expected]  # type: ignore[union-attr]


# --- what unfolds to more than its size says


def rewritten(data: bytes, name: str, after: bytes, more: bytes) -> bytes:
    """An office file with more in one of its parts."""
    file = io.BytesIO()
    with ZipFile(io.BytesIO(data)) as source, ZipFile(file, "w", ZIP_DEFLATED) as target:
        for member in source.namelist():
            content = source.read(member)
            added = content.replace(after, after + more, 1) if member == name else content
            target.writestr(member, added)
    return file.getvalue()


def many_members() -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for number in range(10_001):
            archive.writestr(f"{number}.txt", b"")
    return file.getvalue()


ROWS = f'<row r="1">{"<c/>" * 3000}</row><row r="1048576"><c/></row>'.encode()
UNFOLDING: dict[str, tuple[Callable[[], bytes], str]] = {
    "a.xlsx": (lambda: sheet("A1", "XFD1048576"), "cells"),
    "b.xlsx": (
        lambda: rewritten(sheet("A1"), "xl/worksheets/sheet1.xml", b"<sheetData>", ROWS),
        "cells",
    ),
    "a.docx": (
        lambda: rewritten(word(), "word/document.xml", b"<w:body>", b"<w:p/>" * 100_001),
        "elements",
    ),
    "a.pptx": (many_members, "members"),
    "a.csv": (lambda: b"a,b\n" + b"1,\n" * 50_001, "cells"),
}


@pytest.mark.parametrize("name", UNFOLDING)
def test_what_unfolds_is_counted_first(name: str) -> None:
    make, limit = UNFOLDING[name]
    limits = LimitSettings(cells=100_000, elements=100_000)
    raw = RawFile(source=name, data=make(), settings=ReadSettings(), name=name, limits=limits)
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


# --- Real processes whose documents hang: limits, signals, kills; nothing is left running.


ROOT = Path(__file__).parents[2]
LETTER = "# A letter\n\nAda Morn was taught by Piet Oss in the mill at Harrow Ford.\n"
LARGE = 20_000_000
"""Bytes of a text that takes far longer to read than any of these tests."""
HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
)
OPEN = """
import sys, pathlib, clew
from clew.jobs import make_runner
from clew.testing.fakes import HashEmbedder
from tests.security.hostile import Hostile
from tests.security.test_isolation import is_running, until
folder, seconds, *rest = sys.argv[1:]
folder = pathlib.Path(folder)
limits = {"document_seconds": float(seconds), "seconds_per_megabyte": 0}
settings = clew.load_settings(
    store=folder / "store", access={"roots": [folder]}, limits=limits
)
extractor = Hostile(folder / "attempts.log")
engine = clew.open(settings=settings, embedder=HashEmbedder(), extractor=extractor)
"""
INDEX = (
    OPEN
    + """
with engine:
    print(len(engine.index([folder / "files"]).skipped))
"""
)
WORK = (
    OPEN
    + """
with engine:
    runner = make_runner(engine, lease_seconds=0.5)
    runner.start()
    for job in rest:
        assert runner.wait(job, 60).ended
"""
)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def extractor(tmp_path: Path) -> Hostile:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text(LETTER)
    (tmp_path / "files" / "b.md").write_text(f"# B\n\n{hostile.LOOP}\n")
    (tmp_path / "files" / "c.md").write_text(LETTER)
    return Hostile(tmp_path / "attempts.log")


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(process: int) -> list[int]:
    """Processes that it started."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for children in found for child in children.read_text().split()]


def seconds_of(process: int) -> float:
    """Time on the processor."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_reading(process: int) -> bool:
    """Whether it has a worker that has long started."""
    return any(seconds_of(worker) > 2 for worker in workers_of(process) if is_running(worker))


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_parent_that_ends_leaves_no_worker_and_a_sound_store(
    tmp_path: Path, extractor: Hostile, number: signal.Signals
) -> None:
    with start(INDEX, tmp_path, 100) as process:
        until(lambda: extractor.attempts("b.md") == 1)
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode != 0
    # In the middle of an expression, while it holds the interpreter's lock.
    until(lambda: not any(map(is_running, extractor.processes())))
    with clew.open(tmp_path / "store", embedder=HashEmbedder()) as engine:
        assert engine.maintenance.check().problems == ()


@on_linux
def test_a_job_whose_process_was_killed_ends_at_the_limit_and_is_not_run_again(
    tmp_path: Path, extractor: Hostile
) -> None:
    settings = clew.load_settings(store=tmp_path / "store", access={"roots": [tmp_path]})
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        given = {"path": str(tmp_path / "files")}
        job = SqliteJobs(engine.state.journal).submit("ingest", given, description="")[0].id
    with start(WORK, tmp_path, 100, job) as process:
        until(lambda: extractor.attempts("b.md") == 1)
        process.kill()
    for _ in range(2):  # the second finds nothing to do
        with start(WORK, tmp_path, 2, job) as process:
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, (out, err)
        assert extractor.attempts("b.md") == 2
    with clew.open(settings=settings, embedder=HashEmbedder()) as engine:
        runner = make_runner(engine)
        done, (failure,) = runner.job(job), runner.failures(job, 10)
        assert (done.status, done.completed, done.failed) == ("completed", 3, 1)
        assert failure.name.endswith("b.md")
        assert "limits.document_seconds = 2" in failure.error
        assert len(engine.documents.list()) == 2


# --- the command line as it is


def write_large(folder: Path) -> None:
    line = "Ada Morn was taught by Piet Oss; she works at the Lorne Estate in Harrow Ford. "
    (folder / "large.md").write_text(line * (LARGE // len(line)))


def clew_command(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "clew", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@on_linux
def test_the_command_names_the_limit_and_spends_the_time_once(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    write_large(folder)
    (folder / "small.md").write_text(LETTER)
    limits = {"CLEW_LIMITS__DOCUMENT_SECONDS": "2", "CLEW_LIMITS__SECONDS_PER_MEGABYTE": "0"}
    reports = []
    for retry in ([], [], ["--retry"]):
        command = ["index", folder, "--store", tmp_path / "store", "--json", *retry]
        with clew_command(*command, **limits) as process:
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, err
        assert re.search("limits.document_seconds = 2.*raise .*seconds or split the document", out)
        reports.append(json.loads(out))
    assert [report["added"] for report in reports] == [1, 0, 0]
    # What is not read takes no time: the limit was two seconds.
    assert [report["seconds"] < 2 for report in reports] == [False, True, False]


# --- a server


@on_linux
def test_a_server_ends_at_once_while_a_document_is_read(tmp_path: Path) -> None:
    write_large(tmp_path)
    root = {"CLEW_ACCESS__ROOTS": f'["{tmp_path}"]'}
    settings = clew.load_settings(store=tmp_path / "store", access={"roots": [tmp_path]})
    with clew.open(settings=settings) as engine:
        given = {"path": str(tmp_path / "large.md")}
        SqliteJobs(engine.state.journal).submit("ingest", given, description="")
    with clew_command("mcp", "--store", tmp_path / "store", **root) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert '"serverInfo"' in process.stdout.readline()
        until(lambda: is_reading(process.pid))
        workers = workers_of(process.pid)
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert time.monotonic() - started < 5
    until(lambda: not any(map(is_running, workers)))
    with clew.open(settings=settings) as engine:
        (job,) = SqliteJobs(engine.state.journal).jobs()
        assert (job.status, job.attempts) == ("queued", 0)


@on_linux
def test_a_worker_is_told_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "CLEW_LLM_API_KEY", "CLEW_NEO4J__PASSWORD", "AWS_SECRET", "X"):
        monkeypatch.setenv(name, "hunter2")
    with closing(WorkerProcess(b"")) as worker:
        # Empty until the last step of exec.
        environment = Path(f"/proc/{worker._process.pid}/environ")
        until(environment.read_bytes)
        told = environment.read_text()
    assert "PATH=" in told
    assert "hunter2" not in told
    assert re.findall(r"(?:^|\0)(CLEW\w*|\w*(?:KEY|TOKEN)\w*)=", told) == ["TOKENIZERS_PARALLELISM"]
