"""Planted bugs: small changes of the library, one at a time. A test must notice each."""
