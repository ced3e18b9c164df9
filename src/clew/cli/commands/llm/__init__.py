"""Commands that ask a language model, where there is one."""
