"""A schedule as a C++ function for a build that has its algorithm in Halide already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from spaces.backend.halide.cpp import CPP_TYPES
from spaces.backend.halide.names import identifier
from spaces.backend.halide.schedule_text import ScheduleText
from spaces.backend.halide.source import Source, indented
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

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
    leave: Collection[str] = (),
) -> str:
    """A C++ header with one function, which gives the Funcs of a ``Halide::Pipeline`` this
    schedule. It finds them by their names, without the numbers that Halide adds; call it at the end
    of ``generate`` or ``schedule`` of a generator, whose Funcs have no schedule yet. It also takes
    the images and Params that conditions and prefetches of the schedule need.

    Args:
        pipeline: the pipeline, for example one that ``read_hlpipe`` has read.
        schedule: the schedule.
        names: the names in Halide of Funcs that have others there; ``HalideProgram.names``.
        leave: Funcs that have their schedule there already, such as ``HalideProgram.scheduled``.

    Raises:
        DirectiveError: the schedule has no counterpart in Halide.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    text = ScheduleText.of(Source, pipeline, schedule, names, leave)
    source = text.source
    types = {s.name: f"Halide::Param<{CPP_TYPES[str(s.type)]}>" for s in pipeline.scalars}
    params = ["const Halide::Pipeline &pipeline_"]
    for name in text.arguments:
        kind = "scalar" if name in types else "buffer"
        params.append(f"{types.get(name, 'Halide::ImageParam')} {source.name(kind, name)}")
    found = [
        f"{kind} {name} = {f'find_({value})' if kind == 'Func' else value};"
        for kind, name, value in text.found()
    ]
    paragraphs = [
        ["using namespace Halide;"],
        source.loop_declarations(text.owners),
        found,
        text.lines,
    ]
    texts = ["\n".join(map(indented, part)) for part in paragraphs if part]
    body = "\n\n".join((texts[0], _FIND, *texts[1:]))
    return (
        f'#pragma once\n\n#include "Halide.h"\n\n{_INCLUDES}\n'
        f"inline void schedule_{identifier(pipeline.name)}({', '.join(params)}) {{\n{body}\n}}\n"
    )
