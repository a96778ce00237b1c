"""A pipeline of Halide and the schedule that it has."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.backend.halide.file.contents import Contents, ParameterTable
from spaces.backend.halide.file.decoding import decode
from spaces.backend.halide.incoming.arguments import IncomingArguments
from spaces.backend.halide.incoming.definitions import IncomingDefinitions
from spaces.backend.halide.incoming.facts import IncomingEstimates, estimates_of, limit
from spaces.backend.halide.incoming.foreign import ForeignCycles, ForeignFacts, ForeignNeeds
from spaces.backend.halide.incoming.names import IncomingNames, written
from spaces.backend.halide.incoming.problems import Problems, refusals_unsupported
from spaces.backend.halide.incoming.roles import Roles
from spaces.backend.halide.incoming.scheduled import scheduled_funcs
from spaces.backend.halide.incoming.scheduling import Scheduling
from spaces.backend.halide.incoming.substitutes import derivations
from spaces.model.algorithm.freeze import pipeline as freeze
from spaces.model.algorithm.pipeline import Image, Pipeline, Scalar
from spaces.model.algorithm.size_constraints import Constraints
from spaces.model.articles import shown_kind
from spaces.model.expressions.expr import Call, walk
from spaces.model.nest.largest_outputs import largest_outputs
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule


@frozen
class HalideProgram:
    """A pipeline that was written in Halide.

    Attributes:
        pipeline: the algorithm.
        schedule: what was scheduled in Halide; Halide's default where nothing was.
        names: for each name of a Func, image or Param that is another one in Halide, Halide's.
        arrays: the arrays inside the pipeline, by name: give them to every call as images.
        notes: sentences about what is here otherwise than in Halide.
        scheduled: the Funcs to which somebody gave directives in Halide.
    """

    pipeline: Pipeline
    schedule: Schedule
    names: Mapping[str, str] = field(factory=dict)
    arrays: Mapping[str, NDArray[np.generic]] = field(factory=dict, eq=False)
    notes: tuple[str, ...] = ()
    scheduled: tuple[str, ...] = ()

    @property
    def fixed(self) -> Schedule:
        """The schedule of the Funcs that have one in Halide. A space that takes it as ``fixed``
        decides only the others.
        """
        entries = tuple(self.schedule.of(name) for name in self.scheduled)
        return Schedule(entries, self.schedule.derivations)

    @property
    def lacks_estimates(self) -> tuple[str, ...]:
        """The images and outputs without an estimated size. A file does not have all of them."""
        buffers = (*(image.name for image in self.pipeline.images), *self.pipeline.outputs)
        return tuple(name for name in buffers if self.pipeline.estimate(name) is None)

    @property
    def lacks_values(self) -> tuple[str, ...]:
        """The Params without a usual value on which sizes of Funcs may depend: they stand in bounds
        of reduction domains or in coordinates.
        """
        stages = (stage for function in self.pipeline.functions for stage in function.stages)
        asked: set[str] = set()
        for stage in stages:
            ends = (end for rvar in stage.rvars for end in (rvar.min, rvar.extent))
            calls = (node for node in walk(*stage.values) if isinstance(node, Call))
            for place in (*ends, *(arg for call in calls for arg in call.args)):
                asked |= place.names
        scalars = (one for one in self.pipeline.scalars if one.default is None)
        return tuple(one.name for one in scalars if one.name in asked)

    def largest_outputs(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """For each output without an estimated size, the largest (min, extent) of each dimension
        for which nothing is read outside of the images at their estimated sizes, with parameters at
        their defaults. Empty if the images do not limit every dimension, or one has no estimate.
        Such sizes may be given as ``estimates``.
        """
        return largest_outputs(self.pipeline)


def read_hlpipe(
    file: str | PathLike[str] | bytes,
    *,
    name: str | None = None,
    estimates: IncomingEstimates | None = None,
    needs: ForeignNeeds | None = None,
    cycles: ForeignCycles | None = None,
    ignore_schedule: bool = False,
) -> HalideProgram:
    """Reads a pipeline that Halide 18 to 21 has serialized. Halide need not be installed.

    A file lacks the limits of ImageParams and Params (``dim(0).set_stride``, ``set_range``), and
    the estimates of most images: :func:`~spaces.backend.halide.incoming.live.from_halide` knows
    them.

    Args:
        file: the file, or its bytes.
        name: the name of the pipeline; the default is that of its first output.
        estimates: sizes of images and outputs, and values of Params, for which schedules are
            chosen; those of the file if None.
        needs: what foreign code (``define_extern``) needs of its inputs. For each such Func, by its
            name here, a function of its Vars. It returns, for each Func and image that the code
            reads, the box that one element needs, as :meth:`Func.define_extern` takes it.
        cycles: what an element of foreign code costs, in cycles of one core, by the names of such
            Funcs here; prices of schedules count it.
        ignore_schedule: whether to leave out the schedule that it has in Halide. Then its Funcs
            have the default schedule, none of them is ``scheduled``, and directives that have no
            counterpart here are no obstacle.

    Raises:
        HalideFileError: the file is damaged, or no file of these versions.
        HalideImportError: the pipeline has parts that cannot come in; it lists all of them.
        OSError: the file cannot be read.
        TypeError: ``file`` or ``estimates`` is something else.
    """
    if not isinstance(file, str | PathLike | bytes):
        raise TypeError(
            f"read_hlpipe takes the name of a file, or its bytes, not {shown_kind(file)}; "
            "from_halide takes objects of Halide."
        )
    data = file if isinstance(file, bytes) else Path(file).read_bytes()
    foreign = ForeignFacts.of(needs, cycles)
    with _without_collections():
        return program(decode(data), (), name, estimates, foreign, ignore_schedule=ignore_schedule)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Leaves Python's garbage alone meanwhile. A file makes some hundred thousand objects, and most
    of them stay: to look for garbage among them takes a quarter of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def program(
    contents: Contents,
    known: Sequence[ParameterTable],
    name: str | None,
    estimates: IncomingEstimates | None,
    foreign: ForeignFacts,
    *,
    ignore_schedule: bool = False,
) -> HalideProgram:
    """The program of a file; ``known`` is what is known of its ImageParams and Params.

    Raises:
        HalideImportError: it has parts that cannot come in.
        TypeError: ``estimates`` is no mapping.
    """
    if not isinstance(estimates, Mapping | None):
        raise TypeError(
            f"estimates is a mapping from names, as in estimates={{'out': [640, 480], 'gain': 2}}, "
            f"not {shown_kind(estimates)}."
        )
    problems = Problems(name or written(next(iter(contents.output_names), "without outputs")))
    roles = Roles(contents)
    names = IncomingNames.of(roles)
    definitions = IncomingDefinitions(
        roles, names, IncomingArguments.of(roles, names, problems), problems, foreign
    )
    limit(definitions, known)
    pipeline = _pipeline(definitions, name, known, estimates or {})
    schedule = Schedule.default(pipeline) if ignore_schedule else _schedule(definitions, pipeline)
    pipeline = _with_conditions(pipeline, schedule, definitions.arguments)
    there = {**names.arguments, **names.funcs}
    used = {*pipeline.is_image, *(scalar.name for scalar in pipeline.scalars)}
    arrays = definitions.arguments.arrays
    theirs = {ours: name for name, ours in there.items()}
    scheduled = () if ignore_schedule else scheduled_funcs(contents, theirs, pipeline, schedule)
    return HalideProgram(
        pipeline,
        schedule,
        {ours: name for ours, name in theirs.items() if ours != name and ours in used},
        {ours: array for ours, array in arrays.items() if ours in used},
        tuple(problems.notes),
        tuple(scheduled),
    )


def _pipeline(
    definitions: IncomingDefinitions,
    name: str | None,
    known: Sequence[ParameterTable],
    wanted: IncomingEstimates,
) -> Pipeline:
    """The pipeline of the outputs of a file.

    Raises:
        HalideImportError: it has parts that cannot come in.
    """
    problems = definitions.problems
    given = estimates_of(definitions, known, wanted)
    outputs = definitions.outputs()
    requirements = definitions.requirements()
    problems.stop()
    with problems.at(""), refusals_unsupported():
        made = freeze(outputs, name, given, requirements)
        buffers = (*(image.name for image in made.images), *made.outputs)
        in_order = sorted(made.estimates, key=lambda one: buffers.index(one.buffer))
        return evolve(made, estimates=tuple(in_order))
    raise problems.error()


def _schedule(definitions: IncomingDefinitions, pipeline: Pipeline) -> Schedule:
    """The schedule that the Funcs of a file have.

    Raises:
        HalideImportError: it has parts that cannot come in.
    """
    roles, names, problems = definitions.roles, definitions.names, definitions.problems
    places = {place: names.funcs[func.name] for place, func in roles.authored()}
    places |= {place: names.arguments[image] for place, image in roles.images.items()}
    known = pipeline.is_image
    used = {place: one for place, one in places.items() if one in known}
    steps, called = derivations(pipeline, roles, used, problems)
    problems.stop()
    whole = derived(pipeline, Schedule((), steps))
    funcs = {place: one for place, one in called.items() if one in whole.places}
    known = whole.is_image
    images = {theirs: ours for theirs, ours in names.arguments.items() if ours in known}
    scheduling = Scheduling(whole, roles, funcs, images, definitions.convert, problems)
    schedule = scheduling.schedule(steps)
    problems.stop()
    return schedule


def _with_conditions(
    pipeline: Pipeline, schedule: Schedule, arguments: IncomingArguments
) -> Pipeline:
    """The pipeline with the Params and images that only conditions of ``specialize`` ask for."""
    conditions = (case.condition for entry in schedule.funcs for case in entry.specializations)
    asked = {name.split(".")[0] for condition in conditions for name in condition.names}
    asked -= {*pipeline.is_image, *(scalar.name for scalar in pipeline.scalars)}
    params = [one for one in arguments.scalars.values() if one.name in asked]
    images = [one for one in arguments.images.values() if one.name in asked]
    if not params and not images:
        return pipeline
    buffers = [("image", one.name, one.dimensions, one.buffer) for one in images]
    known = Constraints.of(buffers, params)
    scalars = (Scalar(one.name, one.type, one.default) for one in params)
    return evolve(
        pipeline,
        images=(*pipeline.images, *(Image(i.name, i.type, i.dimensions) for i in images)),
        scalars=(*pipeline.scalars, *scalars),
        promises=(*pipeline.promises, *known.promises),
        strides=(*pipeline.strides, *known.strides),
    )
