"""The options of `clew search`, and the shapes that programs read."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import clew as library_api
from clew.search.strategies import AUTO, STRATEGIES

if TYPE_CHECKING:
    from tests.e2e.conftest import Library, Run

WHERE = "Where does Mara Lind live?"


def asked(run: Run, library: Library, *arguments: str) -> dict[str, Any]:
    done = run("search", *arguments, "--store", library.store, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def titles(found: dict[str, Any]) -> list[str]:
    return [hit["metadata"]["title"] for hit in found["results"]]


# --- strategies


def test_help_names_every_strategy(in_process: Run) -> None:
    usage = in_process("search", "--help").stdout

    assert [name for name in (*STRATEGIES, AUTO) if not re.search(rf"\b{name}\b", usage)] == []


def test_options_reach_the_strategies(in_process: Run, workshop: Library) -> None:
    def answer(*options: str) -> dict[str, Any]:
        return asked(in_process, workshop, "Mara Lind and the Sole Trust", *options)

    hops = [answer("--strategy", "multi_hop", "--max-hops", n)["context"]["text"] for n in "12"]
    alphas = [
        answer("--strategy", "hybrid", "--fusion", "weighted", "--alpha", share)["results"]
        for share in ("0", "1")
    ]
    chain = answer("--strategy", "hierarchical", "--hierarchy", "person -works_for-> organisation")

    assert ["Path of 2 hops" in text for text in hops] == [False, True]
    assert alphas[0][0]["score"] == pytest.approx(1)
    assert [hit["id"] for hit in alphas[0]] != [hit["id"] for hit in alphas[1]]
    assert "Jonas Weir — works_for → Sole Trust" in chain["context"]["text"]


# --- time


def test_time_by_hand_keeps_to_it(in_process: Run, workshop: Library) -> None:
    since = asked(in_process, workshop, "Mara Lind", "--since", "2023-06")
    until = asked(in_process, workshop, "Mara Lind", "--until", "2022")
    then = asked(in_process, workshop, WHERE, "--as-of", "2023-06-01")

    assert titles(since) == ["Letter from Ostby"]
    assert set(titles(until)) == {"A Guide to Looms", "The Sole Trust"}
    assert "Letter from Ostby" not in titles(then)
    relations = [r for hit in then["results"] for r in hit["graph_context"]["relationships"]]
    assert [r["to"] for r in relations if r["relation"] == "lives_in"] == ["Tarnholm"]


def test_time_in_the_question_goes_first_or_alone_or_not_at_all(
    in_process: Run, workshop: Library
) -> None:
    question = "What happened in 2024?"
    first = asked(in_process, workshop, question)
    alone = asked(in_process, workshop, question, "--temporal")
    ignored = asked(in_process, workshop, question, "--no-temporal")

    assert first["strategy"] == "temporal"
    assert titles(first)[0] == "Letter from Ostby"
    assert len(titles(first)) > 1
    assert titles(alone) == ["Letter from Ostby"]
    assert [found["temporal_info"]["applied"] for found in (first, alone)] == [
        "preferred",
        "filtered",
    ]
    assert (ignored["temporal_info"]["phrase"], ignored["temporal_info"]["since"]) == ("", None)


# --- shapes

RESULT = {"query", "strategy", "reason", "results", "graph_entities", "temporal_info"} | {
    "timings_ms",
    "notes",
}
HIT = {"id", "text", "metadata", "score", "scores", "source", "graph_context"}
METADATA = {"document", "title", "source", "page", "char_start", "char_end"}


def test_json_keeps_the_contract(in_process: Run, workshop: Library) -> None:
    found = asked(in_process, workshop, "Where did Mara Lind live in 2023?")

    assert found.keys() >= RESULT
    assert [type(found[key]) for key in ("query", "strategy", "reason")] == [str] * 3
    assert set(found["graph_entities"]) == {"Mara Lind", "2023"}
    assert found["temporal_info"].keys() >= {"phrase", "since", "until", "as_of", "applied"}
    assert found["timings_ms"].keys() >= {"analyse", "retrieve", "bridge"}
    assert all(isinstance(value, float) for value in found["timings_ms"].values())
    assert all(isinstance(remark, str) for remark in found["notes"])
    with library_api.open(workshop.store) as engine:
        for hit in found["results"]:
            _check_hit(hit, engine.documents.text(hit["metadata"]["document"]))


def _check_hit(hit: dict[str, Any], text: str) -> None:
    assert hit.keys() >= HIT
    where, graph = hit["metadata"], hit["graph_context"]
    assert where.keys() >= METADATA
    assert hit["text"] == text[where["char_start"] : where["char_end"]]
    assert hit["id"].startswith(where["document"])
    assert hit["scores"].keys() <= {"vector", "keyword", "graph", "temporal"}
    assert hit["source"] in ("vector", "keyword", "graph", "hybrid")
    assert graph.keys() == {"entities", "relationships", "path"}
    assert all(isinstance(item, str) for item in (*graph["entities"], *graph["path"]))
    for relation in graph["relationships"]:
        assert relation.keys() >= {"from", "relation", "to", "evidence"}
        origin = relation["provenance"]
        # Authors are stated by the metadata: no sentence says so, and the passage is the origin.
        span = (where["char_start"], where["char_end"])
        by_metadata = relation["relation"] == "authored_by"
        assert ((origin["start"], origin["end"]) == span) or not by_metadata
        stated = "" if by_metadata else text[origin["start"] : origin["end"]]
        assert relation["evidence"] == stated
        assert 0 < origin["confidence"] <= 1
    origin = hit["provenance"]
    assert (origin["document"], origin["start"]) == (where["document"], where["char_start"])
    assert datetime.fromisoformat(origin["written_at"]).year in (2021, 2022, 2023, 2024)


# --- what a person reads


def test_explain_tells_route_time_trail_and_relations(in_process: Run, workshop: Library) -> None:
    done = in_process(
        "search", "Where did Mara Lind live in 2023?", "--explain", "--store", workshop.store
    )

    shown = done.stdout
    assert shown.startswith("strategy temporal: dated passages and a period: “in 2023”\n")
    assert "time: 2023 (“in 2023”), preferred\n" in shown
    assert "[1] Diary of a workshop, Mara Lind, 2023-05-08, characters 0–" in shown
    trail = r"document [0-9a-f]{16}, version 1, sha256 \w{12}, by Mara Lind, written 2023-05-08, "
    assert re.search(trail + r"indexed \d{4}-\d\d-\d\d, read by pattern/", shown)
    held = r"    Mara Lind — lives_in → Tarnholm, until 2023 "
    assert re.search(held + r"\(pattern/\d+, 0\.\d\d\)", shown)
    assert "    Mara Lind — lives_in → Ostby, since 2024 (" in shown
    assert done.stderr == ""


def test_context_ends_with_numbered_sources(in_process: Run, workshop: Library) -> None:
    done = in_process("search", WHERE, "--context", "--citations", "--store", workshop.store)

    context, _, sources = done.stdout.partition("\nSources:\n")
    numbers = re.findall(r"^\[(\d+)\] ", context, re.MULTILINE)
    lines = sources.splitlines()
    assert [line.split()[0] for line in lines] == [f"[{number}]" for number in numbers]
    [letter] = [line for line in lines if "Letter from Ostby" in line]
    assert letter.endswith(f", Mara Lind, 2024-02-12, {workshop.folder / 'letter.md'}")


# --- confidence


def test_every_hit_that_was_judged_says_how_sure_it_is(in_process: Run, workshop: Library) -> None:
    found = asked(in_process, workshop, WHERE)

    sure = [hit["confidence"] for hit in found["results"]]
    assert all(0 <= confidence <= 1 for confidence in sure)
    assert found["confidence"] == max(sure)
    assert found["answered"] is True
    shown = in_process("search", WHERE, "--store", workshop.store).stdout
    assert f"confidence {sure[0]:.2f}" in shown


def test_keywords_are_judged_where_a_least_confidence_is_asked(
    in_process: Run, workshop: Library
) -> None:
    plain = asked(in_process, workshop, WHERE, "--strategy", "keyword")
    judged = asked(in_process, workshop, WHERE, "--strategy", "keyword", "--min-confidence", "0")

    assert plain["confidence"] is None
    assert plain["answered"] is True
    assert judged["confidence"] == max(hit["confidence"] for hit in judged["results"])
    assert [hit["id"] for hit in plain["results"]] == [hit["id"] for hit in judged["results"]]


@pytest.mark.parametrize("output", [(), ("--json",)])
def test_nothing_that_answers_is_told_and_leaves_with_1(
    in_process: Run, workshop: Library, output: tuple[str, ...]
) -> None:
    foreign = "Which enzyme splits lactose in the gut of calves?"
    done = in_process(
        "search", foreign, "--min-confidence", "0.6", "--store", workshop.store, *output
    )

    assert done.returncode == 1
    assert "nothing found that answers this" in done.stdout + done.stderr
    if output:
        found = json.loads(done.stdout)
        assert found["answered"] is False
        assert found["results"]
        assert found["confidence"] < 0.6
