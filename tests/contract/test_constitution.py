"""The pack `constitution` on each back end: chains, conflicts, checks and coverage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew.plugins.constitution
from clew import Clew
from tests.contract.pack_stores import open_with, pack_settings

CORPUS = Path(clew.plugins.constitution.__file__).parent / "corpus"
GOAL = "Delete raw interviews after a year"


@pytest.fixture(scope="module", params=["sqlite", "neo4j"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Clew]:
    folder = tmp_path_factory.mktemp("constitution")
    with (
        pack_settings(request, request.param, folder) as settings,
        open_with(settings, ["constitution"]) as opened,
    ):
        report = opened.index([CORPUS])
        assert (report.added, report.skipped) == (41, ())
        yield opened


def call(store: Clew, tool: str, **arguments: object) -> dict[str, Any]:
    found = store.tools.call(tool, arguments)
    assert found.content["success"], found.content
    return dict(found.content)


def first(store: Clew, query: str, **arguments: object) -> dict[str, Any]:
    return dict(call(store, "constitution_search", query=query, **arguments)["results"][0])


def test_a_goal_is_found_with_its_whole_chain_and_the_confidence_along_it(store: Clew) -> None:
    found = first(store, "delete raw interviews", layer="goal")

    (value,) = found["chain"]["values"]
    assert found["name"] == GOAL
    assert [(one["name"], one["confidence"]) for one in found["chain"]["principles"]] == [
        ("Collect no more than is needed", 0.85)
    ]
    assert value["confidence"] == pytest.approx(0.9 * 0.85)
    assert value["path"] == f"Privacy ▸ Collect no more than is needed ▸ {GOAL}"
    assert found["provenance"]["source"].endswith(f"#goal:{GOAL.lower()}")
    assert [(one["name"], one["kind"], one["strength"]) for one in found["related"]] == [
        ("Archive everything for replication", "conflicts", 0.9)
    ]


def test_a_value_is_found_with_all_below_it(store: Clew) -> None:
    chain = first(store, "Honesty rely on what we say", layer="value")["chain"]

    assert {one["name"] for one in chain["principles"]} == {
        "Say what is known and what is not",
        "Correct mistakes in the open",
    }
    assert len(chain["goals"]) == 4
    assert chain["goals"][0]["confidence"] == pytest.approx(0.95 * 0.9)


def test_the_parts_of_the_context_keep_to_their_budgets(store: Clew) -> None:
    wide = call(store, "constitution_search", query="data", limit=10)
    tight = call(store, "constitution_search", query="data", limit=10, hierarchy_tokens=40)
    parts = {one["kind"]: one for one in tight["context"]["parts"]}

    assert {one["kind"] for one in wide["context"]["parts"]} == {"elements", "hierarchy", "related"}
    assert parts["hierarchy"]["tokens"] <= 40
    assert tight["notes"]


def test_the_words_of_a_question_choose_the_layer(store: Clew) -> None:
    asked = call(store, "constitution_search", query="Which value forbids to keep interviews?")
    why = call(store, "constitution_search", query="Why do we delete interviews?")

    assert {one["entity_type"] for one in asked["results"]} == {"value"}
    assert {one["entity_type"] for one in why["results"]} <= {"value", "principle"}
    assert "value" in asked["reason"]


def test_an_older_version_is_asked_by_its_day(store: Clew) -> None:
    then = first(store, "Privacy personal data", layer="value", as_of="2020-05-01")
    now = first(store, "Privacy what people entrust stays theirs", layer="value")

    assert (then["name"], then["fields"]["priority"]) == ("Privacy (version 1)", 6)
    assert (now["name"], now["fields"]["priority"]) == ("Privacy", 9)


def test_a_check_says_what_a_text_touches_and_what_it_denies(store: Clew) -> None:
    text = "We never delete raw interviews after a year. We use free licences."
    found = call(store, "constitution_check", text=text)
    touched = {one["name"]: one["sentence"] for one in found["touches"]}
    denied = {one["name"]: one["why"] for one in found["conflicts"]}
    followed = call(store, "constitution_check", text="We delete raw interviews after a year.")
    conflicts = {one["name"]: one["why"] for one in followed["conflicts"]}

    assert touched[GOAL] == "We never delete raw interviews after a year."
    assert "Use free licences" in touched
    assert "“never”" in denied[GOAL]
    assert "Use free licences" not in denied
    # What conflicts with what a text follows is named.
    assert GOAL in conflicts["Archive everything for replication"]


def test_a_check_compares_with_the_sentence_that_the_text_is_about(tmp_path: Path) -> None:
    """A reason that holds a "not" makes no prohibition of a duty."""
    (tmp_path / "duty.yaml").write_text(
        "values:\n  - name: Honesty\n    principles:\n      - name: Tell customers about defects\n"
        "        rationale: Those who learn of them from others do not come back.\n"
    )
    with open_with(clew.load_settings(store=tmp_path / "duty"), ["constitution"]) as store:
        store.index([tmp_path / "duty.yaml"])
        denied = call(store, "constitution_check", text="We do not tell customers about defects.")
        followed = call(store, "constitution_check", text="We tell customers about defects.")

    assert [one["name"] for one in denied["conflicts"]] == ["Tell customers about defects"]
    assert followed["conflicts"] == []


def never_met(store: Clew) -> set[str]:
    layers = call(store, "constitution_coverage")["layers"]
    return {name for layer in layers for name in layer["never"]}


def test_a_recorded_conversation_counts_for_coverage(store: Clew) -> None:
    before = never_met(store)
    call(store, "constitution_record", text="From now on we label all bottles.", title="Lab talk")
    talks = store.documents.list(["entity_type=conversation"])

    assert "Label all bottles" in before - never_met(store)
    assert GOAL not in before
    assert "Lab talk" in {one.title for one in talks}
