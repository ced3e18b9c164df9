"""From files to a document with its chunks, their vectors, and what they mention."""
