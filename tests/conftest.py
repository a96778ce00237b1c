"""Settings shared by all tests."""

from hypothesis import settings

# Derandomized: a run in CI and a run at the desk draw the same examples. No deadline: the first
# call of a test may compile code.
settings.register_profile("spaces", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("spaces")
