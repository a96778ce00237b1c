"""The error of the definition language."""


class DefinitionError(ValueError):
    """A definition has no meaning; the message names the Func and the Var."""
