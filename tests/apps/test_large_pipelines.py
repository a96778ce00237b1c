"""The camera pipe and the local Laplacian filter: legal at full size, right at small sizes."""

from pathlib import Path

import numpy as np
import pytest

from apps import camera_pipe, local_laplacian
from backend.compile import compile_cpu
from backend.reference import evaluate
from spaces.constraints.devices import device
from spaces.constraints.verify import verify
from spaces.model.schedule import Schedule
from spaces.model.text import parse_schedule

SCHEDULES = Path(camera_pipe.__file__).parent / "schedules"


def written(name, pipeline):
    return parse_schedule((SCHEDULES / name / "cpu.sched").read_text(), pipeline)


def random(shape, high):
    return np.random.default_rng(7).integers(0, high, shape).astype(np.uint16)


@pytest.mark.parametrize("app", [camera_pipe, local_laplacian])
def test_the_schedule_is_legal(app):
    pipeline = app.pipeline()
    verdict = verify(pipeline, written(pipeline.name, pipeline), device("cpu"))
    assert verdict.legal, str(verdict)


def camera_case():
    pipeline = camera_pipe.pipeline()
    inputs = {"input": random((43 + 24, 75 + 32), 1024)}
    return pipeline, written("camera_pipe", pipeline), inputs, {"output": [75, 43, 3]}


def laplacian_case():
    pipeline = local_laplacian.pipeline(levels=3, intensities=3)
    text = "\n".join(
        f"{name}.compute_root();"
        for name in ("detail", "gray", "gray_1", "remapped_1", "mixed_2", "rebuilt_1")
    )
    inputs = {"input": random((3, 29, 37), 65536)}
    return pipeline, parse_schedule(text, pipeline), inputs, {"output": [37, 29, 3]}


@pytest.mark.parametrize("case", [camera_case, laplacian_case])
def test_compiled_code_gives_the_result_of_the_algorithm(case):
    pipeline, schedule, inputs, sizes = case()
    expected = evaluate(pipeline, inputs, sizes=sizes)["output"]
    assert np.unique(expected).size > 50
    compiled = compile_cpu(pipeline, verify(pipeline, schedule, device("cpu")), threads=2)
    actual = compiled.run(inputs, sizes=sizes)["output"]
    apart = np.abs(actual.astype(np.int64) - expected.astype(np.int64))
    assert apart.max() <= (1 if pipeline.name == "local_laplacian" else 0)


def test_a_gray_mosaic_stays_gray_under_an_identity_of_colors(monkeypatch):
    identity = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    monkeypatch.setattr(camera_pipe, "WARM", identity)
    monkeypatch.setattr(camera_pipe, "COLD", identity)
    mosaic = np.full((20 + 24, 30 + 32), 400, np.uint16)
    scalars = {"gamma": 1.0, "contrast": 0.0}
    picture = evaluate(
        camera_pipe.pipeline(), {"input": mosaic}, scalars, sizes={"output": [30, 20, 3]}
    )["output"]
    # 255 * (400 - 25) / (1023 - 25) = 95.8, and the gamma and contrast chosen bend nothing.
    assert np.unique(picture).tolist() == [96]


def test_without_effect_the_local_laplacian_gives_a_gray_image_back():
    pipeline = local_laplacian.pipeline(levels=3, intensities=3)
    image = np.repeat(random((1, 20, 24), 65536), 3, axis=0)
    scalars = {"alpha": 0.0, "beta": 1.0}
    picture = evaluate(pipeline, {"input": image}, scalars, sizes={"output": [24, 20, 3]})["output"]
    assert np.abs(picture.astype(np.int64) - image).max() <= 2


def test_the_filter_has_the_stages_of_the_papers():
    assert len(local_laplacian.pipeline().functions) == 99
    assert Schedule.default(local_laplacian.pipeline()).of("output").compute.is_root
