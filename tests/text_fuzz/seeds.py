"""What is mutated: every committed schedule, and the JSON of schedules and pipelines."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.certificates import write_certificates
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.directives.directives import schedule
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import to_json
from spaces.model.writing.text import parse_schedule
from tests.halide_corpus.corpus import cases as corpus_cases

LARGE = frozenset(
    {"bgu", "camera_pipe", "lens_blur", "local_laplacian", "learned_demosaic", "vdsr"}
)
"""Apps whose pipelines take longest to judge; their texts are drawn, their pipelines seldom."""


@frozen
class Seed:
    """A text that is as it should be.

    Attributes:
        name: where it is from.
        text: of it.
        subject: the pipeline that it is about.
        kind: ``sched``, ``certificate``, or the class of a JSON document.
    """

    name: str
    text: str
    subject: str
    kind: str


@cache
def pipeline_of(subject: str) -> Pipeline:
    """The pipeline of an app, or of the corpus of Halide's (``halide/NAME``)."""
    if subject in APPS:
        return APPS[subject].pipeline()
    case = next(c for n, c in corpus_cases().items() if f"halide/{n.split('/')[0]}" == subject)
    return case.algorithm.pipeline


@cache
def schedules() -> tuple[Seed, ...]:
    """Texts of schedules."""
    own = [
        Seed(f"{name}/{file.stem}", file.read_text("utf-8"), name, "sched")
        for name, app in APPS.items()
        for file in app.schedules.values()
    ]
    pasted = [
        Seed(f"halide/{name}", case.text, f"halide/{name.split('/')[0]}", "sched")
        for name, case in corpus_cases().items()
    ]
    return (*own, *pasted)


@cache
def certificates() -> tuple[Seed, ...]:
    """Proofs of a schedule, as SMT-LIB texts."""
    algorithm = pipeline_of("blur")
    given = parse_schedule(APPS["blur"].schedules["cpu"].read_text(), algorithm)
    checked = verify(algorithm, given, device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    with tempfile.TemporaryDirectory() as folder:
        files = write_certificates(prove(checked), Path(folder))
        return tuple(Seed(f.name, f.read_text(), "blur", "certificate") for f in files[:12])


@cache
def documents() -> tuple[Seed, ...]:
    """JSON of records of each kind."""
    found = []
    for seed in schedules():
        algorithm = pipeline_of(seed.subject)
        record = parse_schedule(seed.text, algorithm, 256)
        found.append(Seed(seed.name, to_json(record), seed.subject, "Schedule"))
    for subject in sorted({seed.subject for seed in schedules()} - LARGE):
        found.append(Seed(subject, to_json(pipeline_of(subject)), subject, "Pipeline"))
    special = schedule(pipeline_of("halide/blur")).func(pipeline_of("halide/blur").outputs[0])
    image = pipeline_of("halide/blur").images[0].name
    made = special.specialize(size_variable(image, "extent", 0) >= 64).schedule
    found.append(Seed("specialized", to_json(made), "halide/blur", "Schedule"))
    return tuple(found)


RECORDS: Mapping[str, type[Schedule] | type[Pipeline]] = {
    "Schedule": Schedule,
    "Pipeline": Pipeline,
}
"""The classes of documents."""
