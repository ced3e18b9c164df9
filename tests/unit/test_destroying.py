"""What deletes and prunes takes exactly what it names."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.cli import main
from clew.errors import InputError, NotFoundError
from clew.indexing import pipeline as incremental
from clew.jobs import make_runner
from clew.operations.spec import FULL, Parameter, Tool
from clew.operations.toolbox import OPERATIONS, Toolbox, audit_to
from clew.stores.sqlite.journal import SqliteAudit
from clew.text import entity_key
from clew.types import Document, NewEntity, file_source, record_source, source_path
from tests.unit.files import write

# --- What destroys names exactly what it destroys: by each way, the one that was named goes.


SPARINGLY = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
parts = st.text("12ab", min_size=1, max_size=3)
sources = st.builds("".join, st.lists(st.sampled_from(["1", "2", "b.md", "a", "/"]), min_size=1))
"""Prefixes, endings, digits and parts of one another; none is a path from the root."""
sources = sources.filter(lambda source: not source.startswith("/"))
several = st.lists(sources, min_size=2, max_size=6, unique=True)
NAMES = ("1", "2", "12", "Q", "R", "QR", "Ada", "Adam", "Ada Morn", "Morn", "C", "C#", "C++")
names = st.lists(st.sampled_from(NAMES), min_size=2, unique_by=entity_key)


@pytest.fixture
def toolbox(engine: clew.Clew) -> Toolbox:
    return logged(engine)[0]


def logged(engine: clew.Clew, *more: Tool) -> tuple[Toolbox, SqliteAudit]:
    """All tools, and the log of what they are asked for."""
    log, services = SqliteAudit(engine.state.journal), {"jobs": make_runner(engine)}
    tools = (*OPERATIONS, *more)
    return Toolbox(engine, tools, profile=None, services=services, audit=audit_to(log)), log


def held(engine: clew.Clew) -> set[str]:
    return {document.source for document in engine.documents.list()}


def fill(engine: clew.Clew, wanted: Iterable[str]) -> None:
    engine.documents.delete(sorted(d.id for d in engine.documents.list()))
    for source in wanted:
        engine.add(f"Ada Morn wrote {source!r}.", source=source)


# --- documents


@SPARINGLY
@given(wanted=several, at=st.integers(0, 5), by_tool=st.booleans(), by_id=st.booleans())
def test_of_documents_exactly_the_one_named_goes(
    engine: clew.Clew, toolbox: Toolbox, wanted: list[str], at: int, by_tool: bool, by_id: bool
) -> None:
    fill(engine, wanted)
    gone = wanted[at % len(wanted)]
    name = engine.documents.named(gone).id if by_id else gone

    if by_tool:
        assert not toolbox.call("delete_document", {"document": name, "confirm": True}).is_error
    else:
        assert engine.delete([name]) == 1

    assert held(engine) == set(wanted) - {gone}


@SPARINGLY
@given(wanted=several, missing=sources, by_tool=st.booleans())
def test_what_is_no_whole_name_is_offered_and_never_taken(
    engine: clew.Clew, toolbox: Toolbox, wanted: list[str], missing: str, by_tool: bool
) -> None:
    stored = [source for source in wanted if source != missing]
    fill(engine, stored)

    if by_tool:
        outcome = toolbox.call("delete_document", {"document": missing, "confirm": True})
        assert outcome.is_error
        said = outcome.text
    else:
        with pytest.raises(NotFoundError) as raised:
            engine.delete([missing])
        said = str(raised.value)

    assert held(engine) == set(stored)
    near = [source for source in stored if missing in source]
    assert not near or ("did you mean" in said and any(repr(source) in said for source in near))


def test_a_name_that_two_documents_have_is_neither(
    engine: clew.Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("A file.")
    engine.index(["a.md"])
    engine.add("A text.", source="a.md")

    with pytest.raises(NotFoundError, match=r"no single document 'a.md'; did you mean .*a\.md' \("):
        engine.delete(["a.md"])

    assert engine.delete([str(tmp_path / "a.md")]) == 1
    assert held(engine) == {"a.md"}


@pytest.mark.parametrize("titles", [("Kayak", "Kayak 2"), ("Kayak 2", "Kayak"), ("Kayak",)])
def test_a_title_is_no_name_and_says_which_is_meant(
    engine: clew.Clew, titles: tuple[str, ...]
) -> None:
    """A title may be that of several, today or tomorrow: what has it is told by its name."""
    for title in titles:
        engine.add(f"On {title}.", title=title)
    names = {document.title: document.source for document in engine.documents.list()}
    told = ", ".join(f"{names[title]!r} (titled {title!r})" for title in sorted(titles))

    with pytest.raises(NotFoundError, match=re.escape(f"did you mean {told}?")):
        engine.delete(["Kayak"])

    assert engine.delete([names["Kayak"]]) == 1


# --- the command line


@pytest.mark.parametrize(
    ("arguments", "left", "said"),
    [
        (["12"], {"1", "2", "dd/ab.md"}, "1 deleted"),
        (["b.md"], {"1", "2", "12", "dd/ab.md"}, "did you mean 'dd/ab.md'?"),
        (["1", "b.md"], {"1", "2", "12", "dd/ab.md"}, "did you mean 'dd/ab.md'?"),
        (["--glob", "b.md"], {"1", "2", "12", "dd/ab.md"}, "0 deleted"),
        (
            ["--glob", "*.md"],
            {"1", "2", "12", "dd/ab.md"},
            "1 document matches; add --yes to delete it",
        ),
        (
            ["--where", "title=12"],
            {"1", "2", "12", "dd/ab.md"},
            "1 document matches; add --yes to delete it",
        ),
        (["--glob", "*.md", "--yes"], {"1", "2", "12"}, "1 deleted"),
        (["--glob", "1*", "--where", "title=12", "--yes"], {"1", "2", "dd/ab.md"}, "1 deleted"),
        (["1", "--where", "title=2", "--yes"], {"1", "2", "12", "dd/ab.md"}, "say what to delete"),
        (["1", "--glob", "2", "--yes"], {"1", "2", "12", "dd/ab.md"}, "say what to delete"),
    ],
)
def test_a_command_deletes_what_it_names_and_asks_for_several(
    engine: clew.Clew,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    left: set[str],
    said: str,
) -> None:
    for source in ("1", "2", "12", "dd/ab.md"):
        engine.add(f"Ada Morn wrote {source}.", source=source, title=source)

    place = str(engine.settings.store)
    monkeypatch.setattr("sys.argv", ["clew", "delete", *arguments, "--store", place])
    with pytest.raises(SystemExit) as ended:
        main()

    shown = capsys.readouterr()
    assert said in " ".join(re.sub("[│╭╮╰╯─]", " ", shown.out + shown.err).split())
    assert (not ended.value.code) == shown.out.endswith(" deleted\n")
    assert held(engine) == left


# --- entities


@SPARINGLY
@given(wanted=names, at=st.integers(0, 12), by_tool=st.booleans())
def test_of_entities_exactly_the_one_named_goes(
    engine: clew.Clew, toolbox: Toolbox, wanted: list[str], at: int, by_tool: bool
) -> None:
    memory = engine.entities.memory
    memory.delete_entities(NAMES)
    memory.add_entities([NewEntity(name=name) for name in wanted], [[f"Of {n}."] for n in wanted])
    gone = wanted[at % len(wanted)]

    if by_tool:
        toolbox.call("delete_entities", {"entityNames": [gone]})
    else:
        assert memory.delete_entities([gone]) == [gone]

    assert set(memory.find(wanted)) == set(wanted) - {gone}
    left = sorted(name for name in wanted if name != gone)
    cards = (d.title for d in engine.documents.list() if d.source.startswith("entity:"))
    assert sorted(cards) == left


@pytest.mark.parametrize(
    "change",
    [
        lambda entities, name: entities.merge(name, "Tarn Abbey"),
        lambda entities, name: entities.merge("Tarn Abbey", name),
        lambda entities, name: entities.refuse(name, "Tarn Abbey"),
        lambda entities, name: entities.rename(name, "Edda"),
        lambda entities, name: entities.retype(name, "place"),
        lambda entities, name: entities.split(name, [name]),
        lambda entities, name: entities.split("Ada Morn", [name]),
        lambda entities, name: entities.memory.delete_observations([(name, ["Sings."])]),
    ],
)
@pytest.mark.parametrize("name", ["ada morn", "Ada-Morn", "The Ada Morn", "Ada", "A. Morn"])
def test_no_other_name_is_taken_for_that_of_an_entity(
    engine: clew.Clew, name: str, change: Callable[[Any, str], object]
) -> None:
    made = [NewEntity(name=one) for one in ("Ada Morn", "Tarn Abbey")]
    engine.entities.memory.add_entities(made, [["Sings."], []])
    before = (engine.entities.get("Ada Morn"), held(engine), engine.store.link_rules())

    with pytest.raises(NotFoundError):
        change(engine.entities, name)

    assert (engine.entities.get("Ada Morn"), held(engine), engine.store.link_rules()) == before


def test_a_name_that_is_another_ones_id_is_neither(engine: clew.Clew) -> None:
    ((one, _),) = engine.entities.memory.add_entities([NewEntity(name="Ada Morn")])
    engine.entities.memory.add_entities([NewEntity(name=str(one))])

    with pytest.raises(NotFoundError, match=rf"no single entity '{one}'; did you mean"):
        engine.entities.rename(str(one), "Edda")

    engine.entities.rename("Ada Morn", "Edda")
    assert engine.entities.get("Edda").id == one


# --- one for several


SEVERAL = re.compile(r"(Sequence|Collection|Iterable)\[(str|int|str \| Path|Path)\]( \| None)?")


def takes_several(engine: clew.Clew) -> Iterator[tuple[str, Callable[..., object], str]]:
    """The public methods with a parameter that is several names, paths or ids."""
    parts = ("", "documents", "entities", "graph", "maintenance", "searching", "enriching")
    owners = {name: getattr(engine, name) if name else engine for name in parts}
    owners["memory"] = engine.entities.memory
    owners["extractions"] = engine.entities.agent_extractions
    owners["store"] = engine.store
    for owner, value in owners.items():
        for name, method in inspect.getmembers(value, callable):
            if not name.startswith("_") and inspect.ismethod(method):
                for parameter in inspect.signature(method).parameters.values():
                    wanted = owner != "store" or name.startswith(("delete", "retract", "restore"))
                    if SEVERAL.fullmatch(str(parameter.annotation)) and wanted:
                        yield f"{owner}.{name}", method, parameter.name


def test_one_text_never_stands_for_several(engine: clew.Clew) -> None:
    found, taken = list(takes_several(engine)), []
    for place, method, several in found:
        if several == "where" or place.endswith("restore_names"):
            continue  # filters are a language; keys are computed
        others: dict[str, list[object]] = {
            parameter.name: []
            for parameter in inspect.signature(method).parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        }
        try:
            method(**{**others, several: "12"})
            said = "nothing"
        except (InputError, TypeError, AttributeError) as error:
            said = str(error)
        if "is '12'; expected a list" not in said:
            taken.append((place, several, said))
    assert taken == []
    assert len(found) > 25
    with pytest.raises(InputError, match="packs is 'papers'"):
        clew.open(engine.settings.store, packs="papers")


def test_one_text_is_not_several_observations(engine: clew.Clew) -> None:
    memory = engine.entities.memory
    memory.add_entities([NewEntity(name="Ada Morn")], [["S", "i"]])
    for tell in (
        lambda: memory.add_observations([("Ada Morn", "Si")]),
        lambda: memory.delete_observations([("Ada Morn", "Si")]),
        lambda: memory.add_entities([NewEntity(name="Edda")], ["Si"]),
    ):
        with pytest.raises(InputError, match="observations is 'Si'"):
            tell()
    assert [d.title for d in engine.documents.list()] == ["Ada Morn"] * 3


# --- kinds of sources


@given(
    files=st.lists(
        st.text("a.#\\x23 1", min_size=1).filter(lambda n: n.strip(".")), min_size=1, unique=True
    ),
    keys=st.lists(st.text("a.#1 ", min_size=1), min_size=1, unique=True),
)
def test_no_file_has_the_source_of_a_record(files: list[str], keys: list[str]) -> None:
    whole = [file_source(Path("/notes") / name) for name in files]
    records = [record_source(container, key) for container in whole for key in keys]
    assert not set(whole) & set(records)
    assert len(set(records)) == len(set(whole)) * len(keys)


def test_a_file_and_a_record_with_its_name_are_two(engine: clew.Clew, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    lines = [json.dumps({"_id": str(n), "text": f"Record {n}."}) for n in (1, 2)]
    (folder / "n.jsonl").write_text("\n".join(lines))
    (folder / "n.jsonl#1").write_text("The file.")
    (folder / "invoice #12.md").write_text("An invoice.")

    first, again = engine.index([folder]), engine.index([folder])

    assert (first.added, again.unchanged, again.changed, again.added) == (4, 4, 0, 0)
    base = file_source(folder)
    assert f"{base}/invoice #12.md" in held(engine)
    assert engine.documents.text(f"{base}/n.jsonl#2") == "Record 2."
    assert engine.delete([f"{base}/n.jsonl#2"]) == 1
    texts = {engine.documents.text(document.id) for document in engine.documents.list()}
    assert texts == {"Record 1.", "The file.", "An invoice."}


def test_what_is_stated_by_hand_has_sources_that_nobody_gives(
    engine: clew.Clew, toolbox: Toolbox
) -> None:
    engine.entities.memory.add_entities(
        [NewEntity(name="Ada Morn", entity_type="person")], [["Sings."]]
    )
    stated = sorted(held(engine))
    texts = [engine.documents.text(source) for source in stated]
    assert [source.partition(":")[0] for source in stated] == ["entity", "memory"]

    for source in (*stated, "memory:notes", "entity:x"):
        for add in (
            partial(engine.add, "Another text.", source=source),
            partial(engine.add_documents, [Document(source=source, text="x")]),
            partial(engine.add_documents, [Document(source="x", origin=source, text="x")]),
        ):
            with pytest.raises(InputError, match=r"is stated by hand .*give the text another sou"):
                add()
        refused = toolbox.call("ingest_document", {"text": "Another text.", "source": source})
        assert refused.is_error

    assert [engine.documents.text(source) for source in stated] == texts
    assert sorted(held(engine)) == stated


@pytest.mark.parametrize("source", ["memory:notes", "memory:ada morn", "memory:ada morn#0123"])
def test_a_text_that_took_such_a_source_is_mended(
    engine: clew.Clew, tmp_path: Path, source: str
) -> None:
    engine.entities.memory.add_entities([NewEntity(name="Ada Morn")], [["Sings."]])
    engine.add("Tarn Abbey is old.", source="notes")
    with closing(sqlite3.connect(engine.store.folder / "clew.db")) as connection, connection:
        connection.execute(
            "UPDATE documents SET source = ?, origin = ? WHERE source = 'notes'", (source, source)
        )

    assert [p.invariant for p in engine.maintenance.check().problems] == ["memory"]
    assert engine.maintenance.check(repair=True).problems == ()

    engine.maintenance.backup(tmp_path / "copy.db")
    engine.entities.memory.delete_entities(["Ada Morn"])
    assert [engine.documents.text(d.id) for d in engine.documents.list()] == ["Tarn Abbey is old."]


# --- the audit log


def test_the_log_says_what_was_done_what_was_refused_and_what_failed(engine: clew.Clew) -> None:
    def break_down(*_: object) -> dict[str, Any]:
        raise ZeroDivisionError

    broken = Tool(
        name="break_down", title="", description="", parameters=(), result={}, run=break_down,
        scope="write", profiles=FULL,
    )  # fmt: skip
    box, log = logged(engine, broken)
    unconfirmed, confirmed = {"document": "a"}, {"document": "a", "confirm": True}
    calls: list[tuple[str, dict[str, Any], bool, str]] = [
        ("ingest_document", {"text": "Ada Morn sings.", "source": "a"}, False, "done"),
        ("delete_document", unconfirmed, False, "refused"),
        ("delete_document", {"document": "b", "confirm": True}, False, "refused"),
        ("delete_document", confirmed, True, "refused"),
        ("ingest_document", {"path": "/etc/passwd"}, False, "refused"),
        ("ingest_document", {"text": "x", "source": "memory:notes"}, False, "refused"),
        ("delete_entities", {"entityNames": ["a"]}, True, "refused"),
        ("break_down", {}, False, "failed"),
        ("delete_document", confirmed, False, "done"),
    ]
    for name, arguments, declined, _ in calls:
        box.call(name, arguments, declined=declined)
    expected = [(name, outcome) for name, _, _, outcome in calls]
    assert [(entry.tool, entry.outcome) for entry in reversed(log.entries())] == expected


def example(parameter: Parameter) -> object:
    """What a parameter takes, and what names nothing that there is."""
    if parameter.kind == "objects":
        return [{field.name: example(field) for field in parameter.fields}]
    if parameter.name in ("dry_run", "confirm"):
        return parameter.name == "confirm"
    kinds = {"integer": 987_654, "number": 0.0, "boolean": True, "strings": ["Nobody"]}
    most = parameter.maximum
    value = kinds.get(parameter.kind, "Nobody")
    return min(value, most) if isinstance(value, int) and most is not None else value


DESTROYING = [tool for tool in OPERATIONS if tool.destructive]


def fill_memory(engine: clew.Clew) -> dict[str, Any]:
    """Values that name something that there is, by tool."""
    fill(engine, ["a"])
    engine.add("Jonas Reed works for Harrow Mill.", source="b")
    made = [NewEntity(name="Ada Morn"), NewEntity(name="Tarn Abbey")]
    engine.entities.memory.add_entities(made, [["Sings."], []])
    triple = {"from": "Ada Morn", "to": "Tarn Abbey", "relationType": "knows"}
    engine.tools.call("create_relations", {"relations": [triple]})
    (relation,) = engine.store.relations([engine.entities.get("Ada Morn").id], 10)
    assert not engine.tools.call("backup", {"name": "one"}).is_error
    return {
        "delete_document": {"document": "a"},
        "delete_entities": {"entityNames": ["Ada Morn", "Nobody"]},
        "delete_observations": {
            "deletions": [{"entityName": "Ada Morn", "observations": ["Sings."]}]
        },
        "delete_relations": {"relations": [triple]},
        "delete_relation": {"relation_id": relation.id},
        "prune_graph": {"dry_run": False, "below": 1.0},
        "restore": {"name": "one"},
    }


@pytest.mark.parametrize("tool", DESTROYING, ids=lambda tool: tool.name)
def test_what_finds_nothing_is_not_logged_as_done(engine: clew.Clew, tool: Tool) -> None:
    there = fill_memory(engine)
    box, log = logged(engine)
    before = engine.store.generation()
    nothing = {parameter.name: example(parameter) for parameter in tool.parameters}

    outcome = box.call(tool.name, nothing)

    (entry,) = log.entries(limit=1)
    assert (entry.tool, engine.store.generation()) == (tool.name, before)
    assert entry.outcome == ("refused" if outcome.is_error else "nothing"), outcome.text

    confirmed = {"confirm": True} if "confirm" in nothing else {}
    outcome = box.call(tool.name, there[tool.name] | confirmed)

    assert not outcome.is_error, outcome.text
    assert log.entries(limit=1)[0].outcome == "done"


# --- What `index(prune=True)` drops: what was read from files that are gone, and nothing
# else.


# Whatever Linux takes for the name of a file.
FILES_NAMES = st.binary(min_size=1, max_size=40).map(
    lambda name: name.replace(b"/", b"\\x2f").replace(b"\x00", b"\\").lstrip(b".") or b"\\xe9"
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "GRACE_SECONDS", 0.0)


@given(names=st.lists(FILES_NAMES, min_size=1, max_size=8, unique=True))
def test_a_source_tells_the_bytes_of_a_name_and_no_two_names_have_one(names: list[bytes]) -> None:
    paths = [Path(os.fsdecode(b"/nowhere/" + name)) for name in names]
    found = [file_source(path) for path in paths]
    assert [os.fsencode(source_path(source)) for source in found] == [*map(os.fsencode, paths)]
    assert len(set(found)) == len(set(paths))


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), names=st.sets(FILES_NAMES, min_size=2, max_size=6))
def test_files_are_pruned_by_the_bytes_of_their_names(
    data: st.DataObject, names: set[bytes], engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    root = tmp_path / "notes"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    files = [os.path.join(os.fsencode(root), name + b".md") for name in sorted(names)]
    for number, file in enumerate(files):
        with open(file, "w") as written:
            written.write(f"Note number {number} of Ada Morn.")
    engine.index([root], prune=True)
    gone = data.draw(st.sets(st.sampled_from(files), max_size=len(files) - 1))
    for file in gone:
        os.unlink(file)
    lost = {file_source(Path(os.fsdecode(file))) for file in gone}
    for prune in (False, False, True, True):  # what is dropped does not depend on the run
        report = engine.index([root], prune=prune)
        assert (set(report.gone), len(held(engine))) == (
            (set(), len(files) - len(gone)) if prune else (lost, len(files))
        )
    assert not held(engine) & lost


def emptied(root: Path) -> None:
    shutil.rmtree(root)
    root.mkdir()


@pytest.mark.parametrize(
    ("given", "lose"),
    [
        ("disk", lambda root: root.rename(root.with_name("away"))),
        ("disk", emptied),
        ("disk", lambda root: [file.unlink() for file in root.rglob("*.md")]),
        ("disk/a.md", lambda root: (root / "a.md").unlink()),
    ],
    ids=["missing", "empty", "empty folders", "one file"],
)
def test_a_root_that_is_missing_or_empty_drops_nothing_and_says_so(
    given: str, lose: Callable[[Path], object], engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    write(tmp_path, "disk/a.md", "disk/inner/b.md", text="Ada Morn repairs clocks.")
    engine.index([tmp_path / "disk"], prune=True)
    before = held(engine)
    lose(tmp_path / "disk")
    report = engine.index([tmp_path / given], prune=True)
    assert (report.pruned, report.gone, held(engine)) == (0, (), before)
    assert [skipped.source for skipped in report.skipped] == [str(tmp_path / given)]


def test_what_a_caller_gave_and_what_lies_elsewhere_is_never_pruned(
    engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    folder, gone, elsewhere = tmp_path / "a", tmp_path / "a" / "gone.md", tmp_path / "other.md"
    write(folder, "ada.md", text="Ada Morn repairs clocks.")
    for file in (gone, elsewhere):
        file.write_text(f"Piet Oss built the tower of {file.stem}.")
    engine.add("Piet Oss built the tower.", source=str(folder / "given.md"))
    engine.add_documents([Document(source=str(folder / "made.md"), text="Brida Kall sails.")])
    engine.index([folder / "ada.md", gone, elsewhere])
    for file in (gone, elsewhere):
        file.unlink()
    assert engine.documents.preview([folder]).gone == (str(gone),)
    assert [engine.index([folder], prune=prune).pruned for prune in (False, True)] == [0, 1]
    kept = {str(folder / name) for name in ("ada.md", "given.md", "made.md")}
    assert held(engine) == {*kept, str(elsewhere)}


def test_a_text_that_a_file_takes_the_place_of_goes_with_the_file(
    engine: clew.Clew, tmp_path: Path, quick: None
) -> None:
    file = tmp_path / "ada.md"
    (tmp_path / "other.md").write_text("Piet Oss built the tower.")
    engine.add("Ada Morn repairs clocks.", source=str(file))
    file.write_text("Ada Morn repairs clocks.")
    assert engine.index([tmp_path]).changed == 1
    file.unlink()
    assert engine.index([tmp_path], prune=True).pruned == 1


def test_a_file_that_is_saved_by_deleting_it_keeps_its_history(
    engine: clew.Clew, tmp_path: Path
) -> None:
    (tmp_path / "other.md").write_text("Piet Oss built the tower.")
    file = tmp_path / "ada.md"
    for text in ("Ada Morn repairs clocks.", "Ada Morn repairs bells."):
        file.write_text(text)
        engine.index([tmp_path])
    file.unlink()
    saving = threading.Timer(
        incremental.GRACE_SECONDS / 4, file.write_text, ["Ada Morn repairs organs."]
    )
    saving.start()
    assert engine.index([tmp_path], prune=True).pruned == 0
    saving.join()
    engine.index([tmp_path], prune=True)
    assert [version.version for version in engine.documents.versions(str(file))] == [1, 2, 3]


def test_a_file_that_changes_while_it_is_looked_at_again_drops_no_record(
    engine: clew.Clew, tmp_path: Path
) -> None:
    file, whole = tmp_path / "n.jsonl", "".join(f'{{"text": "Record {n}."}}\n' for n in range(5))
    file.write_text(whole)
    engine.index([file])
    before = held(engine)
    file.write_text(whole[: len(whole) // 2])
    writing = threading.Timer(incremental.GRACE_SECONDS / 4, file.write_text, [whole])
    writing.start()
    assert engine.index([file], prune=True).pruned == 0
    writing.join()
    assert before <= held(engine)


def test_a_path_that_is_too_long_is_told_and_not_passed_over(
    engine: clew.Clew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "ada.md").write_text("Ada Morn repairs clocks.")
    with monkeypatch.context() as within:
        within.chdir(root)
        for _ in range(20):  # of 4,096 bytes at most
            os.mkdir("d" * 250)
            os.chdir("d" * 250)
        Path("deep.md").write_text("Piet Oss built the tower.")
    report = engine.index([root])
    assert report.added == 1
    assert [skipped.reason for skipped in report.skipped] == ["file name too long"]
    shutil.rmtree(root)


# --- Entities that little speaks for are taken out, stay out, and can be restored.


SURE = "Here Foobaria uses Barfood."
UNSURE = "There Quuxitis came again, and Foobaria."


@pytest.fixture
def pruned_engine(engine: clew.Clew) -> clew.Clew:
    engine.add(SURE, source="a", title="Harbours")
    engine.add(UNSURE, source="b", title="Ferries")
    return engine


def unsure(engine: clew.Clew, below: float = 0.4) -> list[str]:
    return [one.name for one in engine.graph.prune(below=below, entities=True).entities]


def entities_names(engine: clew.Clew) -> set[str]:
    return {known.name for known in engine.store.known_names()}


def test_a_dry_run_names_the_unsure_with_reasons_and_changes_nothing(
    pruned_engine: clew.Clew,
) -> None:
    report = pruned_engine.graph.prune(below=0.4, entities=True)
    assert [one.name for one in report.entities] == ["Quuxitis"]
    assert report.entities[0].reason == "confidence 0.30: 1 document, no type, no relation"
    assert "Quuxitis" in entities_names(pruned_engine)
    assert pruned_engine.graph.prune(below=0.4).entities == ()


def test_what_was_pruned_stays_out_until_it_is_restored(pruned_engine: clew.Clew) -> None:
    pruned_engine.graph.prune(below=0.4, entities=True, dry_run=False)
    assert "Quuxitis" not in entities_names(pruned_engine)
    assert {"Foobaria", "Barfood", "Harbours"} <= entities_names(pruned_engine)
    pruned_engine.add(f"Now {UNSURE}", source="b")
    pruned_engine.add("Then Quuxitis uses Foobaria.", source="c")
    assert "Quuxitis" not in entities_names(pruned_engine)
    assert pruned_engine.graph.pruned_names() == ["Quuxitis"]
    assert pruned_engine.graph.restore_names("quuxitis") == 1
    pruned_engine.add("Today Quuxitis uses Foobaria.", source="c")
    assert "Quuxitis" in entities_names(pruned_engine)
    with pytest.raises(NotFoundError, match="not pruned"):
        pruned_engine.graph.restore_names("Quuxitis")


def test_reindexing_brings_restored_names_back_from_unchanged_texts(
    pruned_engine: clew.Clew,
) -> None:
    pruned_engine.graph.prune(below=0.4, entities=True, dry_run=False)
    pruned_engine.graph.restore_names("Quuxitis")
    assert pruned_engine.maintenance.reindex().changed == 1  # the text that has the name
    assert "Quuxitis" in entities_names(pruned_engine)
    assert pruned_engine.maintenance.reindex().changed == 0


def test_a_run_that_is_killed_goes_on_where_it_was(
    engine: clew.Clew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it ends, the store is whole, and the work of earlier runs is not asked for again."""
    monkeypatch.setattr("clew.engine.graph.AT_A_TIME", 2)
    texts = [f"There {name}itis uses {name}oda." for name in ("Foo", "Bar", "Qux", "Zim")]
    for number, text in enumerate(texts):
        engine.add(text, source=str(number))
    left = engine.graph.prune(below=1.0, entities=True)
    first = (len(left.relations), len(left.entities))
    runs = 0
    while left.relations or left.entities:
        with monkeypatch.context() as patched:
            for name in ("retract", "prune_entities"):
                kill_after_one(patched, engine, name)
            with pytest.raises(KeyboardInterrupt):
                engine.graph.prune(below=1.0, entities=True, dry_run=False)
        before = len(left.relations) + len(left.entities)
        assert not engine.maintenance.check().problems
        left = engine.graph.prune(below=1.0, entities=True)
        assert len(left.relations) + len(left.entities) < before
        runs += 1
    assert min(first) > 2
    assert runs >= sum(first) // 2


def kill_after_one(patched: pytest.MonkeyPatch, engine: clew.Clew, name: str) -> None:
    """End a run behind the first batch that it has written."""
    write = getattr(engine.store, name)

    def once(*given: object, **more: object) -> None:
        write(*given, **more)
        raise KeyboardInterrupt

    patched.setattr(engine.store, name, once)


def test_what_was_stated_by_hand_and_what_documents_are_about_is_never_pruned(
    pruned_engine: clew.Clew,
) -> None:
    assert {"Harbours", "Ferries"}.isdisjoint(unsure(pruned_engine, 1.0))
    made = NewEntity(name="Quuxitis", entity_type="concept", content="")
    pruned_engine.entities.memory.add_entities([made])
    assert "Quuxitis" not in unsure(pruned_engine, 1.0)
    one, other = (pruned_engine.entities.get(name).id for name in ("Foobaria", "Barfood"))
    assert {"Foobaria", "Barfood"} <= set(unsure(pruned_engine, 1.0))
    pruned_engine.entities.add_relation(one, other, "serves")
    assert {"Foobaria", "Barfood"}.isdisjoint(unsure(pruned_engine, 1.0))
