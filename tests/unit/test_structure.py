"""What the structure of a text states: code, fields, mail, people, prose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clew.indexing.structure import add_structure, structure_of
from clew.plugins.code.parse import syntax_of
from clew.plugins.code.structure import code_structure
from clew.types import (
    AliasEvidence,
    Chunk,
    ChunkExtraction,
    Document,
    Extraction,
    Mention,
    Piece,
    Statement,
    Structure,
)
from tests.unit.test_extract import names

# --- What a document's structure states reaches the graph beside what its sentences say.


TEXT = "Ada met Grace. See Compilers."
CHUNKS = (
    Chunk(ordinal=0, section=0, start=0, end=14, text=TEXT[:14]),
    Chunk(ordinal=1, section=0, start=15, end=29, text=TEXT[15:]),
)
FOUND = Extraction(
    chunks=(
        ChunkExtraction(
            sentences=((0, 14),), mentions=(Mention(name="Ada", sentence=0, start=0, end=3),)
        ),
        ChunkExtraction(),
    )
)


def entered(*statements: Statement) -> Extraction:
    return add_structure(FOUND, Structure(statements=statements), CHUNKS)


def test_a_statement_becomes_a_relation_of_its_sentence() -> None:
    link = Statement(head="Ada", relation_type="links_to", tail="Compilers", start=19, end=28)
    first, second = entered(link).chunks
    assert first == FOUND.chunks[0]
    (relation,) = second.relations
    assert (relation.head, relation.relation_type, relation.tail) == (
        "Ada",
        "links_to",
        "Compilers",
    )
    named = {m.name: CHUNKS[1].text[m.start : m.end] for m in second.mentions}
    # A name that the sentence does not write stands where the statement does.
    assert named == {"Ada": "Compilers", "Compilers": "Compilers"}
    assert second.sentences == ((0, 14),)


def test_a_name_that_was_found_is_not_found_twice() -> None:
    known = Statement(head="Ada", relation_type="met", tail="Grace", start=0, end=14)
    first, _ = entered(known, known).chunks
    assert [mention.name for mention in first.mentions] == ["Ada", "Grace"]
    assert len(first.relations) == 1


def test_a_statement_without_names_or_chunks_states_nothing() -> None:
    nameless = Statement(head="  ", relation_type="met", tail="Grace")
    assert entered(nameless) == FOUND
    empty = Extraction(chunks=())
    assert add_structure(empty, Structure(statements=(nameless,)), ()) == empty


# --- What source code states, by language.


def document(source: str, text: str, media_type: str) -> Document:
    return Document(source=source, text=text, media_type=media_type)


def stated(source: str, text: str, media_type: str) -> set[tuple[str, str, str]]:
    found = code_structure(document(source, text, media_type)).statements
    for one in found:
        assert 0 <= one.start < one.end <= len(text)
        assert one.head_type == one.tail_type == "code"
    return {(one.head, one.relation_type, one.tail) for one in found}


PYTHON = '''"""Überschrift."""
import json
from . import _utils
from ._exceptions import TimeoutException as Slow
import os.path as osp

class ReadTimeout(Slow):
    """Too slow."""

    def get(self):
        def local():
            pass
        local()
        unknown()
        thing.method()
        return self._send(json.dumps({}))

    def _send(self, body):
        osp.join(body)
        _utils.check(body)
        return make(body)

class Other:
    def get(self): ...

def make(body):
    return Other()
'''


def test_python() -> None:
    module, timeout = "httpx._client", "httpx._client.ReadTimeout"
    assert stated("/srv/ann/httpx-0.28/httpx/_client.py", PYTHON, "text/x-python") == {
        (module, "imports", "json"),
        (module, "imports", "httpx._utils"),
        (module, "imports", "httpx._exceptions"),
        (module, "imports", "os.path"),
        (module, "defines", timeout),
        (module, "defines", "httpx._client.Other"),
        (module, "defines", "httpx._client.make"),
        (timeout, "defines", f"{timeout}.get"),
        (timeout, "defines", f"{timeout}._send"),
        ("httpx._client.Other", "defines", "httpx._client.Other.get"),
        (timeout, "extends", "httpx._exceptions.TimeoutException"),
        (f"{timeout}.get", "calls", f"{timeout}._send"),
        (f"{timeout}.get", "calls", "json.dumps"),
        (f"{timeout}._send", "calls", "os.path.join"),
        (f"{timeout}._send", "calls", "httpx._utils.check"),
        (f"{timeout}._send", "calls", "httpx._client.make"),
        ("httpx._client.make", "calls", "httpx._client.Other"),
    }


@pytest.mark.parametrize(
    ("source", "text", "media_type", "expected"),
    [
        (
            "a/lib/core/Axios.js",
            "import utils, {each as all} from '../utils.js'\nimport Base from './Base.js'\n"
            "class Axios extends Base { get() { this.put(); all(); utils.merge() } put() {} }\n",
            "text/javascript",
            [
                ("lib/core/Axios", "imports", "a/lib/utils"),
                ("lib/core/Axios.Axios", "extends", "lib/core/Base.Base"),
                ("lib/core/Axios.Axios.get", "calls", "lib/core/Axios.Axios.put"),
                ("lib/core/Axios.Axios.get", "calls", "a/lib/utils.each"),
                ("lib/core/Axios.Axios.get", "calls", "a/lib/utils.merge"),
            ],
        ),
        (
            "p/b/box.ts",
            "export abstract class Box<T> extends Case<T> implements Lid { open(): void {} }\n"
            "export const make = () => new Box()\n",
            "text/x-typescript",
            [
                ("p/b/box.Box", "extends", "Case"),
                ("p/b/box.Box", "implements", "Lid"),
                ("p/b/box.make", "calls", "p/b/box.Box"),
            ],
        ),
        (
            "A.java",
            "package org.x;\nimport java.util.List;\nimport org.y.Base;\n"
            "public class A extends Base implements Run<A> {\n"
            "  void go() { stop(); Base.help(); }\n  void stop() {}\n}\n",
            "text/x-java",
            [
                ("org.x", "imports", "java.util.List"),
                ("org.x.A", "extends", "org.y.Base"),
                ("org.x.A", "implements", "Run"),
                ("org.x.A.go", "calls", "org.x.A.stop"),
                ("org.x.A.go", "calls", "org.y.Base.help"),
            ],
        ),
        (
            "cmd.go",
            'package cobra\nimport (\n  "fmt"\n  f "github.com/spf13/pflag/v2"\n)\n'
            "type Command struct { Base }\n"
            "func (c *Command) Run() { c.Stop(); fmt.Println(); f.Parse(); helper() }\n"
            "func (c *Command) Stop() {}\nfunc helper() {}\n",
            "text/x-go",
            [
                ("cobra", "imports", "fmt"),
                ("cobra.Command", "extends", "Base"),
                ("cobra.Command.Run", "calls", "cobra.Command.Stop"),
                ("cobra.Command.Run", "calls", "fmt.Println"),
                ("cobra.Command.Run", "calls", "pflag.Parse"),
                ("cobra.Command.Run", "calls", "cobra.helper"),
            ],
        ),
        (
            "semver-1.0/src/parse.rs",
            "use crate::error::{Error, Kind as K};\npub struct Version;\n"
            "impl Parse for Version { fn read(&self) { self.next(); Error::new(); dot() } "
            "fn next(&self) {} }\nfn dot() {}\n",
            "text/x-rust",
            [
                ("semver::parse", "imports", "semver::error::Kind"),
                ("semver::parse::Version", "implements", "Parse"),
                ("semver::parse::Version::read", "calls", "semver::parse::Version::next"),
                ("semver::parse::Version::read", "calls", "semver::error::Error::new"),
                ("semver::parse::Version::read", "calls", "semver::parse::dot"),
            ],
        ),
        (
            "src/jv.c",
            '#include "jv.h"\nstatic int *own(int a) { return jv_free(a); }\n'
            "int jv_get(void) { printf(1); return own(2); }\nint main() { return jv_get(); }\n",
            "text/x-c",
            [
                ("jv.c", "imports", "jv.h"),
                ("jv.c::own", "calls", "jv_free"),
                ("jv_get", "calls", "jv.c::own"),
                ("jv.c::main", "calls", "jv_get"),
            ],
        ),
        (
            "a.cpp",
            "namespace n { class Box : public Case { int open() { return help(); } int help(); };\n"
            "int Box::help() { return 1; } }\n",
            "text/x-c++",
            [("n::Box", "extends", "Case"), ("n::Box", "defines", "n::Box::open")],
        ),
    ],
)
def test_languages(
    source: str, text: str, media_type: str, expected: list[tuple[str, str, str]]
) -> None:
    found = stated(source, text, media_type)
    assert set(expected) <= found, found
    assert not any("printf" in tail for _, _, tail in found)


def test_classes_of_one_name_in_two_packages_are_two_entities() -> None:
    one = stated("x-1.0/one/client.py", "class Client: ...\n", "text/x-python")
    other = stated("x-1.0/two/client.py", "class Client: ...\n", "text/x-python")
    assert {tail for *_, tail in one} == {"one.client.Client"}
    assert {tail for *_, tail in other} == {"two.client.Client"}


@pytest.mark.parametrize("text", ["(" * 100_000, "# x\n" * 300_000, "if (\n", "prose, no code."])
def test_what_is_too_long_or_broken_states_nothing(text: str) -> None:
    assert stated("a.py", text, "text/x-python") <= {("a", "imports", "x")}


def test_a_language_without_grammar_has_no_syntax() -> None:
    assert syntax_of(document("a.rb", "def a\nend\n", "text/x-ruby")) is None


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("/srv/ann/httpx-0.28/httpx/_client.py", "httpx._client"),
        ("/srv/ann/code/httpx/_client.py", "httpx._client"),
        ("/srv/ann/code/httpx/httpx/_transports/base.py", "httpx._transports.base"),
        ("/srv/ann/p/src/clew/text.py", "clew.text"),
        ("/srv/ann/p/src/clew/__init__.py", "clew"),
        ("a.py", "a"),
    ],
)
def test_a_python_module_is_called_as_it_is_imported(source: str, module: str) -> None:
    assert {head for head, *_ in stated(source, "def f(): ...\n", "text/x-python")} == {module}


SIGNATURES = """
from typing import Any
from app import route
from .models import Book

