"""The script that runs Neo4j, as a person runs it: real processes, a real server."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError

from tests.neo4j_server import SCRIPT, check_server, free_port, neo4j_script

PASSWORD = "correct-horse"


@pytest.fixture(scope="module")
def _fetched() -> None:
    check_server(neo4j_script("fetch"))


@pytest.fixture
def home(tmp_path: Path, _fetched: None) -> Iterator[Path]:
    """A folder for a server, which is stopped in the end whatever becomes of the test."""
    folder = tmp_path / "home"
    yield folder
    neo4j_script("stop", "--home", folder)


def answer(port: int, query: str, password: str = "") -> object:
    login = ("neo4j", password) if password else None
    address = f"neo4j://127.0.0.1:{port}"
    with GraphDatabase.driver(address, auth=login) as driver, driver.session() as session:
        return session.run(query).single(strict=True)[0]


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_is_started_stopped_and_run_and_keeps_its_password_and_data(home: Path) -> None:
    port = free_port()
    options = ("--home", home, "--port", port)
    with_password = (*options, "--password", PASSWORD)

    started = neo4j_script("start", *with_password)
    assert started.returncode == 0, started.stderr
    again = neo4j_script("start", *with_password)
    elsewhere = neo4j_script("start", "--home", home, "--port", port + 1)
    running = neo4j_script("status", "--home", home)
    edition = answer(port, "CALL dbms.components() YIELD edition", PASSWORD)
    with pytest.raises(AuthError):
        answer(port, "RETURN 1")
    answer(port, "CREATE (n:Kept {value: 42}) RETURN n.value", PASSWORD)
    files = [home / "server.json", home / "console.log", home / "conf" / "neo4j.conf"]
    written = "".join(file.read_text("utf-8") for file in files)
    stopped, gone = neo4j_script("stop", "--home", home), is_listening(port)
    stopped_again = neo4j_script("stop", "--home", home)
    status = neo4j_script("status", "--home", home)
    wrong = neo4j_script("start", *options, "--password", "another-horse")
    command = [sys.executable, "-u", str(SCRIPT), "run", *map(str, with_password)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        kept = answer(port, "MATCH (n:Kept) RETURN n.value", PASSWORD)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)

    assert edition == "community"
    assert (again.returncode, again.stdout.startswith("running already")) == (0, True)
    assert elsewhere.returncode == 1
    assert f"127.0.0.1:{port}; stop it first" in elsewhere.stderr
    assert (running.returncode, running.stdout) == (0, f"running at bolt://127.0.0.1:{port}\n")
    assert (stopped.returncode, stopped.stdout, gone) == (0, "stopped\n", False)
    assert (stopped_again.returncode, stopped_again.stdout) == (0, "was not running\n")
    assert (status.returncode, status.stdout) == (1, "not running\n")
    assert wrong.stderr == "Error: the server's home was made with another password\n"
    assert PASSWORD not in written
    assert "is running at" in line
    assert (kept, process.returncode, is_listening(port)) == (42, 0, False)


def test_taken_port_is_named(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = neo4j_script("start", "--home", home, "--port", port)

    assert done.returncode == 1
    assert done.stderr == f"Error: port {port} is taken; choose another with --port\n"


def test_another_process_is_never_stopped(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        (tmp_path / "server.json").write_text(json.dumps({"pid": other.pid, "port": 7687}))
        done = neo4j_script("stop", "--home", tmp_path)
        time.sleep(0.2)
        alive = other.poll() is None
        other.kill()

    assert alive
    assert done.stdout == "was not running\n"


@pytest.mark.parametrize(
    ("version", "action", "said"),
    [
        ("11.0.2", "start", "Java 11, and the server needs 17 or later; install Java 17 or 21"),
        ("17.0.15", "fetch", "no Maven found; install it (Debian: apt-get install maven)"),
    ],
)
def test_what_the_server_needs_is_named(
    tmp_path: Path, version: str, action: str, said: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    home = ("--home", tmp_path / "home") if action == "start" else ()
    done = neo4j_script(
        action, *home, PATH=str(folder), JAVA_HOME="", CI="", XDG_CACHE_HOME=str(tmp_path)
    )

    assert done.returncode == 1
    assert said in done.stderr
