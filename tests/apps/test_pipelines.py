"""Every app computes its formula, at sizes that no tile divides."""

import numpy as np
import pytest

from spaces import APPS, evaluate
from spaces.apps.command_line.arguments import shapes
from spaces.apps.photographs import photograph
from spaces.apps.pipelines import camera_pipe, local_laplacian, stencil_chain
from tests.apps.cases import case
from tests.apps.formulas import FORMULAS, harris
from tests.apps.formulas_camera_pipe import camera_pipe as camera
from tests.apps.formulas_local_laplacian import local_laplacian as laplacian
from tests.draw_counts import some

# Relative to the largest value: float32 rounds at 6e-8, and the corner response cancels.
TOLERANCE = {"harris": 3e-6, "toy_trig": 1e-6, "conv_layer": 3e-6, "iir_blur": 1e-6}


def assert_close(name, actual, expected):
    assert actual.shape == expected.shape
    if actual.dtype.kind in "iu":
        np.testing.assert_array_equal(actual, expected)
        return
    assert actual.dtype == np.float32
    scale = np.nanmax(np.abs(expected))
    atol = TOLERANCE.get(name, 5e-7) * scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


SIZE = {"max_filter": (67, 71)}
"""Rows and columns for stencils that read more than the default size."""


@pytest.mark.parametrize("name", FORMULAS)
def test_the_pipeline_computes_its_formula(name):
    pipeline, inputs, sizes = case(name, *SIZE.get(name, ()))
    (output,) = pipeline.outputs
    actual = evaluate(pipeline, inputs, sizes=sizes)[output]
    assert_close(name, actual, FORMULAS[name](inputs, sizes[output]))


@pytest.mark.parametrize(
    ("name", "funcs"),
    [
        ("bilateral_grid", 7),
        ("interpolate", 49),
        ("local_laplacian", 99),
        ("stencil_chain", 34),
        ("pyramid_blend", 52),
    ],
)
def test_pipelines_have_the_stages_of_the_papers(name, funcs):
    # [RK13] Table 1; the chain of [A21] has 32 stencils, a boundary condition and an output; [S19]
    # Table 3.
    assert len(APPS[name].pipeline().functions) == funcs


@pytest.mark.parametrize(("name", "layers"), [("vdsr", 20), ("learned_demosaic", 16)])
def test_networks_have_the_layers_of_the_papers(name, layers):
    # [S19] Table 3; Gharbi et al. 2016, section 3.
    funcs = APPS[name].pipeline().functions
    sums_over_channels = [f for f in funcs if any(len(s.rvars) == 3 for s in f.stages)]
    assert len(sums_over_channels) == layers


def test_the_sensitivity_of_harris_is_a_parameter():
    pipeline, inputs, sizes = case("harris")
    actual = evaluate(pipeline, inputs, {"k": 0.15}, sizes)["corners"]
    assert_close("harris", actual, harris(inputs, sizes["corners"], k=0.15))


