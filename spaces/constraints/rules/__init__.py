"""The rule catalogue, by subject; :mod:`~spaces.constraints.rules.catalogue` lists all rules."""
