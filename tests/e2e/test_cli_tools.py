from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.commands.serving import ClientFile, client_file
from clew.errors import InputError
from clew.indexing.reading.files import permitted_path
from clew.operations.spec import FORMATS, Format, definitions
from clew.operations.toolbox import OPERATIONS
from clew.settings import load_settings
from tests.e2e.conftest import Library, Run

CLIENTS = ("claude", "cursor", "vscode", "codex")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of its own: no test may touch a real configuration."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return folder


# --- clew tools --------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_definitions_are_printed(in_process: Run, format: Format) -> None:
    done = in_process("tools", "--format", format)

    core = [tool for tool in OPERATIONS if "core" in tool.profiles]
    assert done.returncode == 0
    assert json.loads(done.stdout) == definitions(core, format)


def test_profiles_are_printed(in_process: Run) -> None:
    names = {
        profile: {tool["name"] for tool in json.loads(done.stdout)}
        for profile in ("core", "full", "memory")
        for done in [in_process("tools", "--profile", profile)]
    }

    assert names["core"] < names["full"]
    assert names["memory"] < names["full"]
    assert "read_graph" in names["memory"] - names["core"]


# --- clew call ---------------------------------------------------------------------------


def test_a_tool_is_called(in_process: Run, library: Library) -> None:
    done = in_process("call", "get_graph_statistics", "--store", library.store)

    assert done.returncode == 0
    content = json.loads(done.stdout)
    assert content["success"] is True
    assert content["statistics"]["entities"] > 0


def test_arguments_are_read_from_standard_input(in_process: Run, library: Library) -> None:
    arguments = json.dumps({"query": "東京"}, ensure_ascii=False)

    done = in_process(
        "call", "graph_enhanced_search", "-", "--store", library.store, stdin=arguments
    )

    assert done.returncode == 0, done.stderr
    assert "東京" in {r["entity_name"] for r in json.loads(done.stdout)["results"]}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nothing",), "there is no tool 'nothing'; use one of "),
        (("fetch",), "fetch needs 'id': "),
        (("fetch", '{"id": 1}'), "fetch: id cannot be 1; expected a string"),
        (("fetch", "{id: 1}"), "the arguments '{id: 1}' are no JSON ("),
        (("fetch", "[1]"), "the arguments '[1]' are no object; expected one such as"),
        (("get_entity_neighbors", '{"entity_id": 99999}'), "there is no entity 99999; expected"),
    ],
)
def test_failures_are_one_line(
    in_process: Run, library: Library, arguments: tuple[str, ...], told: str
) -> None:
    done = in_process("call", *arguments, "--store", library.store)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {told}")
    assert done.stderr.count("\n") == 1


