"""Reading, splitting and extraction where they can be ended: in a process of their own.

`steps` is what sees a document's text, `requests` what can be asked of it, `pool` asks it of worker
processes, `worker` is what runs in these, `messages` is what they answer with.
"""
