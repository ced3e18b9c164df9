"""Settings and options."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.core import TyperGroup

from clew.cli.app import app
from clew.errors import InputError, SettingsError
from clew.operations.toolbox import OPERATIONS
from clew.ports import Embedder
from clew.search.options import Options
from clew.settings import (
    SETTINGS_FILE,
    LlmSettings,
    LlmTaskSettings,
    Settings,
    load_settings,
)
from clew.settings.groups import SettingsGroup
from clew.settings.light import light_settings
from clew.settings.place import zone_of
from clew.testing.fakes import HashEmbedder
from clew.types import Period

# --- options


NOW = datetime(2024, 1, 1, tzinfo=UTC)


def _options(**values: object) -> Options:
    defaults: dict[str, Any] = {"strategy": "graph", "limit": 10, "max_tokens": 100, "now": NOW}
    return Options(**{**defaults, **values})


def test_a_period_given_by_hand_may_be_open() -> None:
    assert _options().period is None
    assert _options(since=NOW).period == Period(start=NOW, end=None)
    assert _options(until=NOW).period == Period(start=None, end=NOW)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit": 0}, r"limit 0 cannot be; expected at least 1"),
        ({"max_tokens": 0}, r"max_tokens 0 cannot be"),
        ({"max_hops": 6}, r"max_hops 6 cannot be; expected 1 to 5"),
        ({"alpha": 1.5}, r"alpha 1.5 cannot be; expected 0 to 1"),
        ({"min_confidence": float("nan")}, r"min_confidence nan cannot be; expected 0 to 1"),
        ({"weights": (float("nan"), 0, 0)}, r"weights nan cannot be; expected at least 0"),
        ({"level": -1}, r"level -1 cannot be"),
        ({"weights": (0.5, -0.1, 0.6)}, r"weights -0.1 cannot be"),
        ({"since": NOW, "until": NOW}, r"is not before until"),
    ],
)
def test_values_that_cannot_be_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _options(**values)


# --- The command line and the tools call the same thing by the same name.


ARGUMENTS = {"question": "query", "name": "entity", "document": "document"}
"""What a command takes without a name, and the parameter that is."""
OF_EVERY_COMMAND = {"store", "namespace", "json", "verbose", "help"}
TO_FIT = {"cursor", "max_tokens"}
"""A tool's result has to fit into a window; a terminal shows all of it."""
PAIRS: dict[str, tuple[str, set[str], set[str]]] = {
    # By tool: the command, what only the tool has, what only the command has.
    "query_documents": (
        "search",
        set(),
        # What one strategy takes, and how it is printed.
        {"alpha", "fast", "fusion", "hierarchy", "layer", "level", "temporal"}
        | {"citations", "context", "explain"},
    ),
    "find_paths": ("path", set(), set()),
    "entity_timeline": ("timeline", set(), set()),
    "relevant_subgraph": ("subgraph", set(), {"output"}),
    "list_communities": ("communities", set(), set()),
    "list_documents": ("documents", {"limit"}, set()),
    "get_document": ("show", {"document"}, {"entity", "text", "versions"}),
    "audit": ("audit", set(), set()),
}


