"""What a query would do, judged by the server's own plan of it; the query does not run.

A list of forbidden words fails: comments, Unicode escapes and sub-queries hide words. The plan
does not: it has one operator for each thing that would be done, whatever the text looked like.

Functions are no operators, and one of a plugin may read files or run another query. The plan writes
the expressions of each operator out, and only functions of Cypher's own may stand in them. Since a
server may compute constants while it plans, the text is looked through first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clew.errors import InputError

MOST_ROWS = 1_000_000
"""Rows of a step, at most, as the server estimates them."""
# What only reads the graph. Not among them: CALL of procedures, LOAD CSV, SHOW, CALL … IN
# TRANSACTIONS, and everything that writes.
_READS = frozenset(
    """
    AllNodesScan AntiConditionalApply AntiSemiApply Apply Argument AssertSameNode
    AssertSameRelationship BFSPruningVarLengthExpand BidirectionalRepeat CacheProperties
    CartesianProduct ConditionalApply DirectedAllRelationshipsScan
    DirectedRelationshipByElementIdSeek DirectedRelationshipByIdSeek
    DirectedRelationshipIndexContainsScan DirectedRelationshipIndexEndsWithScan
    DirectedRelationshipIndexScan DirectedRelationshipIndexSeek
    DirectedRelationshipIndexSeekByRange DirectedRelationshipTypeScan
    DirectedUnionRelationshipTypesScan Distinct Eager EagerAggregation EmptyResult EmptyRow
    ExhaustiveLimit Expand Filter
    IntersectionNodeByLabelsScan LeftOuterHashJoin LetAntiSemiApply LetSelectOrAntiSemiApply
    LetSelectOrSemiApply LetSemiApply Limit MultiNodeIndexSeek NodeByElementIdSeek NodeByIdSeek
    NodeByLabelScan NodeCountFromCountStore NodeHashJoin NodeIndexContainsScan
    NodeIndexEndsWithScan NodeIndexScan NodeIndexSeek NodeIndexSeekByRange NodeLeftOuterHashJoin
    NodeRightOuterHashJoin NodeUniqueIndexSeek NodeUniqueIndexSeekByRange NullifyMetadata Optional
    OptionalExpand OrderedAggregation OrderedDistinct OrderedUnion PartialSort PartialTop
    ProduceResults ProjectEndpoints Projection PruningVarLengthExpand
    RelationshipCountFromCountStore Repeat RightOuterHashJoin RollUpApply
    SelectOrAntiSemiApply SelectOrSemiApply SemiApply ShortestPath Skip Sort StatefulShortestPath
    SubtractionNodeByLabelsScan Top Top1WithTies TriadicBuild TriadicFilter TriadicSelection
    UndirectedAllRelationshipsScan UndirectedRelationshipByElementIdSeek
    UndirectedRelationshipByIdSeek UndirectedRelationshipIndexContainsScan
    UndirectedRelationshipIndexEndsWithScan UndirectedRelationshipIndexScan
    UndirectedRelationshipIndexSeek UndirectedRelationshipIndexSeekByRange
    UndirectedRelationshipTypeScan UndirectedUnionRelationshipTypesScan Union
    UnionNodeByLabelsScan Unwind ValueHashJoin VarLengthExpand
    """.split()
)

# Cypher's own functions that have a namespace. Servers take functions of plugins within a namespace
# alone, so that a name without one is Cypher's own, or unknown to the server.
_DOTTED = frozenset(
    f"{kind}.{name}".casefold()
    for kinds, names in (
        ("date time datetime localtime localdatetime", "realtime statement transaction truncate"),
        ("datetime", "fromEpoch fromEpochMillis"),
        ("duration", "between inDays inMonths inSeconds"),
        ("point", "distance withinBBox"),
        ("vector.similarity", "cosine euclidean"),
    )
    for kind in kinds.split()
    for name in names.split()
)
_NAME = r"(?:`(?:[^`]|``)*+`|[^\s.`'\"(){}\[\],;:=<>+\-*/%^|&!~$@#?\\]++)"
_CALLED = re.compile(
    rf"(?P<name>{_NAME}(?:\s*+\.\s*+{_NAME})*+)\s*+(?P<called>\()?"
    r"|'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|(?P<hidden>(?://|/\*|['\"`]).*)",
    re.DOTALL,
)
"""Names; texts, which are passed over; and what could hide a name: comments, texts without end."""


def check_functions(query: str) -> None:
    """Raise `InputError` where a text calls a function that is not Cypher's own, or may hide one.

    Comments and Unicode escapes are refused: the server resolves them before it looks for names.
    """
    hidden = re.search(r"\\[uU]", query)
    for match in _CALLED.finditer(query):
        hidden = hidden or (match if match["hidden"] else None)
        if hidden:
            raise InputError(
                f"the query holds {hidden[0][:40]!r}; write it without comments and without"
                " Unicode escapes, and close each text"
            )
        if match["called"]:
            _check_function(match["name"])


def _check_function(name: str) -> None:
    parts = [part.strip("`") for part in re.findall(_NAME, name)]
    if len(parts) > 1 and ".".join(parts).casefold() not in _DOTTED:
        raise InputError(
            f"the query calls {'.'.join(parts)[:100]}, which is no function of Cypher's own and"
            " could do anything; write it without functions of plugins"
        )


def check_plan(kind: str, root: Mapping[str, Any]) -> None:
    """Raise `InputError` where a query would do anything but read, or read far too much.

    `kind` and `root` are what `Neo4jDatabase.explained` gives.
    """
    if kind != "r":
        raise InputError("the query would change the database; only queries that read are run")
    for operator in _operators(root):
        name = str(operator.get("operatorType", "")).partition("@")[0].partition("(")[0]
        if name.removeprefix("Partitioned") not in _READS:
            raise InputError(
                f"the query would do more than read the graph ({name}); write it with MATCH, WHERE,"
                " WITH and RETURN alone"
            )
        args = operator.get("args", {})
        for match in _CALLED.finditer(str(args.get("Details", ""))):
            if match["called"]:
                _check_function(match["name"])
        rows = float(args.get("EstimatedRows", 0))
        if rows > MOST_ROWS:
            raise InputError(
                f"the query would go through about {rows:,.0f} rows ({name}), more than"
                f" {MOST_ROWS:,}; begin it from a label and a property of what is asked for"
            )


def _operators(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [root]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.get("children", ()))
