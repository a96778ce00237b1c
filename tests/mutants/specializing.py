"""Bugs in what becomes of specialized schedules."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_specialize.py",)
_GPU_TESTS = ("test_gpu_specialize.py",)

SPECIALIZING = (
    Mutant(
        "no-case-is-asked-for",
        "combined",
        "If(_all(program.assumptions), program.body, body)",
        "If(_all(program.assumptions), body, program.body)",
        "The program of a case runs where it is not the case.",
        _TESTS,
    ),
    Mutant(
        "size-checks-of-all-cases",
        "combined",
        "SizeCheck(implied(program.assumptions, one.condition), one.message)",
        "one",
        "What one case requires is required in all.",
        _TESTS,
    ),
    Mutant(
        "rules-of-all-cases",
        "_of_cases",
        "implied(case.bounds.assumptions, one.condition)",
        "one.condition",
        "What the rules require in one case is required in all.",
        _TESTS,
    ),
    Mutant(
        "less-is-not-more",
        "conditions:_NEGATED",
        '{"lt": "ge", **...}',
        '{"lt": "gt", **...}',
        "Where a size is not below a number it is taken to be above it.",
        _TESTS,
    ),
    Mutant(
        "limits-rounded-the-other-way",
        "_limit",
        "Polynomial.of(-(rest // slope)).expr()",
        "constant(-rest // slope + 1, Int32)",
        "A size is assumed to be larger than a condition says.",
        _TESTS,
    ),
    Mutant(
        "later-conditions-first",
        "_cases",
        "(first, *others)",
        "(*others, first)",
        "Of several conditions that hold the last counts.",
        _TESTS,
    ),
    Mutant(
        "specializations-begin-anew",
        "Directives._specialized",
        "self._order",
        "self._func.stages[0]",
        "A specialization begins as the pure stage is, whatever is specialized.",
        _TESTS,
    ),
    Mutant(
        "kernels-of-the-first-case",
        "GpuPipeline.at",
        "all(holds(condition, values) for condition in program.assumptions)",
        "program.kernels",
        "Whatever the sizes are, the kernels of the first case run.",
        _GPU_TESTS,
    ),
    Mutant(
        "one-kernel-of-a-name",
        "_Outliner._named",
        "self.known.get(named.name, named) != named",
        "False",
        "Kernels of two cases have the same name, and one of them is printed.",
        _GPU_TESTS,
    ),
    Mutant(
        "barriers-of-the-last-case",
        "_meanings",
        "verdict.cases",
        "(*verdict.cases[:1],)",
        "What is proven of one case is taken for all.",
        _GPU_TESTS,
    ),
    Mutant(
        "cases-unknown-to-barriers",
        "launches",
        "(*program.assumptions, *(r.condition for r in program.size_checks))",
        "tuple(r.condition for r in program.size_checks)",
        "Barriers are not proven with what is the case.",
        _GPU_TESTS,
    ),
    Mutant(
        "costs-of-no-case",
        "Batch.of",
        "followed(schedule, chosen) if is_specialized(schedule) else schedule",
        "followed(schedule, {})",
        "A specialized schedule costs what it does where no condition holds.",
        _GPU_TESTS,
    ),
    Mutant(
        "first-condition-overruled",
        "followed",
        "reversed(func.specializations)",
        "func.specializations",
        "Of several conditions that hold the last one decides what a schedule costs.",
        _GPU_TESTS,
    ),
    Mutant(
        "parts-of-cases-share-names",
        "outline_kernels",
        "sum(isinstance(n, HostPart) for other in others for n in walk_nodes(other.body))",
        "0",
        "What the host computes in two cases has the same name, and is compiled once.",
        _GPU_TESTS,
    ),
    Mutant(
        "memory-of-other-cases",
        "_Host._allocated",
        "(self.parts[n.name] for n in walk_nodes(node.body) if isinstance(n, HostPart))",
        "self.parts.values()",
        "A buffer lies on the host where it does so in another case.",
        _GPU_TESTS,
    ),
)
