"""Tables in the memory of this machine."""
