"""What destroys names exactly what it destroys: by each way, the one that was named goes."""

from __future__ import annotations

import inspect
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.cli import main
from clew.errors import InputError, NotFoundError
from clew.jobs.runner import make_runner
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from clew.tools.spec import FULL, Parameter, Tool
from clew.tools.toolbox import TOOLS, Toolbox, audit_to
from clew.types import Document, NewEntity
from clew.types.values import file_source, record_source
from clew.wiring import make_audit

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
def engine(tmp_path: Path) -> Iterator[clew.Clew]:
    with clew.open(tmp_path / "store", embedder=HashEmbedder(dimension=8)) as engine:
        yield engine


@pytest.fixture
def toolbox(engine: clew.Clew) -> Toolbox:
    return Toolbox(engine, TOOLS, profile=None, services={"jobs": make_runner(engine)})


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

    with pytest.raises(NotFoundError, match=r"no single document 'a.md'; did you mean .*a\.md \("):
        engine.delete(["a.md"])

    assert engine.delete([str(tmp_path / "a.md")]) == 1
    assert held(engine) == {"a.md"}


def test_documents_of_the_issue(engine: clew.Clew) -> None:
    fill(engine, ["1", "2", "12", "notes/ab.md"])

    with pytest.raises(InputError, match=r"names is '12'; expected a list, such as \['12'\]"):
        engine.delete("12")
    with pytest.raises(NotFoundError, match=r"did you mean 'notes/ab\.md'\?"):
        engine.delete(["b.md"])
    assert engine.delete(["12"]) == 1

    assert held(engine) == {"1", "2", "notes/ab.md"}


# --- the command line


def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    """Exit status, output and errors of a command that nobody watches."""
    monkeypatch.setattr("sys.argv", ["clew", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


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
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    left: set[str],
    said: str,
) -> None:
    place = str(tmp_path / "store")
    with clew.open(place, embedder=HashEmbedder()) as engine:
        for source in ("1", "2", "12", "dd/ab.md"):
            engine.add(f"Ada Morn wrote {source}.", source=source, title=source)

    status, out, errors = run(capsys, monkeypatch, "delete", *arguments, "--store", place)

    assert said in " ".join(re.sub("[│╭╮╰╯─]", " ", out + errors).split())
    assert (status == 0) == out.endswith(" deleted\n")
    with clew.open(place, embedder=HashEmbedder()) as engine:
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


def test_entities_of_the_issue(engine: clew.Clew, toolbox: Toolbox) -> None:
    memory = engine.entities.memory
    memory.add_entities([NewEntity(name=name) for name in ("Q", "R", "C", "Ada Morn")])

    with pytest.raises(InputError, match="names is 'QR'"):
        memory.delete_entities("QR")
    told = toolbox.call("delete_entities", {"entityNames": ["C#", "ada morn"]}).content["message"]

    assert told == "Deleted 0 of 2 entities. Not found: C#, ada morn. Did you mean C, Ada Morn?"
    assert set(memory.find(["Q", "R", "C", "Ada Morn"])) == {"Q", "R", "C", "Ada Morn"}


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
    for told in (memory.add_observations, memory.delete_observations):
        with pytest.raises(InputError, match="observations is 'Si'"):
            told([("Ada Morn", "Si")])
    with pytest.raises(InputError, match="observations is 'Si'"):
        memory.add_entities([NewEntity(name="Edda")], ["Si"])
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
        with pytest.raises(InputError, match=r"is stated by hand .*give the text another source"):
            engine.add("Another text.", source=source)
        with pytest.raises(InputError, match="is stated by hand"):
            engine.add_documents([Document(source=source, text="x")])
        with pytest.raises(InputError, match="is stated by hand"):
            engine.add_documents([Document(source="x", origin=source, text="x")])
        refused = toolbox.call("ingest_document", {"text": "Another text.", "source": source})
        assert refused.is_error

    assert [engine.documents.text(source) for source in stated] == texts
    assert sorted(held(engine)) == stated
    assert engine.maintenance.check().problems == ()


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
    assert engine.maintenance.check().problems == ()


# --- the audit log


def test_the_log_says_what_was_done_what_was_refused_and_what_failed(engine: clew.Clew) -> None:
    def break_down(*_: object) -> dict[str, Any]:
        raise ZeroDivisionError

    broken = Tool(
        name="break_down", title="", description="", parameters=(), result={}, run=break_down,
        scope="write", profiles=FULL,
    )  # fmt: skip
    log = make_audit(engine.state.journal)
    box = Toolbox(
        engine,
        (*TOOLS, broken),
        profile="full",
        services={"jobs": make_runner(engine)},
        audit=audit_to(log),
    )
    for name, arguments, declined in (
        ("ingest_document", {"text": "Ada Morn sings.", "source": "a"}, False),
        ("delete_document", {"document": "a"}, False),
        ("delete_document", {"document": "b", "confirm": True}, False),
        ("delete_document", {"document": "a", "confirm": True}, True),
        ("ingest_document", {"path": "/etc/passwd"}, False),
        ("ingest_document", {"text": "x", "source": "memory:notes"}, False),
        ("delete_entities", {"entityNames": ["a"]}, True),
        ("break_down", {}, False),
        ("delete_document", {"document": "a", "confirm": True}, False),
    ):
        box.call(name, arguments, declined=declined)

    assert [(entry.tool, entry.outcome) for entry in reversed(log.entries())] == [
        ("ingest_document", "done"),
        ("delete_document", "refused"),
        ("delete_document", "refused"),
        ("delete_document", "refused"),
        ("ingest_document", "refused"),
        ("ingest_document", "refused"),
        ("delete_entities", "refused"),
        ("break_down", "failed"),
        ("delete_document", "done"),
    ]
    shown: Sequence[dict[str, Any]] = box.call("audit", {}).content["entries"]
    assert [entry["outcome"] for entry in shown[:3]] == ["done", "failed", "refused"]


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


DESTROYING = [tool for tool in TOOLS if tool.destructive]


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
    log = make_audit(engine.state.journal)
    box = Toolbox(
        engine,
        TOOLS,
        profile="full",
        services={"jobs": make_runner(engine)},
        audit=audit_to(log),
    )
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
