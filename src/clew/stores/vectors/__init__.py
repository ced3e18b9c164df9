"""Where embeddings are searched: the matrix beside the store, Qdrant or Chroma.

`matrix` needs nothing but the store. `qdrant` and `chroma` are ports to a server or a
folder (`remote`); `sync` brings a store's embeddings there and `nearest` searches them.
"""