def options_of(command: str) -> set[str]:
    """Names of a command's options, of those with several every one, and of its arguments."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    found = set()
    for parameter in group.commands[command].params:
        if parameter.param_type_name == "argument":
            found.add(ARGUMENTS.get(parameter.name or "", parameter.name or ""))
        else:
            found |= {o.lstrip("-").replace("-", "_") for o in parameter.opts if o[:2] == "--"}
    return found - OF_EVERY_COMMAND


@pytest.mark.parametrize("tool", PAIRS)
def test_what_both_take_has_one_name(tool: str) -> None:
    command, tool_alone, command_alone = PAIRS[tool]
    (parameters,) = [{p.name for p in t.parameters} - TO_FIT for t in OPERATIONS if t.name == tool]
    options = options_of(command) - TO_FIT
    if {"limit", "top_k"} <= options and not {"limit", "top_k"} <= parameters:
        options -= {"limit", "top_k"} - parameters  # one option with two names
    assert parameters - options == tool_alone
    assert options - parameters == command_alone


# --- fakes


@given(st.lists(st.text(), max_size=5))
def test_vectors_are_finite_and_of_unit_length(texts: list[str]) -> None:
    embedder: Embedder = HashEmbedder()
    vectors = embedder.embed_documents(texts)

    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(embedder.embed_query(text), vector)


def test_terms_that_cancel_each_other_out_leave_no_zero_vector() -> None:
    embedder = HashEmbedder(dimension=1)

    assert {float(embedder.embed_query(f"alpha word{i}")[0]) for i in range(50)} <= {-1.0, 1.0}


# --- Where settings come from: arguments, the environment, `clew.toml`, the defaults, in order.


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("CLEW_")]:
        monkeypatch.delenv(name)


def said(group: object, kind: type[SettingsGroup]) -> dict[str, Any]:
    """What a group of settings, light or not, says of each field and property."""
    properties = [name for name, value in vars(kind).items() if isinstance(value, property)]
    found = {}
    for name in [*kind.model_fields, *properties]:
        value, field = getattr(group, name), kind.model_fields.get(name)
        inner = field.annotation if field else None
        is_group = isinstance(inner, type) and issubclass(inner, SettingsGroup)
        found[name] = said(value, inner) if is_group else value  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("store", [None, "here", "~/there", "/tmp/a b"])
@pytest.mark.parametrize("namespace", [None, "a-team"])
def test_light_settings_say_what_the_settings_say(store: str | None, namespace: str | None) -> None:
    light = light_settings(store=store, namespace=namespace)
    whole = load_settings(store=store, namespace=namespace)

    assert not isinstance(light, Settings)
    assert said(light, Settings) == said(whole, Settings)
    assert (light.folder, light.stores_folder, light.on_server) == (
        whole.folder,
        whole.stores_folder,
        whole.on_server,
    )


def test_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_STORE", "there")
    monkeypatch.setenv("clew_namespace", "team")
    monkeypatch.setenv("TZ", ":Asia/Kolkata")

    light = light_settings(store=None, namespace=None)

    assert not isinstance(light, Settings)

    assert (light.store, light.namespace) == (Path("there"), "team")
    assert zone_of(light.search.time_zone).key == "Asia/Kolkata"
    assert light_settings(store="here", namespace=None).store == Path("here")


def test_whatever_else_is_set_the_settings_proper_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_SEARCH__LIMIT", "3")
    assert light_settings(store=None, namespace=None).search.limit == 3

    monkeypatch.delenv("CLEW_SEARCH__LIMIT")
    Path("clew.toml").write_text("[search]\ntime_zone = 'Asia/Tokyo'\n", encoding="utf-8")
    assert light_settings(store=None, namespace=None).read.time_zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    "given",
    [
        {"store": ""},
        {"store": "http://nowhere"},
        {"store": "neo4j://a:b@host"},
        {"namespace": "../up"},
        {"namespace": "a\n"},
        {"namespace": ""},
    ],
)
def test_what_cannot_be_is_refused_in_the_same_words(given: dict[str, str]) -> None:
    values = {"store": None, "namespace": None, **given}
    with pytest.raises(SettingsError) as expected:
        load_settings(**values)
    with pytest.raises(SettingsError) as found:
        light_settings(**values)

    assert str(found.value) == str(expected.value)


def test_another_process_and_a_copy_get_the_settings_proper() -> None:
    light, whole = light_settings(store="here", namespace=None), load_settings(store="here")

    for one, other in ((light, whole), (light.embed, whole.embed)):
        assert pickle.loads(pickle.dumps(one)) == other
        assert one == other
    assert hash(light.embed) == hash(whole.embed)
    copied = light.model_copy(update={"namespace": "other"})
    assert copied == whole.model_copy(update={"namespace": "other"})


def test_each_source_goes_over_the_one_below(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(SETTINGS_FILE).write_text(
        '[search]\nlimit = 3\nmax_hops = 4\nstrategy = "graph"\n', encoding="utf-8"
    )
    monkeypatch.setenv("CLEW_SEARCH", '{"limit": 5, "max_hops": 5}')
    monkeypatch.setenv("clew_search__limit", "6")
    found = load_settings(search={"alpha": 0.5}).search
    assert (found.strategy, found.max_hops, found.limit, found.alpha) == ("graph", 5, 6, 0.5)


def test_what_is_more_than_one_value_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_ACCESS__ROOTS", '["/one", "/two"]')
    monkeypatch.setenv("CLEW_BOOST__FIELDS", '{"citations": 0.1}')
    monkeypatch.setenv("CLEW_SEARCH__HIERARCHY", "[person]")
    found = load_settings()
    assert found.access.roots == (Path("/one"), Path("/two"))
    assert found.boost.fields == {"citations": 0.1}
    assert found.search.hierarchy == "[person]", "a text is not read as JSON"


MANY = {"SEARCH__LIMIT": "many", "SEARCH__WRONG": "1", "LIMITS__WORKERS": "0"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (MANY, ["search.limit = 'many'", "search.wrong = '1'", "limits.workers = '0'"]),
        ({"ACCESS__ROOTS": "/one"}, ["CLEW_ACCESS__ROOTS is no JSON", "expected a list"]),
        # A setting that is no group has no parts.
        ({"STORE": "/here", "STORE__PART": "1"}, ["setting store"]),
    ],
    ids=["of many each", "no JSON", "no group"],
)
def test_every_variable_that_cannot_be_is_named(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], said: list[str]
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"CLEW_{name}", value)
    with pytest.raises(SettingsError) as failed:
        load_settings()
    assert [part for part in said if part not in str(failed.value)] == []


def test_variables_of_others_and_of_keys_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_LLM_API_KEY", "key")
    monkeypatch.setenv("CLEW_OTHER__THING", "1")
    assert load_settings().search.limit == 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit =", r"clew\.toml"),
        ("\0", r"clew\.toml"),
        # A file beside a store cannot name code.
        ('[packs]\nfolders = ["code"]', r"clew\.toml.*CLEW_PACKS__FOLDERS"),
    ],
)
def test_a_file_that_cannot_be_is_refused_by_name(text: str, said: str) -> None:
    Path(SETTINGS_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=said):
        load_settings()


def _fields(group: SettingsGroup, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field that is no group, in groups within groups, too."""
    for name, value in group:
        if isinstance(value, SettingsGroup):
            yield from _fields(value, (*path, name))
        else:
            yield (*path, name)


