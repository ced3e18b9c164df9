"""Escape sequences in everything that a command prints, and what a terminal got of them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import clew

PAYLOADS: Mapping[str, str] = {
    "colour": "\x1b[38;5;213m",
    "conceal": "\x1b[8m",
    "title": "\x1b]0;owned\x07",
    "title ended by ST": "\x1b]2;owned\x1b\\",
    "title report": "\x1b[21t",
    "link": "\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4K\x07",
    "palette": "\x1b]4;1;rgb:00/00/00\x07",
    "file transfer": "\x1b]1337;File=name=eA==;inline=0:AAAA\x07",
    "notification": "\x1b]777;notify;a;b\x07",
    "cursor report": "\x1b[6n",
    "device attributes": "\x1b[c",
    "answerback": "\x05",
    "status string": "\x1bP$qm\x1b\\",
    "termcap query": "\x1bP+q544e\x1b\\",
    "sixel": "\x1bPq#0;2;0;0;0~\x1b\\",
    "picture": "\x1b_Ga=T,f=24;AAAA\x1b\\",
    "privacy message": "\x1b^owned\x1b\\",
    "start of string": "\x1bXowned\x1b\\",
    "passthrough": "\x1bPtmux;\x1b\x1b]0;owned\x07\x1b\\",
    "reset": "\x1bc",
    "soft reset": "\x1b[!p",
    "clear": "\x1b[2J\x1b[3J\x1b[H",
    "alternate screen": "\x1b[?1049h",
    "hidden cursor": "\x1b[?25l",
    "mouse": "\x1b[?1000h\x1b[?1006h",
    "bracketed paste": "\x1b[?2004h",
    "scroll region": "\x1b[2;3r",
    "repeat": "A\x1b[2147483647b",
    "line drawing": "\x1b(0",
    "shift out": "\x0e",
    "alignment test": "\x1b#8",
    "cursor up": "\x1b[9A\x1b[2K",
    "backspaces": "rm\x08\x08ls",
    "carriage return": "harmful\rharmless",
    "bell": "\x07",
    "null": "a\x00b",
    "delete": "a\x7fb",
    "vertical tab": "a\x0bb",
    "form feed": "a\x0cb",
    "8-bit CSI": "\x9b31m",
    "8-bit OSC": "\x9d0;owned\x9c",
    "8-bit DCS": "\x90q\x9c",
    "next line": "a\x85[2] forged",
    "reverse index": "\x8d",
    "lone escape": "\x1b",
    "escape at the end of a line": "\x1b\n[31m",
    "right-to-left override": "\u202egnp.exe\u202c",
    "isolates": "\u2066\u2067\u2068a\u2069",
    "embeddings": "\u202a\u202b",
    "line separator": "a\u2028[2] forged",
    "paragraph separator": "a\u2029[2] forged",
    "tags": "\U000e0049\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065\U000e007f",
    "annotation": "\ufff9a\ufffab\ufffb",
    "markup": "[bold red]owned[/bold red][link=http://evil.example]x[/link]",
    "unclosed markup": "[/]",
}
"""What each would do to a terminal, or to who reads it there."""

STEERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Stated again rather than taken from Clew: all that no command may print but tab and line feed."""
_OWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[hl]|[12]K|\d*A|\d*B)|\r")
"""What rich writes itself: styles, and the cursor of a progress bar."""


class Shown(NamedTuple):
    """What a terminal got of a command."""

    arguments: tuple[str, ...]
    status: int
    text: str


QUESTION = "Who keeps the clipboard of Vell?"
ODD = "".join(
    PAYLOADS[name]
    for name in ("clipboard", "title report", "8-bit CSI", "right-to-left override", "markup")
)
"""What is given by hand where a command takes a text."""


def plant(folder: Path) -> None:
    """Write documents that hold the payloads wherever one can have text.

    Texts, titles, authors, metadata, headings, file names, reasons why a file cannot be read.
    """
    folder.mkdir()
    for number, (name, payload) in enumerate(PAYLOADS.items()):
        told = json.dumps(f"{name} {payload}")
        front = f"title: {told}\nauthor: {told}\ndate: 2024-02-{number % 28 + 1}\nnote: {told}"
        text = f"Ada Morn keeps the {name} of Vell. {payload} Vell is part of the Marn Trust."
        body = f"---\n{front}\n---\n# About {payload}\n\n{text}\n"
        (folder / f"{number}.md").write_text(body, encoding="utf-8", newline="")
    for number, payload in enumerate(PAYLOADS.values()):
        if not set(payload) & set("\x00/\n"):
            (folder / f"f{number}{payload}.md").write_text("Ada Morn walks.", encoding="utf-8")
            (folder / f"bad{number}{payload}.json").write_text("{", encoding="utf-8")
    every = "".join(PAYLOADS.values()).replace("\x00", "")
    (folder / "all.txt").write_text(every, encoding="utf-8", newline="")
    (folder / "half.json").write_text('{"text": "Half \\ud83d of Vell", "title": "\\ud800"}')


