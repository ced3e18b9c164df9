"""Conversations: a language model that reads the store with Clew's own tools; `conversation.py`."""