def test_the_blur_wraps_as_its_type_does():
    image = np.full((3, 3), 30000, np.uint16)
    actual = evaluate(APPS["blur"].pipeline(), {"input": image}, sizes={"blur_y": [(1, 1), (1, 1)]})
    once = 90000 % 65536 // 3
    assert actual["blur_y"].tolist() == [[3 * once % 65536 // 3]]


def random(shape, high):
    return np.random.default_rng(7).integers(0, high, shape).astype(np.uint16)


def with_colors(mosaic, matrix_3200, matrix_7000):
    """A mosaic, and matrices that take its colors to those of the picture."""
    matrices = {"matrix_3200": matrix_3200, "matrix_7000": matrix_7000}
    return {"input": mosaic, **{k: m.astype(np.float32) for k, m in matrices.items()}}


def test_a_gray_mosaic_stays_gray_under_an_identity_of_colors():
    identity = np.eye(3, 4)
    inputs = with_colors(np.full((20 + 24, 30 + 32), 400, np.uint16), identity, identity)
    scalars = {"gamma": 1.0, "contrast": 0.0}
    picture = evaluate(camera_pipe.pipeline(), inputs, scalars, sizes={"output": [30, 20, 3]})
    picture = picture["output"]
    # 255 * (400 - 25) / (1023 - 25) = 95.8; this gamma and contrast leave values unchanged.
    assert np.unique(picture).tolist() == [96]


CAMERAS = [
    ({}, {}),
    (
        {"temperature": 5600.0, "gamma": 1.7, "contrast": 20.0, "sharpness": 3.3},
        {"kelvin": 5600, "gamma": 1.7, "contrast": 20, "sharpness": 3.3},
    ),
    ({"black_level": 300, "white_level": 700}, {"black": 300, "white": 700}),
]
"""Scalars of the pipeline and of the formula."""


@pytest.mark.parametrize(("scalars", "given"), CAMERAS)
@pytest.mark.parametrize("high", [1024, 65536])
def test_the_camera_computes_its_formula(scalars, given, high):
    pipeline = camera_pipe.pipeline()
    inputs = camera_pipe.APP.inputs(pipeline, np.zeros((2, 2, 3), np.uint8))
    inputs["input"] = random((43, 51), high)
    for name in ("matrix_3200", "matrix_7000"):
        inputs[name] *= 1024 / high
    sizes = {"output": ((-2, 23), (1, 17), (0, 3))}
    actual = evaluate(pipeline, inputs, scalars, sizes)["output"]
    expected = camera(inputs, sizes["output"], **given)
    assert np.unique(expected).size > 50
    np.testing.assert_array_equal(actual, expected)


def test_light_of_3200_kelvin_takes_the_matrix_of_7000_as_in_halides_app():
    mosaic = np.full((20 + 24, 30 + 32), 400, np.uint16)
    red_alone, blue_alone = np.zeros((3, 4)), np.zeros((3, 4))
    red_alone[0, 0] = blue_alone[2, 2] = 1
    inputs, sizes = with_colors(mosaic, red_alone, blue_alone), {"output": [30, 20, 3]}
    for kelvin, color in ((3200.0, 2), (7000.0, 0)):
        picture = evaluate(camera_pipe.pipeline(), inputs, {"temperature": kelvin}, sizes)
        assert [bool(plane.any()) for plane in picture["output"]] == [c == color for c in range(3)]


def test_the_mosaic_of_a_photograph_is_as_bright_as_it():
    pixels, pipeline = photograph(256, 192), camera_pipe.pipeline()
    plain = {"contrast": 0.0, "sharpness": 0.0}
    inputs = camera_pipe.APP.inputs(pipeline, pixels)
    picture = evaluate(pipeline, inputs, plain, sizes={"output": [224, 168, 3]})["output"]
    inner = pixels[12:-12, 16:-16]
    np.testing.assert_allclose(picture.mean((1, 2)), inner.mean((0, 1)), atol=8)


def test_modulo_2_a_chain_of_stencils_adds_nine_pixels_far_apart():
    image = random((30, 40), 65536)
    actual = evaluate(stencil_chain.pipeline(4), {"input": image}, sizes={"output": [40, 30]})
    padded = np.pad(image & 1, 8, mode="edge")
    bits = [padded[dy : dy + 30, dx : dx + 40] for dy in (0, 8, 16) for dx in (0, 8, 16)]
    np.testing.assert_array_equal(actual["output"] & 1, np.bitwise_xor.reduce(bits))


def test_the_picture_of_the_chain_of_stencils_is_nine_of_the_photograph():
    app = APPS["stencil_chain"]
    inputs = app.inputs(app.pipeline(), photograph(407, 407))
    output = evaluate(app.pipeline(), inputs, sizes={"output": [407, 407]})["output"]
    picture = app.picture(output)[::3, ::3]
    copies = [picture[dy : dy + 64, dx : dx + 64] for dy in (8, 72, 136) for dx in (8, 72, 136)]
    assert 0.2 < (copies[0] > 0).mean() < 0.8
    for copy in copies[1:]:
        np.testing.assert_array_equal(copy, copies[0])


def test_without_effect_the_local_laplacian_gives_a_gray_image_back():
    pipeline = local_laplacian.pipeline(levels=3, intensities=3)
    image = np.repeat(random((1, 20, 24), 65536), 3, axis=0)
    scalars = {"alpha": 0.0, "beta": 1.0}
    picture = evaluate(pipeline, {"input": image}, scalars, sizes={"output": [24, 20, 3]})["output"]
    assert np.abs(picture.astype(np.int64) - image).max() <= 2


@pytest.mark.parametrize(("alpha", "beta"), [(1 / 3, 1.0), (0.7, 0.4)])
def test_the_local_laplacian_computes_its_formula(alpha, beta):
    pipeline = local_laplacian.pipeline(levels=3, intensities=4)
    inputs = local_laplacian.APP.inputs(pipeline, photograph(53, 39))
    sizes = {"output": ((3, 47), (2, 31), (0, 3))}
    actual = evaluate(pipeline, inputs, {"alpha": alpha, "beta": beta}, sizes)["output"]
    expected = laplacian(inputs, sizes["output"], 3, 4, alpha, beta)
    assert np.abs(actual - expected).max() < 1.5  # cut off to integers, after rounding to float32


@pytest.mark.parametrize("name", some(APPS))
def test_a_photograph_of_the_papers_size_makes_inputs_of_the_size_estimated(name):
    app = APPS[name]
    pipeline = app.pipeline()
    width, height = app.paper_size
    inputs = app.inputs(pipeline, np.zeros((height, width, 3), np.uint8))
    assert shapes(inputs) == {i.name: pipeline.estimate(i.name) for i in pipeline.images}
    given = [i.name for i in pipeline.images]
    assert sorted(inputs) == sorted(given)
    for name, array in inputs.items():
        assert array.dtype == pipeline.image(name).type.dtype


@pytest.mark.parametrize(
    ("name", "output", "image"),
    [
        ("blur", ((1, 6400), (1, 4800)), ((0, 6402), (0, 4802))),
        ("unsharp", ((0, 1536), (0, 2560), (0, 3)), ((0, 1536), (0, 2560), (0, 3))),
        ("harris", ((2, 1536), (2, 2560)), ((0, 1540), (0, 2564), (0, 3))),
        ("camera_pipe", ((0, 2560), (0, 1936), (0, 3)), ((0, 2592), (0, 1960))),
        ("bilateral_grid", ((0, 1536), (0, 2560)), ((0, 1536), (0, 2560))),
        ("hist", ((0, 1536), (0, 2560), (0, 3)), ((0, 1536), (0, 2560), (0, 3))),
        ("interpolate", ((0, 1536), (0, 2560), (0, 3)), ((0, 1536), (0, 2560), (0, 4))),
        ("local_laplacian", ((0, 1536), (0, 2560), (0, 3)), ((0, 1536), (0, 2560), (0, 3))),
        ("max_filter", ((0, 1536), (0, 2560), (0, 3)), ((0, 1536), (0, 2560), (0, 3))),
        ("stencil_chain", ((0, 1536), (0, 2560)), ((0, 1536), (0, 2560))),
        (
            "conv_layer",
            ((0, 64), (0, 128), (0, 128), (0, 4)),
            ((0, 64), (0, 130), (0, 130), (0, 4)),
        ),
        ("iir_blur", ((0, 1536), (0, 2560), (0, 3)), ((0, 1536), (0, 2560), (0, 3))),
        ("toy_trig", ((0, 2048), (0, 2048)), None),
        ("toy_blur", ((2, 2048), (0, 2048)), ((0, 2052), (0, 2048))),
        ("toy_sum", ((0, 2048), (0, 2048)), None),
    ],
)
def test_the_estimates_are_the_sizes_of_the_papers(name, output, image):
    pipeline = APPS[name].pipeline()
    assert pipeline.estimate(pipeline.outputs[0]) == output
    assert pipeline.estimate("input") == image
