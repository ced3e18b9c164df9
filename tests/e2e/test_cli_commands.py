"""The commands of the command line, and the shapes that programs read."""

from __future__ import annotations

import json
import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import clew as library_api
from clew.search.pipeline import AUTO, STRATEGIES
from tests.e2e.conftest import Library, Run

VERBS = {"demo", "index", "search", "documents", "show", "delete", "entity", "stats", "check"}


def test_version_and_help(clew: Run) -> None:
    version, usage = clew("--version"), clew("--help")

    assert version.stdout == f"clew {library_api.__version__}\n"
    listed = [line.split()[0] for line in usage.stdout.splitlines() if line.startswith("  ")]
    assert set(listed) >= VERBS
    assert usage.returncode == 0


def test_without_a_command_shows_help_and_fails(in_process: Run) -> None:
    done = in_process()

    assert done.returncode == 2
    assert "Usage: clew" in done.stdout + done.stderr


# --- index


def test_index_reports_what_it_did_and_what_it_left_out(in_process: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "good.md").write_text("# Lorne\n\nThe Lorne is a river.")
    (notes / "empty.md").write_text("")
    (notes / "binary.txt").write_bytes(bytes(range(256)) * 20)

    first = in_process("index", "notes", "--json")
    again = in_process("index", "notes")

    report = json.loads(first.stdout)
    assert (report["added"], report["chunks"]) == (1, 1)
    assert {Path(item["source"]).name for item in report["skipped"]} == {"empty.md", "binary.txt"}
    assert first.returncode == again.returncode == 1
    assert again.stdout.startswith("0 added, 0 changed, 1 unchanged, 0 pruned, 2 skipped; 0 chunks")
    assert "notes/empty.md" in again.stdout
    assert (tmp_path / ".clew").is_dir()


def test_index_reads_standard_input(in_process: Run) -> None:
    named = ["--source", "inbox/1", "--title", "Letter"]

    done = in_process("index", "-", *named, stdin="Dear Ada, the mill is sold.")

    shown = json.loads(in_process("show", "inbox/1", "--json").stdout)
    assert done.stdout.strip() == shown["id"]
    assert (shown["title"], shown["text"]) == ("Letter", "Dear Ada, the mill is sold.")


def test_index_refuses_standard_input_that_is_not_text(in_process: Run) -> None:
    done = in_process("index", "-", stdin=b"caf\xe9")

    assert done.returncode == 2
    assert "standard input is not UTF-8 text (byte 3 is 0xe9)" in done.stderr


# --- search


def test_search_prints_what_the_library_finds(clew: Run, indexed: Library) -> None:
    question = "Who built the mill at Harrow Ford?"
    with library_api.open(indexed.store) as engine:
        expected = engine.search(question, limit=3, max_tokens=200).to_dict()

    done = clew(
        "search",
        *question.split(),
        "--store",
        indexed.store,
        "--limit=3",
        "--max-tokens=200",
        "--json",
    )

    found = json.loads(done.stdout)
    assert found.pop("timings_ms").keys() == expected.pop("timings_ms").keys()
    assert found == json.loads(json.dumps(expected))
    assert found["results"][0]["metadata"]["title"] == "The Mill at Harrow Ford"


def test_search_prints_the_context_for_a_pipe(in_process: Run, indexed: Library) -> None:
    question = "Who owns the fishing rights?"
    with library_api.open(indexed.store) as engine:
        expected = engine.search(question, strategy="keyword").context.text

    options = ("--store", indexed.store, "--strategy", "keyword", "--context")
    done = in_process("search", "-", *options, stdin=question)

    assert done.stdout == expected + "\n"
    assert "fishing rights" in done.stdout


def test_search_asks_namespaces_together(in_process: Run, tmp_path: Path) -> None:
    for name, text in {"a": "Jonas Reed built the mill.", "b": "Jonas Reed drowned."}.items():
        (tmp_path / f"{name}.md").write_text(text)
        in_process("index", f"{name}.md", "--namespace", name)

    done = in_process("search", "Jonas Reed", "--namespaces", "a,b")
    assert (done.returncode, done.stderr) == (0, "")
    assert "[1] a: " in done.stdout or "[1] b: " in done.stdout
    found = json.loads(in_process("search", "Reed", "--namespaces", "a,b", "--json").stdout)
    assert {hit["metadata"]["namespace"] for hit in found["results"]} == {"a", "b"}

    missing = in_process("search", "Jonas Reed", "--namespaces", "a,c")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "no namespace 'c'" in missing.stderr
    assert not (tmp_path / ".clew" / "c").exists()


def test_finding_nothing_is_not_a_failure(in_process: Run) -> None:
    library_api.open(".clew").close()
    done = in_process("search", "anything")

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("Nothing found.\n")


# --- documents


