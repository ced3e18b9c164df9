"""What source code states, by language."""

from __future__ import annotations

import pytest

from clew.indexing.structure.code import code_structure
from clew.indexing.syntax.parse import syntax_of
from clew.types import Document


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
