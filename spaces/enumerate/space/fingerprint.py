"""A short text for a space that is the same on every machine."""

from __future__ import annotations

import hashlib

from spaces.enumerate.space.space import Space
from spaces.model.writing.serialize import to_json


def fingerprint(space: Space) -> str:
    """A text of 32 hexadecimal digits, the same on every machine.

    Raises:
        ValueError: a restriction is a Python function, which has no such text.
    """
    if space.restricted.predicates:
        raise ValueError(
            f"A space with the Python restriction {space.restricted.predicates[0]} has no "
            "fingerprint: only conditions on features mean the same on every machine."
        )
    return hashlib.blake2b(to_json(space).encode(), digest_size=16).hexdigest()
