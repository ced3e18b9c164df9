"""Reading, splitting and extraction where they can be ended: in a process of their own.

`steps` sees a document's text, `requests` is what can be asked of it, `pool` asks it of worker
processes, `process` is one of these as its parent sees it, `worker` is what runs in it, `messages`
is what it answers with.
"""
