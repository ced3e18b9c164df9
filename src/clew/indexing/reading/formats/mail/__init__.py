"""Mail: single messages (`.eml`, the files of a Maildir) and mailboxes (`.mbox`).

`mailbox` finds the messages in a file, `message` makes a document of one, of its header fields
(`fields`), its parts (`parts`), and what of its text is the sender's own (`quotes`).
"""
