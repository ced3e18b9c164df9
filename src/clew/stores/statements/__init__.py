"""All that a store asks of its database, by concept: the SQL and the Cypher of a question together.

Column lists that are the same in both languages are written once. Cypher names the namespace in
every pattern, and a property of the index that it starts from: a composite index finds only nodes
that have every property that it is made of, hence `n.id > 0`.
"""
