"""The program with all its commands: importing their modules adds them."""

from __future__ import annotations

from apps.command_line import compile, complete, prove, rules, run, show, space, verify
from apps.command_line.program import program

MODULES = (show, rules, verify, prove, space, complete, compile, run)
"""The modules of the commands."""

__all__ = ("MODULES", "program")
