"""What a language model adds to passages that are stored: facts, contexts, descriptions.

Each task is its works (what is left to ask), `ask` (one work, in a thread) and `record` (what came
of some works, in the store); `run` drives them all. Nothing that a model says is stored before the
text was looked at: see `validation`.
"""
