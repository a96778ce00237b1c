"""Bugs in what a call computes: conditions on its sizes, outputs without elements, its sizes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_EXACT = ("test_exact_conditions.py",)
_EMPTY = ("test_empty_outputs.py",)
_COMPILED = ("test_compiled_pipelines.py",)
_KNOWN = ("test_known.py",)
_ALONE = ("test_alone.py",)

CALLS = (
    Mutant(
        "conditions-wrap-at-64-bits",
        "exact:_bits",
        "max(-(-needed // _WORD) * _WORD, _LEAST_BEYOND)",
        "_WORD",
        "A requirement of a long product fails where the product wraps to 0.",
        _EXACT,
    ),
    Mutant(
        "products-as-wide-as-a-factor",
        "_MAGNITUDES",
        "lambda a, b: a * b",
        "lambda a, b: a + b",
        "Machine code takes too narrow integers for products.",
        _EXACT,
    ),
    Mutant(
        "divisions-by-a-library",
        "_Exact._division",
        "self._hidden(a) if self.wide.bits > _WORD else a",
        "a",
        "Code of a condition calls a function that no process has.",
        _EXACT,
    ),
    Mutant(
        "all-outputs-or-none",
        "with_empty_outputs",
        "block(*parts)",
        "block()",
        "Outputs beside one without elements stay unwritten.",
        _EMPTY,
    ),
    Mutant(
        "checks-for-outputs-without-elements",
        "with_empty_outputs",
        "c if c.condition in asked else _where(every, c)",
        "c",
        "A call is refused for what an output without elements would read.",
        _EMPTY,
    ),
    Mutant(
        "inner-outputs-keep-their-names",
        "empty_outputs:_alone",
        "inside.get(f.name, f.name)",
        "f.name",
        "An output that another reads has two memories of one name.",
        _EMPTY,
    ),
    Mutant(
        "estimates-before-arrays",
        "sizes_of",
        "name not in result",
        "name in pipeline.outputs and not result",
        "The size of an output's array does not count if the size of another output is given.",
        (*_COMPILED, *_EMPTY),
    ),
    Mutant(
        "images-begin-at-zero",
        "_beginning",
        "pipeline.estimate(image.name) if as_estimated else None",
        "None",
        "A call of the estimated sizes reads an image at other coordinates.",
        _COMPILED,
    ),
    Mutant(
        "default-threads-after-a-journey",
        "CpuRecipe.compiled",
        "self.threads",
        "None",
        "A pickled pipeline loses its number of threads.",
        _COMPILED,
    ),
    Mutant(
        "the-newest-study-wins",
        "known:_by_time",
        "(line[0], -line[1], line[2].number)",
        "(-line[1], line[0], line[2].number)",
        "A slow schedule of the newest study comes before a fast one of an older study.",
        _KNOWN,
    ),
    Mutant(
        "ratios-to-unlike-references",
        "known:_by_time",
        "one.result.interval[1] * reference",
        "one.result.interval[1]",
        "A study with a slow reference seems fast.",
        _KNOWN,
    ),
    Mutant(
        "locks-behind-links",
        "alone:_opened",
        "os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK",
        "os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK",
        "A link in the folder for temporary files leads the lock elsewhere.",
        _ALONE,
    ),
    Mutant(
        "waits-without-end",
        "alone:_wait",
        "time.monotonic() >= end",
        "False",
        "A process waits for ever for another one that measures.",
        _ALONE,
        hangs="The wait of the test has no other limit.",
    ),
    Mutant(
        "modules-of-the-current-folder",
        "module_command",
        "[sys.executable, '-P', '-m', module, *arguments]",
        "[sys.executable, '-m', module, *arguments]",
        "A worker executes the random.py of the folder that the user is in.",
        _ALONE,
    ),
)