def _lines(file: Path, rows: Iterable[object]) -> None:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _plant_files(folder: Path) -> None:
    """A file of the reference memory server, half of which cannot be taken over; a BEIR set."""
    payloads = list(PAYLOADS.values())
    memory = [
        {"type": kind, "name": f"Memory of {one}", "entityType": one, "observations": [one]}
        for one in payloads
        for kind in ("entity", one)
    ]
    _lines(folder / "memory.jsonl", memory)
    judged = folder / "judged"
    (judged / "qrels").mkdir(parents=True)
    texts = [{"_id": f"d{n}{one}", "title": one, "text": one} for n, one in enumerate(payloads)]
    _lines(judged / "corpus.jsonl", texts)
    asked = [{"_id": f"q{n}{one}", "text": f"What is {one}?"} for n, one in enumerate(payloads)]
    _lines(judged / "queries.jsonl", asked)
    known = "q0\x1b[38;5;213m\td0\x1b[38;5;213m\t1\nq\x1b[c\td\x1b[c\t1\n"
    (judged / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{known}")


def name_entities(store: Path) -> list[str]:
    """Tie entities of hostile names to each other, and add texts by hostile sources; the names."""
    names = [f"Ada {payload} Morn{n}" for n, payload in enumerate(PAYLOADS.values())]
    entities = [{"name": name, "description": name} for name in names]
    relations = [
        {"source": one, "target": other, "relation_type": "knows"} for one, other in pairwise(names)
    ]
    with clew.open(store) as engine:
        for payload in PAYLOADS.values():
            text = f"Ada Morn of Vell met Ilse Marn: {payload}."
            engine.add(text, source=f"s:{payload}", title=payload, metadata={payload: payload})
        outcome = engine.tools.call("graph_upsert", {"entities": entities, "relations": relations})
        assert not outcome.is_error, outcome.text
    return names


def on_terminal(*arguments: str | Path, cwd: Path, answer: str = "", **environment: str) -> Shown:
    """What a terminal gets of a command; unless told otherwise it is one without colours."""
    given = tuple(map(str, arguments))
    status, text = _on_terminal(["-m", "clew", *given], cwd, answer, environment)
    return Shown(given, status, text)


def all_on_terminal(commands: Sequence[Sequence[str]], cwd: Path) -> list[Shown]:
    """The same of several commands, one after the other in one process: to start takes longest."""
    driver = f"""
import json, sys
from clew.cli import main
for command in json.load(open({str(cwd / _COMMANDS)!r}, encoding="utf-8")):
    sys.argv = ["clew", *command]
    try:
        main()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    print("{_END}", status, flush=True)
"""
    (cwd / _COMMANDS).write_text(json.dumps(commands), encoding="utf-8")
    status, text = _on_terminal(["-c", driver], cwd, "", {})
    assert status == 0, text[-2000:]
    ended = re.split(rf"{_END} (\d+)\n", text)
    pairs = zip(ended[::2], ended[1::2], strict=False)
    return [
        Shown(tuple(command), int(code), shown)
        for command, (shown, code) in zip(commands, pairs, strict=True)
    ]


_COMMANDS = "commands.json"
_END = "-=end of a command=-"


def _on_terminal(
    command: Sequence[str], cwd: Path, answer: str, environment: Mapping[str, str]
) -> tuple[int, str]:
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=cwd,
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "100", **environment},
    )
    os.close(end)
    os.write(terminal, answer.encode())
    data = b""
    with suppress(OSError):  # as Linux says it when the other end is closed
        while piece := os.read(terminal, 65536):
            data += piece
    os.close(terminal)
    return process.wait(120), data.decode().replace("\r\n", "\n")


def steering(shown: str) -> list[str]:
    """What of a command's text would steer a terminal, with what stands around it."""
    return [repr(shown[max(0, m.start() - 30) : m.end() + 10]) for m in STEERS.finditer(shown)]


