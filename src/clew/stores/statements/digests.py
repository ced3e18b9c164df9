"""Documents by their digests, which tell what is new, changed or moved."""

from __future__ import annotations

from clew.stores.backend import Statement
from clew.stores.statements import AMONG_KEYS

DIGESTS = Statement(
    "SELECT source, origin, sha256, recipe, read_from FROM documents",
    """
MATCH (d:ClewDocument {namespace: $namespace}) WHERE d.source >= ''
RETURN [d.source, d.origin, d.sha256, d.recipe, d.read_from] AS row
""",
)
# Of documents by their source, or by what they were read from. Columns as in `DIGESTS`.
DIGESTS_OF = Statement(
    f"""
SELECT source, origin, sha256, recipe, read_from FROM documents WHERE source {AMONG_KEYS}
UNION SELECT source, origin, sha256, recipe, read_from FROM documents WHERE origin {AMONG_KEYS}
""",
    """
UNWIND $keys AS key
CALL (key) {
    MATCH (d:ClewDocument {namespace: $namespace, source: key}) RETURN d
    UNION
    MATCH (d:ClewDocument {namespace: $namespace, origin: key}) RETURN d
}
RETURN DISTINCT [d.source, d.origin, d.sha256, d.recipe, d.read_from] AS row
""",
)
# Of what was read from files. Columns: source, origin, sha256.
SAME_DIGESTS = Statement(
    f"""
SELECT source, origin, sha256 FROM documents WHERE read_from = 'file' AND sha256 {AMONG_KEYS}
""",
    """
UNWIND $keys AS key
MATCH (d:ClewDocument {namespace: $namespace, sha256: key}) WHERE d.read_from = 'file'
RETURN [d.source, d.origin, d.sha256] AS row
""",
)
