"""Real processes whose documents hang: limits, signals, kills; nothing is left running."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import clew
from clew.indexing.processes import WorkerProcess
from clew.jobs import make_runner
from clew.stores.sqlite.journal import SqliteJobs
from clew.testing.fakes import HashEmbedder
from tests.security import hostile
from tests.security.hostile import Hostile
from tests.security.test_isolation import is_running, until

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
GOOD = "# A letter\n\nAda Morn was taught by Piet Oss in the mill at Harrow Ford.\n"
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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def extractor(tmp_path: Path) -> Hostile:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text(GOOD)
    (tmp_path / "files" / "b.md").write_text(f"# B\n\n{hostile.LOOP}\n")
    (tmp_path / "files" / "c.md").write_text(GOOD)
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


def test_the_command_names_the_limit_and_spends_the_time_once(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    write_large(folder)
    (folder / "small.md").write_text(GOOD)
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
