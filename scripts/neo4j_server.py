"""Run a Neo4j server for tests and for trying things out, without Docker.

    uv run python scripts/neo4j_server.py start      in the background; says its address
    uv run python scripts/neo4j_server.py status     exits with 1 where it is not running
    uv run python scripts/neo4j_server.py stop
    uv run python scripts/neo4j_server.py run        in the foreground, until Ctrl-C
    uv run python scripts/neo4j_server.py fetch      only download what the others need

The Community server comes from Maven Central as jars, once, and stays in the user's cache. It needs
Java 17 or 21 and, for the download alone, Maven. Bolt listens on 127.0.0.1 and nowhere else;
nobody has to log in unless `--password` is given.

`--apoc` adds APOC core and `--gds` the open part of the Graph Data Science library. Maven Central
has neither as the one jar that others install: both are put together here from their parts. What
is missing: APOC's export to Arrow and to object stores, and of Graph Data Science whatever is
closed (more than four threads, backups, Arrow). Maven Central has no APOC newer than 5.26.19; it
goes with every 5.26.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

VERSION = "5.26.30"
"""The newest patch of the long-term release 5.26."""
CACHE = user_cache_path("clew") / f"neo4j-{VERSION}"
DEFAULT_HOME = user_cache_path("clew") / "neo4j-home"
DEFAULT_PORT = 7687
START_SECONDS = 180.0
"""Some four seconds are usual; a machine that is busy with other things takes long."""
STOP_SECONDS = 30.0
LOG_LINES = 15

SERVER = (f"org.neo4j:neo4j:{VERSION}",)
PLUGINS = {
    "apoc": ("org.neo4j.procedure:apoc-core:5.26.19", "org.neo4j.procedure:apoc-common:5.26.19"),
    "gds": ("org.neo4j.gds:proc:2.13.9", "org.neo4j.gds:opengds-extension:2.13.9"),
}
"""Artifacts by the name that their procedures begin with."""
PLUGIN_JARS = ("org.neo4j.procedure.*.jar", "org.neo4j.gds.*.jar")
"""What holds procedures; all else that plugins need lies beside the server's own jars."""
# The server's own start script opens these packages of Java to it.
OPENED = ("java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch")


class ServerError(Exception):
    """What went wrong and what to do about it, for a person."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that was started from a home folder."""

    pid: int
    port: int

    @property
    def address(self) -> str:
        """What clients connect to."""
        return f"bolt://127.0.0.1:{self.port}"


# --- what has to be there ----------------------------------------------------------------


def provide(plugins: Iterable[str] = ()) -> tuple[str, Path]:
    """Java and the folder of jars that it is to run; raises `ServerError` where one is missing."""
    install_maven_in_ci()
    return find_java(), fetch(plugins)


def find_java() -> str:
    """The path of a Java that can run the server; raises `ServerError` where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    advice = "install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless)"
    if java is None:
        raise ServerError(f"no Java found; {advice}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < 17:
        found = f"Java {version[1]}" if version else "no Java that works"
        raise ServerError(f"{java} is {found}, and the server needs 17 or later; {advice}")
    return java


def install_maven_in_ci() -> None:
    """Install Maven, and Java with it, by apt-get: in CI alone, as root, where one is missing."""
    missing = not (shutil.which("mvn") and shutil.which("java"))
    if missing and os.environ.get("CI") and shutil.which("apt-get") and os.geteuid() == 0:
        for arguments in (["update"], ["install", "-y", "maven", "default-jre-headless"]):
            run_quietly(["apt-get", "-q", *arguments], "installing Maven")


def fetch(plugins: Iterable[str] = ()) -> Path:
    """The folder of the server's jars and those of the plugins, downloaded once.

    It gets its name when it is complete: half a download is never taken for a whole one, and two
    processes may download at the same time.
    """
    named = sorted(plugins)
    folder = CACHE / "-".join(["server", *named])
    if folder.is_dir():
        return folder
    artifacts = [*SERVER, *(artifact for name in named for artifact in PLUGINS[name])]
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=".downloading-") as temporary:
        jars = Path(temporary, "jars")
        download(artifacts, jars)
        with suppress(OSError):  # another process was faster
            jars.rename(folder)
    return folder


def download(artifacts: Sequence[str], folder: Path) -> None:
    """Have Maven put the artifacts and all that they depend on into a folder.

    They are resolved together, so that each library comes in one version; the names of the files
    begin with their group.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise ServerError("no Maven found; install it (Debian: apt-get install maven)")
    project = folder.parent / "pom.xml"
    project.write_text(maven_project(artifacts), encoding="utf-8")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-Dmdep.prependGroupId=true"]
    command = [maven, "-q", "-B", "-f", str(project), *goal, f"-DoutputDirectory={folder}"]
    run_quietly(command, f"downloading {', '.join(artifacts)}")


