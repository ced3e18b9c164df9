"""Who calls, and what they may do: tokens, OAuth, origins, permissions."""
