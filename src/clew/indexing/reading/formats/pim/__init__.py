"""Calendars, contacts and tasks: iCalendar, vCard, todo.txt, task lists in Markdown."""
