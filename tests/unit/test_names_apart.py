"""Names that a sign tells apart are names of different things; typography makes no difference."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.search.analysis.analyse import candidate_keys
from clew.testing.fakes import HashEmbedder
from clew.text import entity_key
from clew.tools.toolbox import TOOLS, Toolbox

SIGNS = ("+", "++", "#", "-", "%", "*", "!", "?", "°", "′", "″", "$", "€", "±", "§", "²", "₂", "🎉")
PAIRS = (
    *[("C", "C++"), ("C++", "C#"), ("F", "F#"), ("A+", "A−"), ("A", "A-"), (".NET", "Net")],
    *[("−5", "5"), ("−5 °C", "5 °C"), ("5 °C", "5 C"), ("5%", "5"), ("$5", "€5"), ("5′", "5″")],
    *[("Yahoo!", "Yahoo"), ("Who?", "Who"), ("A*", "A"), ("x′", "x"), ("x'", "x"), ("x²", "x2")],
    *[("x₂", "x"), ("10²", "102"), ("½", "1/2"), ("1.5", "15"), ("3.11", "3 11"), ("1/2", "1 2")],
    *[("R&D", "RD"), ("AT&T", "AT T"), ("Na+", "Na"), ("Cl-", "Cl"), ("C--", "C-"), ("α", "a")],
    *[("Disney+", "Disney"), ("§5", "5"), ("#5", "5"), ("±5", "5"), ("OS/2", "OS 2")],
    *[("Party 🎉", "Party"), ("Party 🎉", "Party 🎈"), ("@home", "home"), (".env", "env")],
    *[("-v", "--v"), ("バス", "ハス"), ("की", "का"), ("C♯", "C♭"), ("x=y", "x y"), ("a>b", "a<b")],
)
SAME = (
    *[("C++", "c++"), ("“C#”", "C#"), ("(C#)", "C#"), ("C ++", "C++"), ("Ｃ＋＋", "C++")],
    *[("Jean-Luc", "Jean Luc"), ("Jean‑Luc", "Jean–Luc"), ("O’Neil", "O'Neil"), ("A−", "A-")],
    *[("Café", "CAFE"), ("Bergen.", "Bergen"), ("ﬁle", "file"), ("Acme®", "Acme"), ("5 %", "5%")],
    *[("5 °C", "5°C"), ("Na⁺", "Na+"), ("R & D", "R&D"), ("J.R.R. Tolkien", "J. R. R. Tolkien")],
    *[("foo_bar", "foo-bar"), ("**Vell**", "Vell"), ("Ber\u00adgen", "Bergen"), ("Ⅳ", "IV")],
)

words = st.text("abdegiklmnoprstuvz", min_size=1, max_size=8)
names = st.lists(words, min_size=1, max_size=3).map(" ".join).map(str.title)
quoted: Callable[[str], str] = "“{}”".format
TYPOGRAPHY: tuple[Callable[[str], str], ...] = (
    str.upper,
    str.lower,
    quoted,
    '"{}"'.format,
    "({})".format,
    "{}.".format,
    "{},".format,
    "  {} ".format,
    lambda name: name.replace(" ", "\u00a0"),
    lambda name: name.replace(" ", "\n"),
    lambda name: re.sub(r"(?<=\w) (?=\w)", "‑", name),
    lambda name: "".join(chr(ord(c) + 0xFEE0) if "a" <= c.lower() <= "z" else c for c in name),
)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_sign_is_part_of_the_key(one: str, other: str) -> None:
    assert entity_key(one) != entity_key(other)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_typography_is_none(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other) != ""


@given(name=names, one=st.sampled_from(("", *SIGNS)), other=st.sampled_from(("", *SIGNS)))
def test_any_names_that_differ_by_a_sign_differ(name: str, one: str, other: str) -> None:
    for form in ("{0}{1}", "{1}{0}") if "-" not in (one, other) else ("{0}{1}",):
        same = entity_key(form.format(name, one)) == entity_key(form.format(name, other))
        assert same == (one == other)


@given(
    name=names,
    sign=st.sampled_from(("", "+", "#", "°", "$")),
    steps=st.lists(st.sampled_from(TYPOGRAPHY), max_size=4),
)
def test_any_typography_makes_no_difference(
    name: str, sign: str, steps: list[Callable[[str], str]]
) -> None:
    written = name + sign
    for step in steps:
        written = step(written)
    assert entity_key(written) == entity_key(name + sign)


@given(st.text(max_size=30))
def test_a_key_is_its_own_key(name: str) -> None:
    key = entity_key(name)
    assert entity_key(key) in (key, key.removeprefix("the "))


@given(name=names.filter(lambda name: len(name) > 3), sign=st.sampled_from(("+", "++", "#", "!")))
def test_a_question_asks_for_the_name_with_its_sign(name: str, sign: str) -> None:
    keys = candidate_keys(f"Where is Qxv{name}{sign}?")
    assert entity_key(f"Qxv{name}{sign}") in keys
    assert (entity_key(f"Qxv{name}") in keys) == (sign == "!")


def test_what_is_told_of_one_is_not_told_of_the_other(tmp_path: Path) -> None:
    given_names = list({entity_key(name): name for pair in PAIRS for name in pair}.values())
    with clew.open(tmp_path, embedder=HashEmbedder(dimension=8)) as engine:
        toolbox = Toolbox(engine, TOOLS, profile="memory")

        def call(tool: str, **arguments: object) -> dict[str, Any]:
            outcome = toolbox.call(tool, arguments)
            assert not outcome.is_error, outcome.text
            return dict(outcome.content)

        for i, name in enumerate(given_names):
            entity = {"name": name, "entityType": "thing", "observations": [f"Number {i}."]}
            made = call("create_entities", entities=[entity])
            assert made == {"entities": [entity], "success": True}
        for i, name in enumerate(given_names):
            (node,) = call("open_nodes", names=[name])["entities"]
            assert (node["name"], node["observations"]) == (name, [f"Number {i}."])
        call("delete_entities", entityNames=["C#"])
        assert call("open_nodes", names=["C#"])["entities"] == []
        assert len(call("open_nodes", names=["C", "C++"])["entities"]) == 2
        missing = call("delete_entities", entityNames=["C"])
        assert missing == {"message": "Entities deleted successfully", "success": True}
        assert len(call("open_nodes", names=["C++"])["entities"]) == 1
        assert engine.maintenance.check().problems == ()
