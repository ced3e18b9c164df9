"""What can be seen of the graph: paths, timelines, communities, topics, subgraphs, figures."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clew as library_api

if TYPE_CHECKING:
    from tests.e2e.conftest import Library, Run

SPACE = {"g": "http://graphml.graphdrawing.org/xmlns"}


def data(run: Run, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON of many shapes
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_path_shows_each_tie_with_its_sentence(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    shown = in_process("path", "Mara Lind", "Sole Trust", *store)
    found = data(in_process, "path", "Mara Lind", "Sole Trust", *store)

    # Jonas Weir, who works for the trust, is as near.
    assert (
        "2 hops\n"
        "    Mara Lind — Weir Mill\n"
        "        “Mara Lind lives in Tarnholm, close to the Weir Mill.” (Diary of a workshop)\n"
        "    Weir Mill — part_of → Sole Trust\n"
        "        “The Weir Mill is part of the Sole Trust.” (A Guide to Looms)\n\n"
    ) in shown.stdout
    assert (shown.returncode, shown.stderr) == (0, "")
    hops = [way["hops"] for way in found["paths"]]
    assert hops == sorted(hops)
    nearest = [way["ties"][1]["relation"] for way in found["paths"] if way["hops"] == 2]
    assert "part_of" in nearest
    assert found["notes"] == []


def test_no_path_is_said_and_is_no_failure(in_process: Run, workshop: Library) -> None:
    done = in_process(
        "path", "Mara Lind", "Agnes Holm", "--max-hops", "1", "--store", workshop.store
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Note: no path of at most 1 hops ties 'Mara Lind'")


def test_a_path_leads_through_no_journal_and_through_no_year(
    in_process: Run, tmp_path: Path
) -> None:
    (tmp_path / "refs.bib").write_text(
        "@article{a, author={Ada Quill}, title={Weirs}, journal={River Works}, year={2019}}\n"
        "@article{b, author={Piet Oss}, title={Lamps}, journal={River Works}, year={2019}}\n"
        "@article{c, author={Ada Quill and Ilse Marr}, title={Glass}, journal={Vell}, year={2020}}"
    )
    assert in_process("index", "refs.bib", "--pack", "papers").returncode == 0

    apart = in_process("path", "Ada Quill", "Piet Oss", "--max-hops", "5")
    strongest = in_process("path", "Ada Quill", "Piet Oss", "--weighted")
    together = in_process("path", "Ada Quill", "Ilse Marr", "--max-hops", "5")
    ending = in_process("path", "Ada Quill", "River Works")

    assert apart.stdout == strongest.stdout == ""
    assert "“Authors: Ada Quill; Ilse Marr” (Glass)" in together.stdout
    assert "River Works" not in together.stdout
    assert "Weirs — published_in → River Works" in ending.stdout


def test_timeline_is_in_order_and_ends_with_its_day(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    printed = in_process("timeline", "Mara Lind", *store).stdout
    entries = data(in_process, "timeline", "Mara Lind", *store)["timeline"]
    then = in_process("timeline", "Mara Lind", "--as-of", "2023-12-31", *store).stdout

    rows = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    assert rows[0] == ["when", "what", "source"]
    assert ["2019", "Pia Sand taught Mara Lind to weave in 2019.", "A Guide to Looms"] in rows
    moved = ["until 2023", "Mara Lind — lives_in → Tarnholm"]
    assert [*moved, "Diary of a workshop"] in rows
    moments = [datetime.fromisoformat(one["from"] or one["until"]) for one in entries]
    assert moments == sorted(moments)
    assert "Ostby" in printed
    assert "Ostby" not in then


def test_communities_and_their_reports(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    listed = in_process("communities", *store)
    found = data(in_process, "communities", *store)["communities"]
    reports = in_process("communities", "--limit", "1", *store)

    assert listed.stdout.count("\n\nSources:\n\n[1] ") == len(found) >= 2
    assert listed.stderr == reports.stderr == ""
    first = found[0]
    quoted = "\n".join(f"> {line}".rstrip() for line in first["summary"].splitlines())
    assert reports.stdout.startswith(f"# {first['title']}\n\n{quoted}\n\nSources:\n\n[1] ")
    for community in found:
        assert community["size"] >= 3
        assert {Path(source).parent for source in community["sources"]} == {workshop.folder}


def test_topics_are_what_several_passages_are_on(in_process: Run, workshop: Library) -> None:
    found = data(in_process, "topics", "--store", workshop.store)
    printed = in_process("topics", "--limit", "1", "--store", workshop.store).stdout

    by_name = {topic["name"]: topic for topic in found}
    assert by_name["Mara Lind"]["documents"] == 3
    assert len(printed.splitlines()) == 2
    assert printed.split() == [*("topic", "theme", "passages", "documents"), *printed.split()[4:]]


def test_subgraph_as_text_json_and_graphml(
    in_process: Run, workshop: Library, tmp_path: Path
) -> None:
    question = ("How is Pia Sand tied to the Sole Trust?", "--store", workshop.store)

    text = in_process("subgraph", *question)
    found = data(in_process, "subgraph", *question)
    same = in_process("subgraph", *question, "--format", "json")
    filed = in_process("subgraph", *question, "--format", "graphml", "-o", "sub.graphml")

    assert text.stdout.startswith("Entities: ")
    assert "- Weir Mill — part_of → Sole Trust: “The Weir Mill is part of the Sole Trust.”" in (
        text.stdout.splitlines()
    )
    assert json.loads(same.stdout) == found
    assert found.keys() == {"query", "graph", "notes"}
    graph = found["graph"]
    names = {node["id"]: node["name"] for node in graph["nodes"]}
    assert {"Pia Sand", "Sole Trust"} <= set(names.values())
    assert (graph["node_count"], len(names)) == (len(graph["nodes"]), len(graph["nodes"]))
    assert graph["edge_count"] == len(graph["edges"]) >= len(names) - 1
    assert filed.stdout == ""
    assert re.fullmatch(r"[\d,]+ bytes written to sub.graphml\n", filed.stderr)
    drawn = ElementTree.parse(tmp_path / "sub.graphml")
    assert {node.get("id") for node in drawn.iterfind(".//g:node", SPACE)} == {
        f"e{id_}" for id_ in names
    }


def test_stats_of_the_graph(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    found = data(in_process, "stats", "--graph", *store)
    printed = in_process("stats", "--graph", *store).stdout
    plain = data(in_process, "stats", *store)

    graph = found.pop("graph")
    assert found == plain
    assert graph["statistics"]["entities"] == sum(1 for _ in _named(workshop))
    assert graph["statistics"]["components"] >= 1
    shares = [hub["pagerank"] for hub in graph["hubs"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1.000001
    assert graph["hubs"][0]["entity"]["tier"] == "core"
    headers = [line.split() for line in printed.splitlines() if "betweenness" in line]
    assert [header[0] for header in headers] == ["hub", "between"]
    assert "graph.ties" in printed


def _named(workshop: Library) -> list[str]:
    """Names of all entities but dates, which tie nothing."""
    with library_api.open(workshop.store) as engine:
        return [
            entity.name
            for entity in engine.store.entities(range(1, 1000))
            if entity.entity_type != "date"
        ]


def test_entity_show_tells_validity_salience_and_tier(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    printed = in_process("entity", "show", "Mara Lind", *store).stdout
    found = data(in_process, "entity", "show", "Mara Lind", *store)
    around = data(in_process, "entity", "neighbors", "Mara Lind", *store)

    lines = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    assert ["from", "relation", "to", "held", "evidence"] in lines
    sentence = "Mara Lind moved to Ostby last month."
    assert ["Mara Lind", "lives_in", "Ostby", "since 2024", sentence] in lines
    assert found["entity"]["tier"] in ("core", "notable", "minor")
    assert 0 < found["entity"]["salience_score"] <= 1
    assert ["tier", found["entity"]["tier"]] in lines
    ends = {r["tail"]: r["valid_until"] for r in found["relations"] if r["relation"] == "lives_in"}
    assert ends == {"Tarnholm": "2024-01-01T00:00:00+00:00", "Ostby": None}
    around_it = {(item["relation_type"], item["neighbor_name"]) for item in around["neighbors"]}
    assert {("lives_in", "Tarnholm"), ("lives_in", "Ostby")} <= around_it