def test_documents_lists_those_that_match(in_process: Run, indexed: Library) -> None:
    listed = in_process("documents", "--store", indexed.store, "--where", "year<2022")

    header, *rows = listed.stdout.splitlines()
    assert header.split() == ["id", "chunks", "date", "title", "source"]
    assert [row.split()[-1].rpartition("/")[2] for row in rows] == ["abbey.md", "mill.md"]


def test_show_prints_a_document_and_a_chunk(in_process: Run, indexed: Library) -> None:
    whole = in_process("show", "lorne.md", "--store", indexed.store)
    text = in_process("show", "lorne.md", "--text", "--store", indexed.store)
    document = json.loads(in_process("show", "lorne.md", "--json", "--store", indexed.store).stdout)
    chunk = in_process("show", f"{document['id']}#0", "--text", "--store", indexed.store)

    assert "metadata.year" in whole.stdout
    assert whole.stdout.endswith(text.stdout)
    assert chunk.stdout.strip() == text.stdout.strip() == document["text"].strip()


def test_show_prints_an_earlier_text(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    for text in ("Edda Rowe cast a bell.", "Edda Rowe cast two bells."):
        given = json.dumps({"source": "bells", "text": text})
        assert in_process("call", "ingest_document", given, *store).returncode == 0

    def show(version: str) -> str:
        return in_process("show", "bells", "--version", version, "--text", *store).stdout.strip()

    assert (show("1"), show("2")) == ("Edda Rowe cast a bell.", "Edda Rowe cast two bells.")
    unknown = in_process("show", "bells", "--version", "7", *store)
    assert unknown.returncode != 0
    assert "version 7 of 'bells' is not kept; there are 1, 2" in unknown.stderr


# --- entities


def test_entities_are_merged_split_and_renamed(in_process: Run, library: Library) -> None:
    store = ("--store", library.store, "--json")

    merged = json.loads(in_process("entity", "merge", "Jonas Reed", "Tarn Abbey", *store).stdout)
    split = json.loads(in_process("entity", "split", "Tarn Abbey", "Jonas Reed", *store).stdout)
    renaming = in_process("entity", "edit", "Jonas Reed", "--name", "Jonas Reed Esq", *store)
    shown = json.loads(in_process("entity", "show", "Jonas Reed", *store).stdout)

    assert merged["name"] == "Tarn Abbey"
    assert split["name"] == "Jonas Reed"
    told = json.loads(renaming.stdout)
    assert (told["entity_id"], told["name"]) == (shown["entity"]["id"], shown["entity"]["name"])
    assert {alias["name"] for alias in shown["aliases"]} == {"Jonas Reed", "Jonas Reed Esq"}


# --- upkeep


def test_stats_counts(in_process: Run, indexed: Library) -> None:
    counted = json.loads(in_process("stats", "--json", "--store", indexed.store).stdout)
    printed = in_process("stats", "--store", indexed.store).stdout

    assert (counted["documents"], counted["chunks"]) == (4, 4)
    assert printed.splitlines()[0].split() == ["documents", "4"]


def test_check_finds_and_repairs(in_process: Run, library: Library) -> None:
    sound = in_process("check", "--store", library.store)
    with closing(sqlite3.connect(next(library.store.rglob("clew.db")))) as connection, connection:
        connection.execute("DELETE FROM keywords WHERE rowid = (SELECT min(rowid) FROM keywords)")

    broken = in_process("check", "--store", library.store)
    repaired = in_process("check", "--repair", "--json", "--store", library.store)

    assert sound.returncode == 0
    assert ", 0 broken" in sound.stdout
    assert broken.returncode == 1
    assert "clew check --repair" in broken.stdout
    assert repaired.returncode == 0
    assert json.loads(repaired.stdout)["repaired"] != []


def test_export_writes_graphs_and_lines(in_process: Run, indexed: Library, tmp_path: Path) -> None:
    store = ("--store", indexed.store)

    graph = in_process("export", "--format", "graphml", *store)
    filed = in_process("export", "-o", "all.jsonl", *store)
    lines = in_process("export", "--format", "jsonl", *store)

    assert ElementTree.fromstring(graph.stdout).tag.endswith("graphml")
    assert all(isinstance(json.loads(line), dict) for line in lines.stdout.splitlines())
    assert (tmp_path / "all.jsonl").read_text(encoding="utf-8") == lines.stdout
    assert "bytes written to all.jsonl" in filed.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["all.jsonl"]


def test_eval_compares_strategies(in_process: Run, tmp_path: Path) -> None:
    data = tmp_path / "tiny"
    (data / "qrels").mkdir(parents=True)
    passages = {"p1": "The Lorne is a slow river.", "p2": "Jonas Reed built the mill."}
    rows = [{"_id": key, "title": "", "text": text} for key, text in passages.items()]
    (data / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (data / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "Who built the mill?"}))
    (data / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp2\t1\n")
    command = ("eval", "tiny", "--strategy", "keyword,graph", "--k", "1,2")

    report = json.loads(in_process(*command, "--json").stdout)
    table = in_process(*command).stdout

    assert [row["strategy"] for row in report["rows"]] == ["keyword", "graph"]
    assert report["rows"][0]["recall@1"] == pytest.approx(1.0)
    assert {"keyword", "graph"} <= set(table.split())
    assert not (tmp_path / ".clew").exists()
    kinds = json.loads(in_process("eval", "tiny", "--rag-types", "--json").stdout)
    assert [row["strategy"] for row in kinds["rows"]] == ["traditional", "contextual", "graph"]


# --- The options of `clew search`, and the shapes that programs read.


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


# --- confidence


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


# --- What can be seen of the graph: paths, timelines, communities, topics, subgraphs,
# figures.


SPACE = {"g": "http://graphml.graphdrawing.org/xmlns"}


def data(run: Run, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON of many shapes
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


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


def test_communities_and_their_reports(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    listed = in_process("communities", *store)
    found = data(in_process, "communities", *store)["communities"]

    assert listed.stdout.count("\n\nSources:\n\n[1] ") == len(found) >= 2
    quoted = "\n".join(f"> {line}".rstrip() for line in found[0]["summary"].splitlines())
    assert listed.stdout.startswith(f"# {found[0]['title']}\n\n{quoted}\n\nSources:\n\n[1] ")


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
    in_process("subgraph", *question, "--format", "graphml", "-o", "sub.graphml")

    assert "- Weir Mill — part_of → Sole Trust: “The Weir Mill is part of the Sole Trust.”" in (
        text.stdout.splitlines()
    )
    assert {"Pia Sand", "Sole Trust"} <= {node["name"] for node in found["nodes"]}
    drawn = ElementTree.parse(tmp_path / "sub.graphml")
    assert {node.get("id") for node in drawn.iterfind(".//g:node", SPACE)} == {
        f"e{node['id']}" for node in found["nodes"]
    }


def test_stats_of_the_graph(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    found = data(in_process, "stats", "--graph", *store)
    printed = in_process("stats", "--graph", *store).stdout

    graph = found.pop("graph")
    assert found == data(in_process, "stats", *store)
    assert graph["hubs"][0]["entity"]["tier"] == "core"
    headers = [line.split()[0] for line in printed.splitlines() if "betweenness" in line]
    assert headers == ["hub", "between"]


def test_entity_show_tells_validity_salience_and_tier(in_process: Run, workshop: Library) -> None:
    store = ("--store", workshop.store)

    printed = in_process("entity", "show", "Mara Lind", *store).stdout
    found = data(in_process, "entity", "show", "Mara Lind", *store)
    around = data(in_process, "entity", "neighbors", "Mara Lind", *store)

    lines = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    sentence = "Mara Lind moved to Ostby last month."
    assert ["Mara Lind", "lives_in", "Ostby", "since 2024", "1", sentence] in lines
    assert ["tier", found["entity"]["tier"]] in lines
    ends = {r["tail"]: r["valid_until"] for r in found["relations"] if r["relation"] == "lives_in"}
    assert ends == {"Tarnholm": "2024-01-01T00:00:00+00:00", "Ostby": None}
    around_it = {(item["relation_type"], item["neighbor_name"]) for item in around["neighbors"]}
    assert {("lives_in", "Tarnholm"), ("lives_in", "Ostby")} <= around_it


# --- `clew ask` and `clew chat` at the command line, without a model.


@pytest.mark.parametrize("mode", ["one_shot", "stepwise", "global"])
def test_every_mode_answers_with_sources(in_process: Run, workshop: Library, mode: str) -> None:
    shown = in_process("ask", WHERE, "--mode", mode, "--store", workshop.store)
    found = json.loads(
        in_process("ask", WHERE, "--mode", mode, "--store", workshop.store, "--json").stdout
    )

    assert shown.returncode == 0, shown.stderr
    assert found["mode"] == mode.replace("-", "_")
    assert found["answered"]
    assert found["answer"] in " ".join(shown.stdout.split())
    assert f"[{found['sources'][0]['number']}]" in shown.stdout
    assert "no language model" in shown.stderr.lower()


def test_a_conversation_without_a_model_says_so(in_process: Run, workshop: Library) -> None:
    done = in_process("chat", WHERE, "--store", workshop.store)
    listed = in_process("chat", "--list", "--json", "--store", workshop.store)
    unknown = in_process("chat", "--conversation", "none", "Go on", "--store", workshop.store)
    forbidden = in_process("chat", "--tools", "delete_document", "x", "--store", workshop.store)

    assert done.returncode == 0, done.stderr
    assert "Tarnholm" in done.stdout
    assert "no language model is configured" in done.stderr
    assert json.loads(listed.stdout) == []
    for failed, says in ((unknown, "clew chat --list"), (forbidden, "--allow delete_document")):
        assert failed.returncode == 2
        assert says in failed.stderr
