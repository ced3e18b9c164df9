from __future__ import annotations

import json
import sqlite3
import subprocess
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import clew as library_api

if TYPE_CHECKING:
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


def test_index_prunes_and_selects(in_process: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("a.md", "b.md", "c.txt"):
        (notes / name).write_text(f"The {name[0]} note.")

    selected = in_process("index", "notes", "--include", "*.md", "--exclude", "b*", "--json")
    (notes / "a.md").unlink()
    pruned = in_process("index", "notes", "--include", "*.md", "--prune", "--json")

    assert json.loads(selected.stdout)["added"] == 1
    assert [json.loads(pruned.stdout)[name] for name in ("added", "pruned")] == [1, 1]


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


def test_search_shows_citation_text_scores_and_path(in_process: Run, indexed: Library) -> None:
    done = in_process("--store", indexed.store, "search", "Who built the mill at Harrow Ford?")

    assert done.stdout.startswith("[1] The Mill at Harrow Ford, Ada Quill, characters 0–")
    assert f"{indexed.folder}/mill.md\n" in done.stdout
    assert "    The mill at Harrow Ford was built by Jonas Reed." in done.stdout
    assert "    score " in done.stdout
    assert "    └▶ [1] The Mill at Harrow Ford\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert not any(line.endswith(" ") for line in done.stdout.splitlines())


def test_search_prints_the_context_for_a_pipe(in_process: Run, indexed: Library) -> None:
    question = "Who owns the fishing rights?"
    with library_api.open(indexed.store) as engine:
        expected = engine.search(question, strategy="keyword").context.text

    options = ("--store", indexed.store, "--strategy", "keyword", "--context")
    done = in_process("search", "-", *options, stdin=question)

    assert done.stdout == expected + "\n"
    assert "fishing rights" in done.stdout


def test_a_filter_joins_conditions_and_names_what_is_near_an_unknown_field(
    in_process: Run, indexed: Library
) -> None:
    store = ("--store", indexed.store, "--json")
    everything = json.loads(in_process("documents", *store).stdout)

    def titles(command: str, where: str) -> list[str]:
        found = json.loads(in_process(command, "--where", where, *store).stdout)
        return sorted(document["title"] for document in found)

    ada = titles("documents", "author = Ada Quill")
    assert 0 < len(ada) < len(everything)
    rest = titles("documents", "not author = Ada Quill")
    assert sorted([*ada, *rest]) == sorted(document["title"] for document in everything)
    data = '{"field": "meta.author", "operator": "==", "value": "Ada Quill"}'
    assert titles("documents", data) == titles("documents", "author in ('Ada Quill')") == ada

    unknown = in_process("documents", "--where", "autor = Ada Quill", *store)
    assert (unknown.returncode, json.loads(unknown.stdout)) == (0, [])
    assert "no document has the field 'autor'; did you mean 'author'?" in unknown.stderr


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


# --- stores


def test_option_goes_before_environment(
    in_process: Run, indexed: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_STORE", str(indexed.store))
    library_api.open(tmp_path / "other").close()
    library_api.open(tmp_path, namespace="work").close()

    from_environment = in_process("documents", "--json")
    from_option = in_process("documents", "--json", "--store", tmp_path / "other")
    namespace = in_process("--namespace", "work", "--store", tmp_path, "documents", "--json")

    assert len(json.loads(from_environment.stdout)) == 4
    assert json.loads(from_option.stdout) == []
    assert json.loads(namespace.stdout) == []
    assert {path.name for path in tmp_path.iterdir()} == {"other", "work"}


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


def test_show_lists_the_versions_of_a_document(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    for text in ("Edda Rowe cast a bell.", "Edda Rowe cast two bells."):
        given = json.dumps({"source": "bells", "text": text})
        assert in_process("call", "ingest_document", given, *store).returncode == 0

    found = json.loads(in_process("show", "bells", "--versions", "--json", *store).stdout)
    printed = in_process("show", "bells", "--versions", *store).stdout

    assert [version["version"] for version in found] == [1, 2]
    assert found[1]["derived_from"] == found[0]["sha256"] != found[1]["sha256"]
    assert [version["replaced_at"] is None for version in found] == [False, True]
    assert printed.splitlines()[0].split() == ["version", "SHA-256", "indexed", "replaced", "kept"]
    assert len(printed.splitlines()) >= 3


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


def test_delete_by_name(in_process: Run, library: Library) -> None:
    names = [str(library.folder / name) for name in ("mill.md", "abbey.md")]
    shorter = in_process("delete", "mill.md", names[1], "--store", library.store)
    done = in_process("delete", *names, "--store", library.store)

    assert shorter.returncode == 2
    assert f"no single document 'mill.md'; did you mean {names[0]!r}?" in shorter.stderr
    assert (done.returncode, done.stdout) == (0, "2 deleted\n")
    left = json.loads(in_process("documents", "--store", library.store, "--json").stdout)
    assert [document["title"] for document in left] == ["The Lorne", "東京"]


def test_deleting_many_by_condition_wants_a_yes(in_process: Run, library: Library) -> None:
    command = ("delete", "--where", "year<2022", "--store", library.store)

    refused = in_process(*command)
    done = in_process(*command, "--yes", "--json")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Error: 2 documents match; add --yes to delete them" in refused.stderr
    assert json.loads(done.stdout)["deleted"] == 2


# --- entities


def test_entities_that_may_be_one_are_listed_and_kept_apart(
    in_process: Run, tmp_path: Path
) -> None:
    store = ("--store", str(tmp_path / "store"))
    (tmp_path / "1.txt").write_text("We heard that Ada Keller said no.")
    (tmp_path / "2.txt").write_text("They met A. Keller there.")
    in_process("index", str(tmp_path / "1.txt"), str(tmp_path / "2.txt"), *store)

    (one,) = json.loads(in_process("call", "suggest_merges", *store).stdout)["suggestions"]
    ids = {"entity_id": one["source_id"], "other_id": one["target_id"]}
    refused = in_process("call", "refuse_merge", json.dumps(ids), *store)

    assert (one["source"], one["target"]) == ("A. Keller", "Ada Keller")
    assert one["confidence"] == 0.8
    assert refused.returncode == 0
    assert json.loads(in_process("call", "suggest_merges", *store).stdout)["suggestions"] == []


def test_entities_are_merged_split_and_renamed(in_process: Run, library: Library) -> None:
    store = ("--store", library.store, "--json")

    merged = json.loads(in_process("entity", "merge", "Jonas Reed", "Tarn Abbey", *store).stdout)
    split = json.loads(in_process("entity", "split", "Tarn Abbey", "Jonas Reed", *store).stdout)
    renaming = in_process("entity", "rename", "Jonas Reed", "Jonas Reed Esq", *store)
    shown = json.loads(in_process("entity", "show", "Jonas Reed", *store).stdout)

    assert merged["name"] == "Tarn Abbey"
    assert split["name"] == "Jonas Reed"
    assert json.loads(renaming.stdout) == {
        "success": True,
        "entity_id": shown["entity"]["id"],
        "name": shown["entity"]["name"],
        "before": "Jonas Reed",
    }
    assert {alias["name"] for alias in shown["aliases"]} == {"Jonas Reed", "Jonas Reed Esq"}


def test_a_retracted_relation_is_gone(in_process: Run, library: Library) -> None:
    store = ("--store", library.store)
    with library_api.open(library.store) as engine:
        held = engine.store.relations([engine.entities.get("Tarn Abbey").id])
    wrong = next(r.id for r in held if r.relation_type == "part_of")

    def delete(relation: int) -> subprocess.CompletedProcess[str]:
        given = json.dumps({"relation_id": relation, "confirm": True})
        return in_process("call", "delete_relation", given, *store)

    done, again = delete(wrong), delete(wrong)
    shown = json.loads(in_process("entity", "show", "Tarn Abbey", "--json", *store).stdout)

    assert json.loads(done.stdout)["deleted"] == 1
    assert (again.returncode, again.stdout) == (2, "")
    assert len(shown["relations"]) == len(held) - 1
    assert "part_of" not in {r["relation"] for r in shown["relations"]}


def test_entities_are_listed_by_name_and_by_type(in_process: Run, indexed: Library) -> None:
    store = ("--store", indexed.store)

    def found(tool: str, name: str, **given: object) -> list[dict[str, Any]]:
        done = in_process("call", tool, json.dumps(given), *store)
        return list(json.loads(done.stdout)[name])

    every = found("entity_importance", "entities", limit=100)
    kind = every[0]["entity_type"]
    of_kind = found("search_entities", "results", query="Tarn Abbey", node_types=[kind])

    assert {"Tarn Abbey", "Lorne Estate"} <= {entity["name"] for entity in every}
    assert {entity["entity_type"] for entity in of_kind} == {kind}


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
