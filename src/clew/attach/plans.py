"""What a query would do, judged by the server's own plan of it; the query does not run.

A list of forbidden words fails: comments, Unicode escapes and sub-queries hide words. The plan
does not: it has one operator for each thing that would be done, whatever the text looked like.
"""

from __future__ import annotations

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
        rows = float(operator.get("args", {}).get("EstimatedRows", 0))
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
