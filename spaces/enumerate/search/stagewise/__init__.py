"""Searches that decide one Func after another, consumers first, as in [A21] section 4."""