def _at(settings: object, path: tuple[str, ...]) -> object:
    for name in path:
        settings = getattr(settings, name)
    return settings


EVERY_FIELD = list(_fields(Settings()))
OTHERS = {
    "provider": "ollama",
    "model": "other",
    "retries": 2,
    "max_output_tokens": 99,
    "seconds": 7.5,
    "temperature": 0.25,
}
"""A value for each of some fields that have other defaults in one place than in another."""


@pytest.mark.parametrize("path", EVERY_FIELD, ids=".".join)
def test_setting_one_field_leaves_every_other_at_its_default(path: tuple[str, ...]) -> None:
    default = Settings()
    held = _at(default, path)
    value = OTHERS.get(path[-1], held) if path[0] == "llm" and len(path) == 3 else held
    given: object = value
    for name in reversed(path):
        given = {name: given}
    found = Settings.model_validate(given)
    assert _at(found, path) == value
    for other in EVERY_FIELD:
        if other != path:
            assert _at(found, other) == _at(default, other), ".".join(other)


@pytest.mark.parametrize("task", ["extract", "context", "summarise", "answer", "route", "judge"])
def test_a_task_with_a_model_of_its_own_keeps_its_limits(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = load_settings().llm.task(task).model_copy(update={"model": "foo"})
    as_group = LlmTaskSettings(model="foo")
    assert LlmSettings.model_validate({task: as_group}).task(task) == expected
    assert load_settings(llm={task: {"model": "foo"}}).llm.task(task) == expected
    Path(SETTINGS_FILE).write_text(f'[llm.{task}]\nmodel = "foo"\n', encoding="utf-8")
    assert load_settings().llm.task(task) == expected
    Path(SETTINGS_FILE).write_text(f"[llm.{task}]\nseconds = 3\n", encoding="utf-8")
    monkeypatch.setenv(f"CLEW_LLM__{task.upper()}__MODEL", "foo")
    assert load_settings().llm.task(task) == expected.model_copy(update={"seconds": 3.0})


def test_the_documented_defaults_are_those_in_force() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `([\w.]+)` \| `\w+` \| \w+ \| (?:`(.*?)`)? ?\|", page, re.M))
    for path in EVERY_FIELD:
        held = _at(Settings(), path)
        if isinstance(held, (str, int, float)):
            said = stated[".".join(path)]
            assert said == (held if isinstance(held, str) else json.dumps(held)), path