class Shelf: ...

@route
def find(shelf: Shelf, any: Any, book: Book | None = None) -> Shelf:
    n: int = 1
    return shelf
"""


def test_signatures_use_return_and_are_decorated() -> None:
    found = stated("/srv/ann/httpx-0.28/httpx/find.py", SIGNATURES, "text/x-python")
    shelf = next(tail for _, relation, tail in found if tail.endswith("Shelf"))
    head = next(tail for _, relation, tail in found if tail.endswith(".find"))
    of_signature = {t for t in found if t[1] in ("uses", "returns", "decorated_by")}
    assert of_signature == {
        (head, "returns", shelf),
        (head, "uses", shelf),
        (head, "uses", next(tail for _, _, tail in found if tail.endswith(".Book"))),
        (head, "decorated_by", "app.route"),
    }


def test_java_signatures() -> None:
    text = "package a;\nclass B {}\nclass C { B made(B from) { return from; } }\n"
    found = stated("C.java", text, "text/x-java")
    assert {t for t in found if t[1] in ("uses", "returns")} == {
        ("a.C.made", "returns", "a.B"),
        ("a.C.made", "uses", "a.B"),
    }


def test_a_docstring_is_of_what_it_stands_in_though_no_blank_line_follows() -> None:
    text = (
        '"""Errors."""\nclass Slow(Exception):\n    """Too slow."""\n'
        'class ReadTimeout(Slow):\n    """No answer."""\n'
        '    def tell(self):\n        """Say it."""\n'
        'def parse(value):\n    """Read it."""\n    return ReadTimeout(value)\n'
    )
    syntax = syntax_of(document("a/net.py", text, "text/x-python"))
    assert syntax is not None
    parts = [text[one.start : one.end] for one in syntax.definitions]
    assert [part.split("(")[0].split(":")[0] for part in parts] == [
        "class Slow",
        "class ReadTimeout",
        "def tell",
        "def parse",
    ]
    found = {
        (head.rpartition(".")[2], tail.rpartition(".")[2])
        for head, relation, tail in stated("a/net.py", text, "text/x-python")
        if relation == "extends"
    }
    assert ("ReadTimeout", "Slow") in found


# --- What mail and chats state of people by their structure.


SENT = datetime(2020, 1, 2, tzinfo=UTC)
MAIL = Document(
    source="a.mbox#m2@x.org",
    text="From: Ada Ray <ada@x.org>\nTo: Bob Stone, list@z.org\nDate: 2020-01-02 10:00\n\nYes.",
    title="Re: Lens",
    media_type="message/rfc822",
    created_at=SENT,
    metadata={
        "from": ["Ada Ray", "ada@x.org"],
        "to": ["Bob Stone", "bob@y.org", "list@z.org"],
        "in_reply_to": "m1@y.org",
    },
)


def mail_stated(document: Document) -> list[tuple[str, str, str]]:
    return [(s.head, s.relation_type, s.tail) for s in structure_of(document).statements]


def test_a_message_states_who_wrote_to_whom() -> None:
    assert mail_stated(MAIL) == [
        ("Ada Ray", "sent", "Re: Lens"),
        ("Ada Ray", "wrote_to", "Bob Stone"),
        ("Ada Ray", "wrote_to", "list@z.org"),
        ("Re: Lens", "replies_to", "Lens"),
    ]
    found = structure_of(MAIL)
    bob = found.statements[1]
    assert MAIL.text[bob.start : bob.end] == "To: Bob Stone, list@z.org"
    assert (bob.head_type, bob.tail_type, bob.valid_from) == ("person", "person", SENT)
    assert [(a.alias, a.name, a.evidence) for a in found.aliases] == [
        ("ada@x.org", "Ada Ray", '"Ada Ray" <ada@x.org>'),
        ("bob@y.org", "Bob Stone", '"Bob Stone" <bob@y.org>'),
    ]


def test_behind_addresses_of_roles_there_is_no_person() -> None:
    robot = replace(MAIL, metadata={"from": ["Build Server", "no-reply@x.org"]})
    (sent,) = structure_of(robot).statements
    assert sent.head_type == "name"


def test_an_announcement_ties_nobody_to_anybody() -> None:
    everybody = [f"u{i}@x.org" for i in range(500)]
    news = replace(MAIL, metadata={"from": ["Ada Ray", "ada@x.org"], "to": everybody})
    assert mail_stated(news) == [("Ada Ray", "sent", "Re: Lens")]


@pytest.mark.parametrize("metadata", [{}, {"from": "x"}, {"from": [1, None]}, {"to": ["a@b.c"]}])
def test_odd_metadata_states_nothing_odd(metadata: dict[str, object]) -> None:
    for head, relation, tail in mail_stated(replace(MAIL, title="", metadata=metadata)):
        assert relation == "sent"
        assert head
        assert tail


def test_everybody_who_speaks_spoke_in_the_conversation() -> None:
    said = {"created_at": "2020-01-02"}
    turns = [("Ada", 0), ("Bob", 10), ("Ada", 20)]
    pieces = tuple(
        Piece(start=at, end=at + 8, key=str(at), metadata={"speaker": name, **said})
        for name, at in turns
    )
    chat = Document(
        source="a", text="x" * 30, title="#harbour", media_type="text/chat", pieces=pieces
    )
    assert mail_stated(chat) == [("Ada", "spoke_in", "#harbour"), ("Bob", "spoke_in", "#harbour")]
    assert structure_of(chat).statements[0].valid_from == SENT
    assert mail_stated(replace(chat, metadata={"app": "chatgpt"})) == []


def test_an_alias_is_mentioned_beside_its_name() -> None:
    text = "From: Ada Ray <ada@x.org>"
    chunks = (Chunk(ordinal=0, section=0, start=0, end=len(text), text=text),)
    ada = Mention(name="Ada Ray", entity_type="person", sentence=0, start=6, end=13, count=2)
    found = Extraction(chunks=(ChunkExtraction(sentences=((0, len(text)),), mentions=(ada,)),))
    aliases = tuple(
        AliasEvidence(alias=alias, name="Ada Ray", method="exact", score=0.95, evidence="x")
        for alias in ("ada@x.org", "ada@home.org")
    )
    entered = add_structure(found, Structure(aliases=aliases), chunks)
    shown, hidden = entered.chunks[0].mentions[1:]
    assert (shown.name, text[shown.start : shown.end]) == ("ada@x.org", "ada@x.org")
    assert (hidden.name, text[hidden.start : hidden.end]) == ("ada@home.org", "Ada Ray")
    assert entered.aliases == aliases
    nobody = replace(aliases[0], name="Nobody Else")
    assert add_structure(found, Structure(aliases=(nobody,)), chunks).chunks == found.chunks


# --- What the metadata, the headings, the lists and the marks of a prose text state.


RST = "text/x-rst"
Triple = tuple[str, str, str]


def prose_stated(
    text: str,
    media_type: str = "text/markdown",
    title: str = "Guide",
    metadata: Mapping[str, object] | None = None,
) -> set[Triple]:
    document = Document(
        source="guide", title=title, text=text, media_type=media_type, metadata=metadata or {}
    )
    return {(s.head, s.relation_type, s.tail) for s in structure_of(document).statements}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"author": "Ann Lee"}, {("authored_by", "Ann Lee")}),
        (
            {"Authors": "Ann Lee <ann@example.org>, Bob Ray"},
            {("authored_by", "Ann Lee"), ("authored_by", "Bob Ray")},
        ),
        ({"status": "Final"}, {("has_status", "Final")}),
        ({"superseded-by": ["Handbook"]}, {("replaced_by", "Handbook")}),
        # Bare numbers belong to the series that numbers the document itself.
        (
            {"pep": 257, "requires": "12, 287"},
            {("depends_on", "PEP 12"), ("depends_on", "PEP 287")},
        ),
        ({"requires": "12"}, set()),
        ({"author": ""}, set()),
        ({"author": "https://example.org/ann"}, set()),
        ({"author": "Guide"}, set()),
        ({"created": "2-Mar-2019", "year": 1990}, set()),
    ],
)
def test_fields(metadata: dict[str, object], expected: set[tuple[str, str]]) -> None:
    assert prose_stated("Some text.", metadata=metadata) == {("Guide", *one) for one in expected}


DEFINED, ZORB_IS = ("Zorb", "defined_in", "Guide"), ("Zorb", "is_a", "protocol")


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        # Definitions; a bar of navigation and labels of fields define nothing.
        ("Zorb\n: A protocol for mail.\n", {DEFINED, ZORB_IS}),
        ("Zorb\n    The act of rolling.\n", {DEFINED}),
        ("- **Zorb**: A protocol.\n", {DEFINED, ZORB_IS}),
        ("This is a sentence.\n    A quotation of somebody.\n", set()),
        ("Zorb\nA new paragraph.\n", set()),
        ("| Chapter 2 | Next |\n| --- | --- |\n| Prev | Chapter 4 |\n", set()),
        ("- **Location**: Bristol or near\n- **Reports to**: Paul Okoro the First\n", set()),
        ("- zorb-gbp: a suite for packages\n- warning - it is loud\n- zorb: fix it\n",
         {("zorb-gbp", "defined_in", "Guide"), ("zorb-gbp", "is_a", "suite")}),
        ("So:\n\n`allow`\n\nHosts that may ask.\n", {("allow", "defined_in", "Guide")}),
        ("| Name | Use |\n| --- | --- |\n| `deny` | Hosts that may not |\n",
         {("deny", "defined_in", "Guide")}),
        ("  -f, --force   Overwrites what is there.\n  --log=FILE  Writes to the file.\n",
         {("--force", "defined_in", "Guide"), ("--log", "defined_in", "Guide")}),
        ("[1](#o1)- **Host system**: The one that builds.\n",
         {("Host system", "defined_in", "Guide")}),
        # Citations, once each, by a name of their own.
        ("See RFC 2616, RFC2616 and PEP-8 (ISO 8601). The DRFC 1 and RFC are none.",
         {("Guide", "cites", name) for name in ("RFC 2616", "PEP 8", "ISO 8601")}),
        ("Since :pep:`572` it is allowed.", {("Guide", "cites", "PEP 572")}),
        # What a heading names is described in the document.
        ("# Guide\n\n## Block Quotes\n\nThey are set in.\n\n## Summary\n\nNothing.\n",
         {("Block Quotes", "described_in", "Guide")}),
        # Who is credited in lists; a line that is no name of a person is passed over.
        ("Thanks to all who contributed:\n\n* Alan Turing\n* the-bot\n* jxlil\n"
         "* Emmy Noether (@emmy)\n\nThanks to Karl Marx, workers know.",
         {(name, "credited_in", "Guide") for name in ("Alan Turing", "jxlil", "Emmy Noether")}),
        ("Ada Byron <ada@example.org>\n* Emmy Noether (emmy at example.org)\n",
         {(name, "credited_in", "Guide") for name in ("Ada Byron", "Emmy Noether")}),
        ("Acknowledgements\n================\n\nAda Byron\nEmmy Noether\n",
         {(name, "credited_in", "Guide") for name in ("Ada Byron", "Emmy Noether")}),
        ("A letter was written by Ada Byron. From: Emmy Noether <emmy@example.org>", set()),
        # What marks and the nouns beside them say of code.
        ("See the :mod:`asyncio` docs.", {("asyncio", "is_a", "module")}),
        (
            "Uses :py:func:`~os.path.join` now.",
            {
                ("os.path.join", "is_a", "function"),
                ("os.path.join", "part_of", "os.path"),
                ("os.path", "part_of", "os"),
            },
        ),
        ("Install the `quilt` package first.", {("quilt", "is_a", "package")}),
        ("Installez le paquet `quilt` d'abord.", {("quilt", "is_a", "paquet")}),
        ('The "table" directive makes one.', {("table", "is_a", "directive")}),
        (
            "The ``cgi`` and ``crypt`` modules are gone.",
            {("cgi", "is_a", "module"), ("crypt", "is_a", "module")},
        ),
        # Instances, values, files of a kind and other things that the name only qualifies:
        ("All the ``Node`` elements go.", set()),
        ("A ``str`` argument will do.", set()),
        ("The `foo` module and the `.pyc` file.", set()),
        ("Use the `quilt` package manager.", set()),
        ("Is `quilt` package the word?", set()),
        # Members are part of their class, dotted names of what the text names or imports.
        ("Call `Tide.rises()` and ``Tide.height`` but not `Tide.txt`, as :data:`sea.LEVEL` says.",
         {("Tide.rises", "part_of", "Tide"), ("Tide.height", "part_of", "Tide"),
          ("sea.LEVEL", "part_of", "sea")}),
        ("Use `sea` and `sea.tide`, ``import dock`` and `dock.pier.Crane`; `self.x`, `a.html`.",
         {("sea.tide", "part_of", "sea"), ("dock.pier.Crane", "part_of", "dock.pier"),
          ("dock.pier", "part_of", "dock")}),
        (".. py:function:: sea.rise(by)\n\n.. class:: compact\n\n.. confval:: sea/level\n",
         {("sea.rise", "is_a", "function"), ("sea.rise", "part_of", "sea"),
          ("sea/level", "is_a", "setting")}),
    ],
)  # fmt: skip
def test_prose_states(text: str, triples: set[Triple]) -> None:
    assert prose_stated(text) == triples


def test_an_indented_text_defines_the_line_above_in_restructuredtext() -> None:
    text = "Terms:\n\nlive medium\n    Whatever the system starts from.\n\nNote\n    Never mind.\n"
    assert prose_stated(text, RST) == {("live medium", "defined_in", "Guide")}


def test_a_document_does_not_cite_itself_and_what_it_cites_has_its_place() -> None:
    own = {"title": "PEP 257 Docstrings", "metadata": {"pep": 257}}
    document = Document(source="a", text="Unlike PEP 257 we follow RFC 2616.", **own)  # type: ignore[arg-type]
    (cited,) = structure_of(document).statements
    assert document.text[cited.start : cited.end] == cited.tail == "RFC 2616"


@pytest.mark.parametrize(
    ("heading", "subject"),
    [
        ("3.1 Block Quotes", "Block Quotes"),
        ("PEP 572: Assignment Expressions", "PEP 572"),
        ("tab_width", "tab_width"),
        ("asyncio", "asyncio"),
        ("Overview", ""),
        ("Known Issues", ""),
        ("Installing Debian", ""),
        ("How do I start?", ""),
        ("What you need", ""),
        ("2019", ""),
    ],
)
def test_a_heading_names_a_subject_or_none(heading: str, subject: str) -> None:
    found = {h for h, r, _ in prose_stated(f"# {heading}\n\nText.\n") if r == "described_in"}
    assert found == ({subject} if subject else set())


def test_what_a_thing_is_is_no_mention() -> None:
    text = "See :mod:`asyncio`."
    document = Document(source="a", title="A", text=text, media_type=RST)
    chunk = Chunk(ordinal=0, section=0, start=0, end=len(text), text=text)
    found = add_structure(
        Extraction(chunks=(ChunkExtraction(),)), structure_of(document), [chunk]
    ).chunks[0]
    assert [mention.name for mention in found.mentions] == ["asyncio"]
    assert [relation.tail_type for relation in found.relations] == ["concept"]


def test_labels_and_columns_of_minutes_are_no_names() -> None:
    text = (
        "Apologies: Ruth Bligh, Samir Patel\n\nTOP 1   Compost\n"
        "RESOLVED: that Ada Moss writes to the Parks Department.\nACTION: Bob to ask.\n\nAOB\n"
        "Item            Budget     Owner\nFencing         120,000    T. Berg\n"
        "Watering         40,000    A. Moss\n"
    )
    found = set(names(text, title="Circle"))
    assert {"Ruth Bligh", "Parks Department"} <= found
    assert not {"TOP 1", "TOP", "RESOLVED", "ACTION", "AOB", "Apologies"} & found
    assert not any("Watering" in name or "Fencing" in name for name in found)
