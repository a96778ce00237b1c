"""Bugs in what becomes of specialized schedules."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/halide/test_specialize.py",)
_GPU_TESTS = ("tests/backend/cuda/test_gpu_specialize.py",)

SPECIALIZING = (
    Mutant(
        "no-case-is-asked-for",
        "backend/lowering/cases.py",
        "body = If(_all(program.assumptions), program.body, body)",
        "body = If(_all(program.assumptions), body, program.body)",
        "The program of a case runs where it is not the case.",
        _TESTS,
    ),
    Mutant(
        "requirements-of-all-cases",
        "backend/lowering/cases.py",
        "else Requirement(implied(program.assumptions, one.condition), one.message)",
        "else one",
        "What one case requires is required in all.",
        _TESTS,
    ),
    Mutant(
        "rules-of-all-cases",
        "spaces/constraints/verify.py",
        "holds = implied(case.bounds.assumptions, one.condition)",
        "holds = one.condition",
        "What the rules require in one case is required in all.",
        _TESTS,
    ),
    Mutant(
        "less-is-not-more",
        "spaces/model/schedules/conditions.py",
        '"lt": "ge", "le": "gt"',
        '"lt": "gt", "le": "gt"',
        "Where a size is not below a number it is taken to be above it.",
        _TESTS,
    ),
    Mutant(
        "limits-rounded-the-other-way",
        "spaces/model/schedules/conditions.py",
        "least = Polynomial.of(-(rest // slope)).expr()",
        "least = constant(-rest // slope + 1, Int32)",
        "A size is believed to be larger than a condition says.",
        _TESTS,
    ),
    Mutant(
        "later-conditions-first",
        "spaces/model/schedules/cases.py",
        "first, *others = func.specializations",
        "*others, first = func.specializations",
        "Of several conditions that hold the last counts.",
        _TESTS,
    ),
    Mutant(
        "specializations-begin-anew",
        "spaces/model/directives/directives.py",
        "Specialization(self.stage, condition, self._order, failure)",
        "Specialization(self.stage, condition, self._func.stages[0], failure)",
        "A specialization begins as the pure stage is, whatever is specialized.",
        _TESTS,
    ),
    Mutant(
        "kernels-of-the-first-case",
        "backend/compile_gpu.py",
        "if all(value_of(condition, values) for condition in program.assumptions):",
        "if program.kernels:",
        "Whatever the sizes are, the kernels of the first case run.",
        _GPU_TESTS,
    ),
    Mutant(
        "one-kernel-of-a-name",
        "backend/lowering/gpu/kernels.py",
        "self.known.get(named.name, named) != named",
        "False",
        "Kernels of two cases have the same name, and one of them is printed.",
        _GPU_TESTS,
    ),
    Mutant(
        "barriers-of-the-last-case",
        "apps/command_line/proving.py",
        "return verdict.cases or (verdict,)",
        "return (*verdict.cases[:1],) or (verdict,)",
        "What is proven of one case is taken for all.",
        _GPU_TESTS,
    ),
    Mutant(
        "cases-unknown-to-barriers",
        "backend/proofs/launches.py",
        "conditions = (*program.assumptions, *(r.condition for r in program.requirements))",
        "conditions = tuple(r.condition for r in program.requirements)",
        "Barriers are not proven with what is the case.",
        _GPU_TESTS,
    ),
    Mutant(
        "costs-of-no-case",
        "spaces/cost/batch.py",
        "plain = followed(schedule, chosen) if is_specialized(schedule) else schedule",
        "plain = followed(schedule, {})",
        "A specialized schedule costs what it does where no condition holds.",
        _GPU_TESTS,
    ),
    Mutant(
        "first-condition-overruled",
        "spaces/model/schedules/cases.py",
        "for one in reversed(func.specializations):",
        "for one in func.specializations:",
        "Of several conditions that hold the last one decides what a schedule costs.",
        _GPU_TESTS,
    ),
    Mutant(
        "parts-of-cases-share-names",
        "backend/lowering/gpu/kernels.py",
        "parts = sum(isinstance(n, HostPart) for other in others for n in walk_nodes(other.body))",
        "parts = 0",
        "What the host computes in two cases has the same name, and is compiled once.",
        _GPU_TESTS,
    ),
    Mutant(
        "memory-of-other-cases",
        "backend/cuda/host.py",
        "(self.parts[n.name] for n in walk_nodes(node.body) if isinstance(n, HostPart))",
        "self.parts.values()",
        "A buffer lies on the host where it does so in another case.",
        _GPU_TESTS,
    ),
)
