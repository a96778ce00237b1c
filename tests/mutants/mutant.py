"""A planted bug: one small change to one file, of the sort that people make."""

from __future__ import annotations

import hashlib
from pathlib import Path

from attrs import field, frozen
from attrs.validators import min_len


class DoesNotApplyError(ValueError):
    """The code that a mutant changes is no longer there, or is there several times."""


@frozen
class Mutant:
    """``old``, which occurs once in ``file``, becomes ``new``.

    Attributes:
        name: unique; what ``python -m tests.mutants NAME`` plants.
        file: from the root of the repository.
        why: the mistake, in words.
        tests: files most likely to notice it, asked first.
        equivalent: where no test can notice it, why the program still means the same.
        hangs: where the bug is that something does not end, why; only then is running out of time
            being noticed.
    """

    name: str
    file: str
    old: str = field(validator=min_len(1))
    new: str
    why: str = field(validator=min_len(1))
    tests: tuple[str, ...] = field(validator=min_len(1))
    equivalent: str = ""
    hangs: str = ""

    @property
    def digest(self) -> str:
        """A name of the change itself: another one where the change is another."""
        change = "\0".join((self.name, self.file, self.old, self.new))
        return hashlib.sha256(change.encode()).hexdigest()[:12]

    def changed(self, text: str) -> str:
        """The text of the file with the bug planted.

        Raises:
            DoesNotApplyError: ``old`` does not occur exactly once.
        """
        times = text.count(self.old)
        if times != 1:
            raise DoesNotApplyError(
                f"{self.name} changes what occurs once in {self.file}, but it occurs {times} "
                f"times: {self.old!r}"
            )
        return text.replace(self.old, self.new)

    def plant(self, root: Path) -> None:
        """Change the file below ``root``."""
        path = root / self.file
        path.write_text(self.changed(path.read_text("utf-8")), "utf-8")
