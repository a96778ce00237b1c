"""A schedule as a C++ function for a build that has its algorithm in Halide already."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from spaces.backend.halide.calls import halide_calls
from spaces.backend.halide.cpp import CPP_TYPES
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.incoming.names import number_added, unnumbered
from spaces.backend.halide.names import identifier
from spaces.backend.halide.source import Source, indented
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.tokens import quote

_INCLUDES = "".join(
    f"#include <{one}>\n"
    for one in ("algorithm", "cstdlib", "iostream", "iterator", "map", "string", "vector")
)

_FIND = """\
    std::vector<Internal::Function> outputs_;
    for (const Func &output : pipeline_.outputs()) {
        outputs_.push_back(output.function());
    }
    const auto funcs_ = Internal::build_environment(outputs_);
    // Halide adds numbers to names that are taken (blur$1), others each time that it builds.
    const auto find_ = [&](const std::string &name, size_t place = 0) {
        std::map<long, Internal::Function> found;
        for (const auto &[full, function] : funcs_) {
            std::string written = full;
            long number = -1;
            const bool is_lambda = full.rfind("lambda_", 0) == 0;
            const size_t at = is_lambda ? 6 : full.find('$');
            if (at < full.size() - 1) {
                const size_t other = full.find_first_not_of("0123456789", at + 1);
                const size_t end = std::min(other, full.size());
                if (end > at + 1 && (end == full.size() || (full[end] == '_' && !is_lambda))) {
                    number = std::stol(full.substr(at + 1));
                    written = full.substr(0, at) + full.substr(end);
                }
            }
            if (written == name) {
                found[number] = function;
            }
        }
        if (place >= found.size()) {
            std::cerr << "The pipeline has no Func " << name << ", which the schedule needs.\\n";
            std::abort();
        }
        return Func(std::next(found.begin(), place)->second);
    };"""


def halide_schedule_source(
    pipeline: Pipeline,
    schedule: Schedule,
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A C++ header with one function, which gives the Funcs of a ``Halide::Pipeline`` this
    schedule. It finds them by their names, without the numbers that Halide adds; call it at the end
    of ``generate`` or ``schedule`` of a generator, whose Funcs have no schedule yet. It also takes
    the images and Params that conditions and prefetches of the schedule need.

    Args:
        pipeline: the pipeline, for example one that ``read_hlpipe`` has read.
        schedule: the schedule.
        names: the names in Halide of Funcs that have others there; ``HalideProgram.names``.

    Raises:
        DirectiveError: the schedule has no counterpart in Halide.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    for refusal in derivation(pipeline, schedule).refusals:
        raise DirectiveError(f"{refusal.message} {refusal.advice}")
    source = Source(pipeline, halide_calls(pipeline, schedule))
    theirs = {f.name: names.get(f.name, f.name) for f in pipeline.functions}
    for function in pipeline.functions:
        source.find_rvars(function)
    lines = [line for stage_calls in source.calls for line in source.schedule_lines(stage_calls)]
    used = set(re.findall(r"\w+", "\n".join(lines)))
    params = ["const Halide::Pipeline &pipeline_"]
    for image in pipeline.images:
        name = source.name("buffer", image.name)
        params += [f"Halide::ImageParam {name}"] * (name in used)
    for scalar in pipeline.scalars:
        name = source.name("scalar", scalar.name)
        params += [f"Halide::Param<{CPP_TYPES[str(scalar.type)]}> {name}"] * (name in used)
    found = []
    owners: dict[str, str] = {}
    for function in pipeline.functions:
        name = source.name("buffer", function.name)
        if name in used:
            found.append(f"Func {name} = find_({_place(theirs[function.name], theirs.values())});")
            for number, arg in enumerate(function.args):
                owners.setdefault(arg, f"{name}.args()[{number}]")
    # A Var without a name gets another one each time that Halide builds.
    spelled = {arg: source.name("Var", arg) for arg in owners}
    found += [f"Var {name} = {owners[arg]};" for arg, name in spelled.items() if name in used]
    paragraphs = [["using namespace Halide;"], source.loop_declarations(owners), found, lines]
    texts = ["\n".join(map(indented, part)) for part in paragraphs if part]
    body = "\n\n".join((texts[0], _FIND, *texts[1:]))
    return (
        f'#pragma once\n\n#include "Halide.h"\n\n{_INCLUDES}\n'
        f"inline void schedule_{identifier(pipeline.name)}({', '.join(params)}) {{\n{body}\n}}\n"
    )


def _place(name: str, others: Collection[str]) -> str:
    """The arguments that find a Func: the name as its author wrote it, and which one it is of those
    that were written alike.
    """
    written = unnumbered(name)
    alike = sorted({one for one in others if unnumbered(one) == written}, key=number_added)
    place = alike.index(name)
    return f"{quote(written)}, {place}" if place else quote(written)
