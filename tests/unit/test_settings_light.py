from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from clew.errors import SettingsError
from clew.settings import Settings, load_settings
from clew.settings.groups import SettingsGroup
from clew.settings.light import light_settings


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

    light = light_settings(store=None, namespace=None)

    assert not isinstance(light, Settings)
    assert (light.store, light.namespace) == (Path("there"), "team")
    assert light_settings(store="here", namespace=None).store == Path("here")


def test_whatever_else_is_set_the_settings_proper_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_SEARCH__LIMIT", "3")
    assert light_settings(store=None, namespace=None).search.limit == 3

    monkeypatch.delenv("CLEW_SEARCH__LIMIT")
    Path("clew.toml").write_text("[search]\nlimit = 4\n", encoding="utf-8")
    assert light_settings(store=None, namespace=None).search.limit == 4


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

    assert pickle.loads(pickle.dumps(light)) == whole
    assert pickle.loads(pickle.dumps(light.embed)) == whole.embed
    assert light == whole
    assert light.embed == whole.embed
    assert hash(light.embed) == hash(whole.embed)
    copied = light.model_copy(update={"namespace": "other"})
    assert copied == whole.model_copy(update={"namespace": "other"})