def maven_project(artifacts: Iterable[str]) -> str:
    """A Maven project that is nothing but its dependencies."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version></dependency>\n"
        for group, name, version in (artifact.split(":") for artifact in artifacts)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0">\n<modelVersion>4.0.0</modelVersion>\n'
        "<groupId>clew</groupId><artifactId>neo4j-server</artifactId><version>1</version>\n"
        f"<dependencies>\n{dependencies}</dependencies>\n</project>\n"
    )


def run_quietly(command: list[str], purpose: str) -> None:
    """Run a command; its last lines are shown where it fails, and nothing else."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
    if done.returncode:
        lines = f"{done.stdout}\n{done.stderr}".strip().splitlines()[-LOG_LINES:]
        raise ServerError("\n".join([f"{purpose} failed: {' '.join(command)}", *lines]))


# --- the server --------------------------------------------------------------------------


def start(
    home: Path, port: int = DEFAULT_PORT, password: str = "", plugins: Iterable[str] = ()
) -> Running:
    """Start a server in the background; returns when it answers. Raises `ServerError`."""
    if password and len(password) < 8:
        raise ServerError("the password is too short; the server wants 8 characters or more")
    java, jars = provide(plugins)
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise ServerError(f"port {port} is taken; choose another with --port")
    home.mkdir(parents=True, exist_ok=True)
    write_configuration(home, port, jars, with_login=bool(password))
    process = subprocess.Popen(
        command_line(java, home, jars),
        stdin=subprocess.DEVNULL,
        stdout=(home / "console.log").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    running = Running(pid=process.pid, port=port)
    (home / "server.json").write_text(json.dumps(asdict(running)), encoding="utf-8")
    try:
        wait_until_ready(process, running, home, password)
    except BaseException:
        stop(home)
        raise
    return running


def write_configuration(home: Path, port: int, jars: Path, *, with_login: bool) -> None:
    """Write neo4j.conf, and put the jars of the plugins where the server looks for procedures."""
    plugins = home / "plugins"
    shutil.rmtree(plugins, ignore_errors=True)
    plugins.mkdir()
    for jar in (jar for pattern in PLUGIN_JARS for jar in jars.glob(pattern)):
        shutil.copy(jar, plugins)
    settings = {
        "server.bolt.listen_address": f"127.0.0.1:{port}",
        # What clients of neo4j:// are told to connect to.
        "server.bolt.advertised_address": f"127.0.0.1:{port}",
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        "server.memory.pagecache.size": "64m",
        "dbms.usage_report.enabled": "false",
        "dbms.security.auth_enabled": str(with_login).lower(),
        "dbms.security.procedures.unrestricted": "apoc.*,gds.*",
        # Else it stays ten seconds longer, long after all is on the disk.
        "internal.server.bolt.thread_pool_shutdown_wait_time": "1s",
        # Half a gigabyte for logs that a small database never fills.
        "db.tx_log.preallocate": "false",
    }
    (home / "conf").mkdir(exist_ok=True)
    lines = "".join(f"{name}={value}\n" for name, value in settings.items())
    (home / "conf" / "neo4j.conf").write_text(lines, encoding="utf-8")


def command_line(java: str, home: Path, jars: Path) -> list[str]:
    """What runs the server."""
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
    entry = ["-cp", f"{jars}/*", "org.neo4j.server.CommunityEntryPoint"]
    return [java, "-Xmx1g", *opened, *entry, f"--home-dir={home}", f"--config-dir={home / 'conf'}"]


def wait_until_ready(
    process: subprocess.Popen[bytes], running: Running, home: Path, password: str
) -> None:
    """Return when the server answers a query; raise `ServerError` where it never will."""
    deadline = time.monotonic() + START_SECONDS
    while not answers(running.address, password):
        if process.poll() is not None:
            raise ServerError(f"the server ended while it was starting; its log:\n{log_end(home)}")
        if time.monotonic() > deadline:
            raise ServerError(f"no answer within {START_SECONDS:g} s; its log:\n{log_end(home)}")
        time.sleep(0.1)


def answers(address: str, password: str) -> bool:
    """Whether the server answers a query by now; a new one gets its password here."""
    from neo4j.exceptions import AuthError, DriverError, Neo4jError

    try:
        query(address, "RETURN 1", password)
    except AuthError:
        change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password"
        try:
            query(address, change, "neo4j", database="system", password=password)
        except AuthError as error:
            raise ServerError("the server's home was made with another password") from error
    except (DriverError, Neo4jError):
        return False
    return True


def query(
    address: str, text: str, login: str = "", database: str | None = None, **parameters: str
) -> Any:  # noqa: ANN401 - any value of the database
    """The first value that a query returns; None where it returns none."""
    from neo4j import GraphDatabase

    with (
        GraphDatabase.driver(address, auth=("neo4j", login) if login else None) as driver,
        driver.session(database=database) as session,
    ):
        record = session.run(text, parameters).single()
        return None if record is None else record[0]


def log_end(home: Path) -> str:
    """The last lines of what the server wrote when it was last started, without Java's traces."""
    console, log = home / "console.log", home / "logs" / "neo4j.log"
    # A setting that cannot be is told on the console, before there is a log.
    texts = [file.read_text("utf-8", "replace") for file in (console, log) if file.is_file()]
    lines = next((text for text in texts if text.strip()), "(nothing)").splitlines()
    return "\n".join([line for line in lines if not line.startswith("\tat ")][-LOG_LINES:])


def find_running(home: Path) -> Running | None:
    """The server of this home, if it is running."""
    try:
        running = Running(**json.loads((home / "server.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    # The number may be another program's by now.
    return running if f"--home-dir={home} " in f"{arguments_of(running.pid)} " else None


def arguments_of(pid: int) -> str:
    """The command line of a process; empty where there is none of that number."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").replace("\0", " ")
        except OSError:
            return ""
    command = ["ps", "-p", str(pid), "-o", "args="]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def stop(home: Path) -> bool:
    """Stop the server of this home and wait for its end; False where none was running."""
    was_running = find_running(home) is not None
    for sent in (signal.SIGTERM, signal.SIGKILL):
        running = find_running(home)
        if running is not None:
            with suppress(ProcessLookupError):
                os.kill(running.pid, sent)
            wait_until_gone(home)
    (home / "server.json").unlink(missing_ok=True)
    return was_running


def wait_until_gone(home: Path) -> None:
    """Return when the server of this home has ended, or after `STOP_SECONDS`."""
    deadline = time.monotonic() + STOP_SECONDS
    while find_running(home) and time.monotonic() < deadline:
        time.sleep(0.1)


# --- the commands ------------------------------------------------------------------------


def main() -> int:
    """Do what the arguments say; the exit status."""
    arguments = parse()
    # Whoever ends this script ends what it is starting, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return COMMANDS[arguments.command](arguments)
    except ServerError as error:
        print(f"Error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return 1


def parse() -> argparse.Namespace:
    """The arguments that the script was given."""
    parser = argparse.ArgumentParser(description="Run a Neo4j server, without Docker.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--port", type=int, help=f"of Bolt; default {DEFAULT_PORT}")
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of its data")
    parser.add_argument("--password", default="", help="of the user neo4j; default: no login")
    for name in PLUGINS:
        parser.add_argument(f"--{name}", action="append_const", dest="plugins", const=name)
    arguments = parser.parse_args()
    arguments.home = arguments.home.resolve()
    arguments.plugins = arguments.plugins or []
    return arguments


def run_fetch(arguments: argparse.Namespace) -> int:
    """Download what is missing."""
    java, jars = provide(arguments.plugins)
    print(f"{jars} (to be run by {java})")
    return 0


def run_start(arguments: argparse.Namespace) -> int:
    """Start, unless it is running."""
    home, port, password = arguments.home, arguments.port, arguments.password
    running = find_running(home)
    if running is None:
        running = start(home, port or DEFAULT_PORT, password, arguments.plugins)
        print(f"Neo4j {VERSION} is running at {running.address} (process {running.pid})")
    elif port in (None, running.port):
        print(f"running already at {running.address} (process {running.pid})")
    else:
        raise ServerError(f"it is running at {running.address}; stop it first, or give --home")
    for name in arguments.plugins:
        print(f"{name} {plugin_version(running, name, password)}")
    return 0


def plugin_version(running: Running, name: str, password: str) -> str:
    """The version of a plugin; raises `ServerError` where the server has none."""
    from neo4j.exceptions import DriverError, Neo4jError

    try:
        return str(query(running.address, f"RETURN {name}.version()", password))
    except (DriverError, Neo4jError) as error:
        raise ServerError(f"the server at {running.address} has no {name}: {error}") from error


def run_stop(arguments: argparse.Namespace) -> int:
    """Stop; no error where it is not running."""
    print("stopped" if stop(arguments.home) else "was not running")
    return 0


def run_status(arguments: argparse.Namespace) -> int:
    """Say whether it is running, and where."""
    running = find_running(arguments.home)
    print("not running" if running is None else f"running at {running.address}")
    return int(running is None)


def run_in_foreground(arguments: argparse.Namespace) -> int:
    """Start, stay until somebody interrupts, and stop."""
    run_start(arguments)
    try:
        while find_running(arguments.home):
            time.sleep(0.5)
        raise ServerError(f"the server ended; its log:\n{log_end(arguments.home)}")
    except KeyboardInterrupt:
        print("stopping")
        return 0
    finally:
        stop(arguments.home)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "start": run_start,
    "stop": run_stop,
    "status": run_status,
    "run": run_in_foreground,
    "fetch": run_fetch,
}


if __name__ == "__main__":
    sys.exit(main())