def foreign(shown: str) -> list[str]:
    """The same where colours and bars are drawn: what Clew itself writes is left out."""
    return steering(_OWN.sub("", shown))


# --- every command


class Hostile(NamedTuple):
    """A folder of documents, indexed into a store in it, and hostile names of entities."""

    folder: Path
    names: list[str]


def hostile_store(folder: Path) -> Hostile:
    """Index what `plant` writes; what the command prints and logs of it is looked at, too."""
    plant(folder / "notes")
    _plant_files(folder)
    shown = on_terminal("index", "notes", "--verbose", cwd=folder)
    assert shown.status == 1
    assert "malformed JSON" in shown.text
    assert steering(shown.text) == []
    return Hostile(folder, name_entities(folder / ".clew"))


def commands(names: list[str]) -> list[tuple[str, ...]]:
    """Commands that print what a store holds, or what they were given, in each way they have."""
    strategies = ("graph", "keyword", "multi_hop", "local", "global", "topic", "temporal")
    searches = [("search", QUESTION, "--strategy", strategy) for strategy in strategies]
    return [
        *searches,
        *((*search, "--context", "--citations") for search in searches),
        ("search", QUESTION, "--explain", "--limit", "60"),
        ("search", "hierarchy", "--strategy", "hierarchical", "--context"),
        ("search", QUESTION, "--json"),
        ("documents",),
        ("documents", "--json"),
        ("show", "notes/1.md"),
        ("show", "all.txt", "--text"),
        ("show", "half.json"),
        ("show", "all.txt", "--json"),
        ("entity", "show", names[1]),
        ("entity", "neighbors", names[2], "--depth", "2"),
        ("entity", "edit", names[3], "--name", f"{names[3]} {ODD}"),
        ("path", names[4], names[6]),
        ("timeline", "Ada Morn"),
        ("communities",),
        ("topics",),
        ("subgraph", "Ada Morn"),
        ("subgraph", "Ada Morn", "--format", "json"),
        ("subgraph", "Ada Morn", "--format", "graphml"),
        ("stats", "--graph"),
        ("stats", "--json"),
        ("check",),
        ("index", "notes"),
        ("reindex",),
        ("import", "memory.jsonl"),
        ("eval", "judged", "--strategy", "keyword"),
        ("entity", "merge", names[7], names[8]),
        ("entity", "split", names[8], names[7]),
        ("backup", f"backup{ODD.replace('/', '')}"),
        ("restore", f"backup{ODD.replace('/', '')}", "--yes"),
        ("copy", "--to", f"copy{ODD.replace('/', '')}"),
        ("export", "-o", f"export{ODD.replace('/', '')}"),
        ("delete", f"s:{PAYLOADS['clipboard']}"),
        ("export",),
        ("export", "--format", "graphml"),
        ("call", "query_documents", json.dumps({"query": QUESTION})),
        ("call", "list_documents"),
        ("install", "codex", "--name", ODD),
        ("token", ODD[:64]),
    ]


def refused(text: str) -> list[tuple[str, ...]]:
    """Commands that say what they were given, and why it cannot be."""
    return [
        ("show", text),
        ("entity", "show", text),
        ("search", QUESTION, "--strategy", "hierarchical", "--layer", text),
        ("search", QUESTION, "--since", text),
        ("search", QUESTION, "--strategy", text),
        ("search", QUESTION, "--limit", text),
        (f"--{text}",),
        (text,),
        ("call", text),
        ("call", "query_documents", text),
        ("call", "query_documents", json.dumps({text: text})),
        ("index", text),
        ("import", text),
        ("eval", text),
        ("stats", "--store", f"neo4j://{text}"),
        ("stats", "--namespace", text),
    ]


def write_through_every_command(hostile: Hostile) -> str:
    """No command, done or refused, prints a control of what it shows or of what it was given."""
    done, given_up = commands(hostile.names), refused(ODD)

    shown = all_on_terminal([*done, *given_up], hostile.folder)

    _none(s.arguments for s in shown if steering(s.text))
    _none((s.arguments, s.text) for s in shown if "Traceback" in s.text or not s.text.strip())
    _none((s.arguments, s.text) for s in shown[: len(done)] if s.status not in (0, 1))
    _none((s.arguments, s.text) for s in shown[len(done) :] if s.status != 2)
    characters = sum(len(s.text) for s in shown)
    return f"{len(PAYLOADS)} payloads, {len(shown)} commands, {characters:,} characters, 0 steer"


def _none(broken: Iterable[object]) -> None:
    found = list(broken)
    assert not found, found
