"""The reader: a small cross-encoder trained from the embedder's weights; README.md tells how."""