def test_a_job_is_waited_for(in_process: Run, tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text("The mill at Harrow Ford was built by Jonas Reed.")
    (tmp_path / "odd.bin").write_bytes(b"\x00\x01\x02")
    store = ("--store", tmp_path / "store")

    read = in_process("call", "ingest_document", '{"path": "mill.md"}', *store)
    odd = in_process("call", "ingest_document", '{"path": "odd.bin"}', *store)
    again = json.loads(read.stdout)
    asked = in_process("call", "query_job_status", json.dumps({"job_id": again["job_id"]}), *store)

    assert (read.returncode, again["status"], again["completed"]) == (0, "completed", 1)
    assert again["document"]
    assert json.loads(asked.stdout)["status"] == "completed"
    assert odd.returncode == 2
    assert json.loads(odd.stdout)["status"] == "failed"
    assert "binary" in odd.stderr


# --- clew install ------------------------------------------------------------------------


def parse(client: str, text: str) -> dict[str, Any]:
    return tomllib.loads(text) if client == "codex" else json.loads(text)


def section(client: str) -> str:
    return {"vscode": "servers", "codex": "mcp_servers"}.get(client, "mcpServers")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_configuration_is_printed_and_nothing_written(
    in_process: Run, home: Path, tmp_path: Path, client: str
) -> None:
    done = in_process("install", client, "--store", "notes", "--name", "library")

    assert done.returncode == 0
    [(name, entry)] = parse(client, done.stdout)[section(client)].items()
    assert name == "library"
    assert entry["args"][-3:] == ["mcp", "--store", str(tmp_path / "notes")]
    assert Path(entry["command"]).is_absolute()
    assert entry.get("type") == ("stdio" if client in ("cursor", "vscode") else None)
    assert str(home) in done.stderr
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_starts_the_server(in_process: Run, tmp_path: Path, client: str) -> None:
    [entry] = parse(client, in_process("install", client).stdout)[section(client)].values()

    done = subprocess.run(
        [entry["command"], *entry["args"]],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"")


def written(client: str, text: bytes) -> Path:
    """The client's file, which holds this."""
    file = client_file(client).path  # type: ignore[arg-type]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text)
    return file


KNOWN = {
    "claude": '{"theme": "dark", "mcpServers": {"other": {"command": "x", "env": {"K": "v"}}}}',
    "cursor": '{"mcpServers": {"other": {"url": "https://example.org/mcp"}}}',
    "vscode": '{"inputs": [{"id": "é"}], "servers": {"other": {"type": "http", "url": "u"}}}',
    "codex": '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x" # why\n\n[tail]\na = 1\n',
}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_was_there_stays(in_process: Run, client: str) -> None:
    file = written(client, KNOWN[client].encode())
    file.chmod(0o640)

    first = in_process("install", client, "--write", "--store", "one")
    after_first = file.read_text("utf-8")
    second = in_process("install", client, "--write", "--store", "two")
    in_process("install", client, "--write", "--store", "two")  # leaves no third backup
    after_second = file.read_text("utf-8")

    assert (first.returncode, second.returncode, first.stdout) == (0, 0, "")
    before, after = parse(client, KNOWN[client]), parse(client, after_second)
    entry = after[section(client)].pop("clew")
    assert after == before
    assert entry["args"][-1].endswith("two")
    assert file.stat().st_mode & 0o777 == 0o640
    names = [f"{file.name}.bak", f"{file.name}.bak.1"]
    backups = [file.with_name(name) for name in names]
    assert [b.read_text("utf-8") for b in backups] == [KNOWN[client], after_first]
    assert {b.stat().st_mode & 0o777 for b in backups} == {0o640}
    assert {p.name for p in file.parent.iterdir()} == {file.name, *names}


OWN = {
    "claude": '{"mcpServers": {"clew": {"command": "old", "env": {"CLEW_NEO4J__PASSWORD": "p"}}}}',
    "cursor": '{"mcpServers": {"clew": {"url": "https://example.org", "env": {"A b": "1"}}}}',
    "vscode": '{"servers": {"clew": {"type": "http", "url": "u", "env": {"K": "v"}, "dev": {}}}}',
    "codex": '[mcp_servers.clew]\ncommand = "old"\nstartup_timeout_sec = 20\n'
    '[mcp_servers.clew.env]\nK = "v"\n"A b" = "c"\n',
}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_entry_had_stays(in_process: Run, client: str) -> None:
    file = written(client, OWN[client].encode())

    done = in_process("install", client, "--write")

    before = parse(client, OWN[client])[section(client)]["clew"]
    after = parse(client, file.read_text("utf-8"))[section(client)]["clew"]
    assert done.returncode == 0
    assert after["env"] == before["env"]
    assert after["command"] != before.get("command")
    assert "url" not in after
    kept = set(before) - {"command", "args", "type", "url"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_comments_and_order_of_toml_stay(in_process: Run) -> None:
    file = written("codex", KNOWN["codex"].encode())

    in_process("install", "codex", "--write")

    lines = iter(file.read_text("utf-8").splitlines())
    assert all(line in lines for line in KNOWN["codex"].splitlines())


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_is_made_where_there_is_none(in_process: Run, client: str) -> None:
    printed = in_process("install", client)
    written = in_process("install", client, "--write")

    file = client_file(client).path  # type: ignore[arg-type]
    assert file.read_text("utf-8") == printed.stdout
    assert str(file) in written.stderr
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_a_link_stays_one(in_process: Run, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text(KNOWN["cursor"], encoding="utf-8")
    link = client_file("cursor").path
    link.parent.mkdir()
    link.symlink_to(real)

    in_process("install", "cursor", "--write")

    assert link.is_symlink()
    assert set(json.loads(real.read_text("utf-8"))["mcpServers"]) == {"other", "clew"}


@pytest.mark.parametrize(
    ("client", "text", "told"),
    [
        ("vscode", b'{"servers": {} // mine\n}', "it is no plain JSON: "),
        ("cursor", b"[]", "its 'mcpServers' is no object"),
        ("cursor", b'{"mcpServers": []}', "its 'mcpServers' is no object"),
        ("claude", b"\xff\xfe{", "it is not in UTF-8: "),
        ("codex", b"a = ", "it is no plain TOML: "),
        ("codex", b"mcp_servers = 1\n", "its 'mcp_servers' is no object"),
    ],
)
def test_what_cannot_be_merged_is_left_as_it_was(
    in_process: Run, client: str, text: bytes, told: str
) -> None:
    file = written(client, text)

    done = in_process("install", client, "--write")

    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "without --write, `clew install` prints what to add by hand" in done.stderr
    assert file.read_bytes() == text
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_no_setting_but_store_and_namespace_is_written(in_process: Run, tmp_path: Path) -> None:
    (tmp_path / "clew.toml").write_text('namespace = "team"\n[search]\nlimit = 7\n')

    told = json.loads(in_process("install", "cursor", "--json").stdout)
    entry = told["mcpServers"]["clew"]
    assert set(entry) == {"type", "command", "args"}
    assert entry["args"][-5:] == ["mcp", "--store", str(tmp_path / ".clew"), "--namespace", "team"]
    assert (told["path"], told["written"]) == (str(client_file("cursor").path), False)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_assistant_may_name_files_of_one_folder(
    in_process: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """The one that is named, else the one that the command is run in; never the home by default."""
    file = client_file(client).path  # type: ignore[arg-type]
    (home / "notes").mkdir()

    def roots(here: Path, *given: str) -> list[str] | None:
        monkeypatch.chdir(here)
        done = in_process("install", client, "--write", *given)
        assert done.returncode == 0, done.stderr
        entry = parse(client, file.read_text("utf-8"))[section(client)]["clew"]
        env = entry.get("env", {}).get("CLEW_ACCESS__ROOTS")
        assert ("may name no file" in done.stderr) == (not given and here in (tmp_path, home))
        return None if env is None else json.loads(env)

    assert roots(tmp_path) is None
    assert roots(home) is None
    assert roots(home / "notes") == [str(home / "notes")]
    assert roots(tmp_path, "--root", "home/notes") == [str(home / "notes")]
    assert roots(home / "notes", "--root", str(home)) == [str(home)]
    monkeypatch.chdir(tmp_path)
    refused = in_process("install", client, "--write", "--root", "missing")
    assert refused.returncode == 2
    assert "missing" in refused.stderr


def test_what_install_writes_opens_the_folder(
    in_process: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "notes").mkdir()
    (home / "notes" / "mill.md").write_text("Jonas Reed built the mill.")
    done = in_process("install", "cursor", "--json", "--root", "home/notes")
    entry = json.loads(done.stdout)["mcpServers"]["clew"]

    with pytest.raises(InputError, match=r"access\.roots.*clew install --root FOLDER"):
        permitted_path(home / "notes" / "mill.md", load_settings())
    for name, value in entry["env"].items():
        monkeypatch.setenv(name, value)
    assert permitted_path("mill.md", load_settings()) == home / "notes" / "mill.md"


def test_codex_may_live_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))

    assert client_file("codex").path == tmp_path / "elsewhere" / "config.toml"


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=12)
VALUES = st.one_of(st.text(max_size=9), st.integers(-9, 9), st.booleans())


def _toml(value: object) -> str:
    """A value as TOML; JSON writes texts, numbers and truth values alike."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@given(
    others=st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=3), max_size=4),
    name=NAMES,
    arguments=st.lists(NAMES, max_size=3),
    env=st.dictionaries(NAMES, NAMES, max_size=2),
)
def test_any_toml_is_merged_whole(
    others: dict[str, dict[str, Any]], name: str, arguments: list[str], env: dict[str, str]
) -> None:
    file = ClientFile(Path("config.toml"), "mcp_servers", False)
    text = "".join(
        f"[mcp_servers.{_toml(other)}]\n"
        + "".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in table.items())
        + f"[mcp_servers.{_toml(other)}.env]\n"
        for other, table in others.items()
        if "env" not in table
    )
    entry = file.entry(["clew", *arguments], env)

    merged = tomllib.loads(file.merged(text, name, entry))

    known = tomllib.loads(text).get("mcp_servers", {})
    had = {f: v for f, v in known.get(name, {}).items() if f not in ("url", "headers")}
    if isinstance(had.get("env"), dict):
        had["env"] = {**had["env"], **env}
    elif env:
        had["env"] = env
    assert merged == {"mcp_servers": {**known, name: {**entry, **had, **_command(entry)}}}


def _command(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("command", "args")}


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n[mcp_servers.clew]\nx = 1\n"""\n[mcp_servers.clew]\ncommand = "old"\n',
        'mcp_servers = {o = {command = "x"}}\n',
        '[mcp_servers]\nclew.command = "x"\n',
    ],
)
def test_toml_is_merged_however_it_is_written(text: str) -> None:
    file = ClientFile(Path("config.toml"), "mcp_servers", False)
    entry = file.entry(["clew"], {})

    merged, known = tomllib.loads(file.merged(text, "clew", entry)), tomllib.loads(text)

    assert merged == {**known, "mcp_servers": {**known["mcp_servers"], "clew": entry}}
