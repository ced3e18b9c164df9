"""Chats that were exported: Slack, Discord, WhatsApp, ChatGPT, Claude.

Each is known by its content, so that any other JSON or text reads as before. A conversation is a
document whose turns are its pieces, each with its speaker and its time.
"""
