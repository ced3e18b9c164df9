"""Documents that take their reader along: they are refused, and everything else goes on."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.engine import Engine
from clew.errors import LimitError, StoreError, UnreadableError
from clew.indexing.isolation.worker import pack, unpack
from clew.jobs.runner import make_runner
from clew.testing.fakes import HashEmbedder
from clew.types import Document
from tests.security import hostile
from tests.security.hostile import Hostile

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


def until(condition: Callable[[], bool]) -> None:
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


def test_a_text_that_exceeds_a_limit_is_an_error(bench: Bench) -> None:
    engine = bench.open(**QUICK)
    with pytest.raises(UnreadableError, match=r"limits\.document_seconds"):
        engine.add(f"The word is {hostile.LOOP}.")
    assert engine.documents.text(engine.add(GOOD)) == GOOD


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


def test_an_idle_worker_that_was_killed_is_replaced(bench: Bench) -> None:
    engine = bench.open()
    engine.add(GOOD, source="one")
    os.kill(bench.extractor.processes("one")[0], signal.SIGKILL)
    engine.add(f"{GOOD} Twice.", source="two")
    first, second = bench.extractor.processes()
    assert first != second
    assert len(engine.documents.list()) == 2


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


def test_closing_an_engine_leaves_no_worker(bench: Bench) -> None:
    bench.open().index([bench.files])
    (worker,) = set(bench.extractor.processes())
    assert is_running(worker)
    bench.close()
    assert not is_running(worker)


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


def test_an_extractor_that_cannot_be_sent_runs_here_and_a_note_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Local(Hostile):
        """Of a function, so that no other process can import it."""

    extractor = Local(tmp_path / "log")
    with clew.open(tmp_path / "s", embedder=HashEmbedder(), extractor=extractor) as engine:
        engine.add(GOOD)
    assert extractor.processes() == [os.getpid()]
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert "'Local' cannot be used in another" in record.getMessage()


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


def test_a_document_of_the_caller_comes_back_as_it_was_given(bench: Bench) -> None:
    document = Document(source="given", text=GOOD, metadata={"year": 1999, "tags": ["a", None]})
    engine = bench.open()
    engine.add_documents([document])
    (info,) = engine.documents.list()
    assert info.metadata == document.metadata
