"""Where settings come from: arguments, the environment, `clew.toml`, the defaults, in order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.errors import SettingsError
from clew.settings import SETTINGS_FILE, load_settings


@pytest.fixture(autouse=True)
def _nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("CLEW_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


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
    monkeypatch.setenv("CLEW_ACCESS__ROOTS", "/one")
    with pytest.raises(SettingsError, match=r"CLEW_ACCESS__ROOTS is no JSON .* expected a list"):
        load_settings()


def test_every_setting_that_cannot_be_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_SEARCH__LIMIT", "many")
    monkeypatch.setenv("CLEW_SEARCH__WRONG", "1")
    monkeypatch.setenv("CLEW_LIMITS__WORKERS", "0")
    with pytest.raises(SettingsError) as failed:
        load_settings()
    for name in ("search.limit = 'many'", "search.wrong = '1'", "limits.workers = '0'"):
        assert name in str(failed.value)


def test_variables_of_others_and_of_keys_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_LLM_API_KEY", "key")
    monkeypatch.setenv("CLEW_OTHER__THING", "1")
    assert load_settings().search.limit == 10


def test_a_setting_that_is_no_group_has_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_STORE", "/here")
    monkeypatch.setenv("CLEW_STORE__PART", "1")
    with pytest.raises(SettingsError, match="setting store"):
        load_settings()


@pytest.mark.parametrize("text", ["limit =", "\0", '[packs]\nfolders = ["code"]'])
def test_a_file_that_cannot_be_is_refused_by_name(text: str) -> None:
    Path(SETTINGS_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"clew\.toml"):
        load_settings()
