"""The promises of what other packages plug in, as tests to inherit.

Each class has the tests of one kind of thing; pytest and unittest collect subclasses whose names
they look for. A subclass says what is tested:

>>> class TestMine(CostModelContract):
...     def model(self):
...         return Mine()
"""
