"""Where embeddings are searched: the matrix beside the store, or a copy elsewhere.

`matrix` needs nothing but the store; `remote` brings a store's embeddings to another place, a port
of a plugin's, and searches them there.
"""
