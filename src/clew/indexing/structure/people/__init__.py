"""What letters, minutes and lists state of people."""
