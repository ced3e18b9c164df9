"""Reading by the assistant itself: passages go out, entities and relations come back."""
