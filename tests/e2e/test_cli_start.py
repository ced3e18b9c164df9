"""How the command line starts and fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest

import clew as library_api
from clew.cli.app import COMMANDS, GROUPS, _Commands
from clew.cli.searching import FLAGS, TEXTS, read_plainly
from tests.e2e.conftest import Library, Run

# --- cli start


# Runs `clew` in a process of its own and prints which of the modules named it loaded.
PROBE = """
import sys
from clew.cli import main
modules, sys.argv = sys.argv[1].split(","), ["clew", *sys.argv[2:]]
try:
    main()
finally:
    print(*sorted(set(modules) & set(sys.modules)), file=sys.stderr)
"""


def loaded(modules: str, *arguments: str | Path, cwd: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, modules, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.split()


HEAVY = "numpy,scipy,onnxruntime,tokenizers,rich,pydantic_settings,clew.engine"
DRAWING = "rich,pydantic_settings,jinja2,mcp,typer,click,pydantic,importlib.metadata"
OTHERS = "clew.cli.commands.indexing,clew.cli.commands.serving,clew.indexing,lxml,bs4,onnx"
"""Other commands than a search, and indexing with its libraries."""
MODELS = (
    "httpx2,pydantic_ai,openai,anthropic,clew.plugins.llm.client,clew.plugins.llm.ollama,"
    "clew.plugins.llm.chat"
)


@pytest.mark.parametrize(
    ("modules", "arguments"),
    [
        (HEAVY, ["--version"]),
        (HEAVY, ["search", "--help"]),
        ("rich", ["search", "Who built the mill?", "--json"]),
        ("rich", ["entity", "show", "Tarn Abbey", "--json"]),
        ("rich", ["communities", "--json"]),
        (f"{DRAWING},{OTHERS},{MODELS}", ["search", "Who built the mill?"]),
        # Looking does not load the model that embeds.
        (f"onnxruntime,tokenizers,scipy,{MODELS}", ["documents"]),
        (MODELS, ["stats"]),
    ],
)
def test_a_command_loads_no_more_than_it_needs(
    modules: str,
    arguments: list[str],
    indexed: Library,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLEW_STORE", str(indexed.store))

    assert loaded(modules, *arguments, cwd=tmp_path) == []


def test_the_library_loads_nothing_of_a_language_model(tmp_path: Path) -> None:
    code = f"import clew, sys; print(*sorted(set({MODELS!r}.split(',')) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True
    )

    assert done.stdout.split() == []


def test_the_quick_way_is_taken_for_options_of_the_command() -> None:
    options = {
        name: {"top_k": "limit"}.get(parameter.name or "", parameter.name)
        for parameter in _Commands(COMMANDS, GROUPS)["search"].params
        for name in parameter.opts
    }

    assert {name: options[name] for name in TEXTS | FLAGS} == TEXTS | FLAGS


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["search", "who?"], {"question": "who?"}),
        (["search", "who", "did", "it?"], {"question": "who did it?"}),
        (["query", "who"], None),
        (
            ["search", "--json", "who", "--limit", "3"],
            {"json": True, "question": "who", "limit": 3},
        ),
        (["search", "who", "--store", "a", "--store", "b"], {"question": "who", "store": "b"}),
        ([], None),
        (["search"], None),
        (["search", "-"], None),
        (["search", "--help"], None),
        (["search", "who", "--limit", "0"], None),
        (["search", "who", "--limit", "³"], None),
        (["search", "who", "--limit"], None),
        (["search", "who", "--store", "--json"], None),
        (["search", "who", "--stroe", "a"], None),
        (["search", "who", "--store=a"], None),
        (["search", "who", "--", "-x"], None),
        (["search", "who", "--explain"], None),
        (["index", "who"], None),
    ],
)
def test_only_plain_arguments_are_read_quickly(
    arguments: list[str], expected: dict[str, object] | None
) -> None:
    assert read_plainly(arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ["Who built the mill?"],
        ["Who", "built the mill?", "--limit", "2"],
        ["Who built the mill?", "--strategy", "keyword"],
        ["Who built the mill?", "--strategy", "nonsense"],
        ["Who built the mill?", "--namespace", "nobody"],
        ["Who built the mill?", "--namespace", "no/name"],
        ["zzz qqq"],
        [""],
    ],
)
def test_the_quick_way_answers_as_the_long_one(
    arguments: list[str], indexed: Library, in_process: Run
) -> None:
    plain = [*arguments, "--store", str(indexed.store)]
    quick = in_process("search", *plain)
    # A word before the command's name is not plain.
    long = in_process(*plain[-2:], "search", *arguments)

    assert (quick.returncode, quick.stdout, quick.stderr) == (
        long.returncode,
        long.stdout,
        long.stderr,
    )


# --- cli failures


# (arguments, what standard error says)
WRONG_USE = {
    "a command that is not there": (["serch", "x"], r"No such command 'serch'"),
    "no question": (["search"], r"Missing argument 'QUESTION'"),
    "an empty path": (["index", ""], r"^Error: a path is empty; .* a variable"),
    "namespaces that are none": (["search", "x", "--namespaces", " ,"], r"--namespaces names none"),
    "a limit of none": (["search", "x", "--limit", "0"], r"0 is not|greater than or equal to 1"),
    "a limit in words": (
        ["search", "x", "--limit", "many"],
        r"--limit.* valid integer.* not 'many'",
    ),
    "a share in words": (
        ["search", "x", "--alpha", "half"],
        r"--alpha.* valid number.* not 'half'",
    ),
    "an unknown strategy": (["search", "x", "--strategy", "magic"], r"^Error: .*'magic'"),
    "a time that is none": (["search", "x", "--since", "soon"], r"^Error: since 'soon' is no time"),
    "a day that is none": (["search", "x", "--as-of", "2023-02-30"], r"^Error: as_of '2023-02-30'"),
    "an end before its start": (
        ["search", "x", "--since", "2020", "--until", "2019"],
        r"^Error: since 2020.* is not before until",
    ),
    "a hierarchy that cannot be read": (
        ["search", "x", "--hierarchy", "nonsense"],
        r"^Error: .*'nonsense'.*person -works_at-> organisation",
    ),
    "an unknown layer": (
        ["search", "x", "--strategy", "hierarchical", "--layer", "attic"],
        r"^Error: .*'attic'.*document, section, passage",
    ),
    "a level too deep": (["communities", "--level", "9"], r"^Error: level 9 .* is 0$"),
    "a level too deep to ask": (
        ["search", "x", "--strategy", "global", "--level", "9"],
        r"^Error: level 9 .* is 0$",
    ),
    "an unknown fusion": (["search", "x", "--fusion", "sum"], r"'sum'"),
    "a share above one": (["search", "x", "--alpha", "2"], r"--alpha"),
    "too many hops": (["search", "x", "--max-hops", "9"], r"--max-hops"),
    "sources without their context": (["search", "x", "--citations"], r"clew search --context"),
    "a path from nobody": (["path", "Nobody", "No One"], r"^Error: no entity 'Nobody'"),
    "a timeline of nobody": (["timeline", "Nobody"], r"^Error: no entity 'Nobody'"),
    "a graph too wide": (["subgraph", "x", "--hops", "7"], r"--hops"),
    "a graph of one": (["subgraph", "x", "--limit", "1"], r"--limit"),
    "a graph in an unknown format": (["subgraph", "x", "--format", "csv"], r"'csv'"),
    "a filter that cannot be read": (["search", "x", "--where", "year"], r"^Error: .*'year'"),
    "a filter that breaks off": (
        ["search", "x", "--where", "year >= 2020 and"],
        r"^Error: cannot read the filter 'year >= 2020 and' at character 17: expected the name",
    ),
    "data that are no filter": (
        ["documents", "--where", '{"field": "year", "operator": "~="}'],
        r"^Error: cannot read the filter: 'value' is missing$",
    ),
    "a bad namespace": (["stats", "--namespace", "a/b"], r"^Error: setting namespace = 'a/b'"),
    "an empty namespace": (["stats", "--namespace", ""], r"^Error: setting namespace = ''"),
    "a path that is not there": (["index", "nowhere"], r"^Error: .*nowhere"),
    "standard input among paths": (["index", "-", "."], r"clew index -"),
    "a blank question": (["ask", " "], r"^Error: there is no question"),
    "steps of one search": (["ask", "x", "--steps", "3"], r"^Error: steps 3 has no effect"),
    "a cost without an end": (["ask", "x", "--max-cost", "1e400"], r"--max-cost"),
    "a title without standard input": (["index", ".", "--title", "x"], r"clew index -"),
    "nothing to delete": (["delete"], r"--where CONDITION"),
    "an unknown document": (["show", "nothing.md"], r"^Error: .*'nothing.md'.*clew documents"),
    "an unknown entity": (["entity", "show", "Nobody"], r"^Error: .*'Nobody'"),
    "an unknown format": (["export", "--format", "csv"], r"csv"),
    "a rank that is no number": (["eval", ".", "--k", "two"], r"not 'two'"),
    "one store for two data sets": (["eval", "a", "b", "--store", "s"], r"--store takes one"),
    "a server that is away": (
        ["stats", "--store", "neo4j://127.0.0.1:1"],
        r"^Error: the store 'neo4j://127.0.0.1:1' cannot be reached; .*--store",
    ),
    "an address with a password": (
        ["stats", "--store", "neo4j://neo4j:hidden@127.0.0.1"],
        r"^Error: setting store = \(not shown\): .*CLEW_NEO4J__PASSWORD",
    ),
    "an address without an end": (
        ["stats", "--store", "neo4j://[::1"],
        r"^Error: setting store = 'neo4j://\[::1': .*neo4j://localhost:7687",
    ),
    "an address of a port that cannot be": (
        ["stats", "--store", "neo4j://localhost:none"],
        r"^Error: setting store = 'neo4j://localhost:none': .*neo4j://localhost:7687",
    ),
    "a place that is empty": (["stats", "--store", ""], r"^Error: setting store = '': .*folder"),
    "a copy to a place that is empty": (["copy", "--to", ""], r"^Error: setting store = ''"),
    "a memory that never ends": (["import", "/dev/zero"], r"^Error: .*/dev/zero.*not a file"),
    "a token for nobody": (["token", ""], r"^Error: a token cannot be for ''; .* 1 to 64"),
    "an address of something else": (
        ["stats", "--store", "http://127.0.0.1"],
        r"^Error: setting store = 'http://127.0.0.1': .*neo4j://",
    ),
    "a folder to write": (["export", "-o", "missing/graph.xml"], r"^Error: No such file"),
    "a folder in place of a file": (["export", "-o", ".clew"], r"^Error: Is a directory: '.clew'"),
    "a store that is a file": (["stats", "--store", ".clew/default/clew.db"], r"^Error: .*clew.db"),
}


DOCUMENTS = 1500
"""So many that indexing them is not done before it can be interrupted, on a busy machine too."""


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use_is_told_in_a_line(in_process: Run, case: str, tmp_path: Path) -> None:
    arguments, message = WRONG_USE[case]
    library_api.open(tmp_path / ".clew").close()

    done = in_process(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.strip().splitlines()[-1]
    assert re.search(message, last), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".clew"]


def test_check_reports_a_store_that_cannot_even_be_opened(in_process: Run, tmp_path: Path) -> None:
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "clew.db").write_bytes(b"no database" * 1000)
    done = in_process("check", "--store", tmp_path, "--json")
    assert done.returncode == 1
    (problem,) = json.loads(done.stdout)["problems"]
    assert (problem["invariant"], problem["repairable"]) == ("integrity", False)
    assert "is damaged" in problem["detail"]
    assert "restore the file from a backup" in problem["detail"]


def test_verbose_says_where_it_failed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clew", "--verbose", "show", "nothing.md"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "DEBUG clew.cli: the command failed\nTraceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("command", ["search mill", "export", "documents"])  # the quick way first
def test_a_reader_that_goes_away(command: str, indexed: Library, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "clew", *command.split(), "--store", str(indexed.store)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_an_export_to_a_link_writes_where_it_leads(in_process: Run, tmp_path: Path) -> None:
    library_api.open(".clew").close()
    (tmp_path / "real.xml").write_text("old")
    (tmp_path / "link.xml").symlink_to("real.xml")

    in_process("export", "--format", "graphml", "-o", "link.xml")

    assert (tmp_path / "link.xml").is_symlink()
    assert (tmp_path / "real.xml").read_text().startswith("<?xml")


def test_a_dash_is_standard_output(in_process: Run, tmp_path: Path) -> None:
    library_api.open(".clew").close()

    dash = in_process("export", "--format", "graphml", "-o", "-")

    assert dash.stdout.startswith("<?xml")
    assert not (tmp_path / "-").exists()
    assert dash.stdout == in_process("export", "--format", "graphml").stdout


def test_an_export_keeps_a_file_s_mode_and_fills_a_pipe(
    clew: Run, library: Library, tmp_path: Path
) -> None:
    there = tmp_path / "there.jsonl"
    there.write_text("old")
    there.chmod(0o640)
    assert clew("export", "--store", library.store, "-o", there).returncode == 0
    assert stat.S_IMODE(there.stat().st_mode) == 0o640
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert clew("export", "--store", library.store, "-o", pipe).returncode == 0
        out, _ = reader.communicate(timeout=60)
    assert out == there.read_bytes()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    # A pipe without a name; standard output is one here.
    piped = clew("export", "--store", library.store, "-o", "/dev/stdout")
    assert (piped.returncode, piped.stdout.encode()) == (0, there.read_bytes())


def test_a_token_is_for_whom_its_name_says(in_process: Run) -> None:
    name = 'ada"\nscopes = ["admin"]\n#'

    lines = in_process("token", name).stderr.splitlines()

    [token] = tomllib.loads("\n".join(lines[1:]))["serve"]["tokens"]
    assert (token["name"], token.keys()) == (name, {"name", "sha256", "namespaces"})


def test_ctrl_c_before_a_command_begins(in_process: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clew.cli.output.safe_output", Mock(side_effect=KeyboardInterrupt))

    done = in_process("stats")

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["search -", "index -", "delete --where year=1", "documents"])
def test_a_process_without_a_standard_stream(
    indexed: Library, tmp_path: Path, command: str, closed: str
) -> None:
    shutil.copytree(indexed.store, tmp_path / ".clew")

    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m clew {command} {closed}"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


def test_ctrl_c_leaves_a_consistent_store_and_says_how_to_go_on(tmp_path: Path) -> None:
    notes = tmp_path / "my notes"
    notes.mkdir()
    for number in range(DOCUMENTS):
        (notes / f"{number}.md").write_text(f"Weir {number} of the Lorne.")
    with subprocess.Popen(
        [sys.executable, "-m", "clew", "index", "my notes"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        _wait_for_first_document(tmp_path / ".clew", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (130, "")
    said = "Interrupted; the store is consistent. To go on: clew index 'my notes'"
    assert err.splitlines()[-1] == said
    with library_api.open(tmp_path / ".clew") as engine:
        assert engine.maintenance.check().problems == ()
        assert 0 < engine.maintenance.stats()["documents"] < DOCUMENTS


def _wait_for_first_document(store: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        for database in store.rglob("clew.db"):
            with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                try:
                    found = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
                except sqlite3.OperationalError:  # not made yet
                    found = 0
            connection.close()
            if found:
                return
        time.sleep(0.05)
    pytest.fail("no document was stored")


READING = {
    "search": ["who"],
    "documents": [],
    "show": ["x"],
    "delete": ["x", "--yes"],
    "path": ["a", "b"],
    "timeline": ["a"],
    "communities": [],
    "topics": [],
    "subgraph": ["a"],
    "stats": [],
    "check": [],
    "audit": [],
    "reindex": [],
    "backup": ["copy.db"],
    "export": [],
    "entity": ["show", "a"],
    "call": ["search", '{"query": "who"}'],
}
"""Arguments by command, for those that need a store that is there."""


@pytest.mark.parametrize("command", [[name, *given] for name, given in READING.items()])
def test_a_store_that_is_not_there_is_named_and_not_made(
    in_process: Run, tmp_path: Path, command: list[str]
) -> None:
    done = in_process(*command, "--store", "mistyped")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"Error: there is no store '.*mistyped.*clew index.*\n", done.stderr)
    assert not (tmp_path / "mistyped").exists()
