"""The error of the definition language."""


class DefinitionError(ValueError):
    """A Func is defined in a way that has no meaning; the message names Func and Var."""
