"""Devices by the names of products, against vendors' data sheets, and the GPU that is present."""

import ctypes
import subprocess

import pytest

from spaces.constraints.devices import device as devices
from spaces.constraints.devices.device import GpuDevice, device, device_names
from spaces.constraints.devices.peaks import peaks_of
from spaces.constraints.devices.present_gpu import NoGpuError, PresentGpu, present_gpu
from spaces.constraints.devices.products import gpu_products, product_called

# Compute capability, multiprocessors, GB/s.
SHEETS = {
    "v100": ("sm_70", 80, 900),
    "t4": ("sm_75", 40, 320),
    "a100": ("sm_80", 108, 1555),
    "NVIDIA A100-SXM4-40GB": ("sm_80", 108, 1555),
    "NVIDIA A100-SXM4-80GB": ("sm_80", 108, 2039),
    "RTX 3090": ("sm_86", 82, 936),
    "l4": ("sm_89", 58, 300),
    "NVIDIA L40S": ("sm_89", 142, 864),
    "rtx 4090": ("sm_89", 128, 1008),
    "rtx4090": ("sm_89", 128, 1008),
    "NVIDIA GeForce RTX 4090": ("sm_89", 128, 1008),
    "NVIDIA RTX 6000 Ada Generation": ("sm_89", 142, 960),
    "H100": ("sm_90", 132, 3350),
    "NVIDIA H100 80GB HBM3": ("sm_90", 132, 3350),
    "NVIDIA H100 PCIe": ("sm_90", 114, 2000),
    "h200": ("sm_90", 132, 4800),
    "b200": ("sm_100", 148, 8000),
    "rtx-5090": ("sm_120", 170, 1792),
}


@pytest.mark.parametrize("name", SHEETS)
def test_products_are_known_by_the_names_of_people_and_drivers(name):
    gpu = device(name)
    assert isinstance(gpu, GpuDevice)
    assert (gpu.name, gpu.sm_count, peaks_of(gpu).bytes_per_second / 1e9) == SHEETS[name]


def test_every_capability_stands_for_a_product():
    for name in device_names():
        if name != "cpu":
            gpu = device(name)
            product = product_called(gpu.product)
            assert product is not None
            assert (product.capability, product.sm_count) == (name, gpu.sm_count)
    for product in gpu_products().values():
        assert product.name == " ".join(product.name.lower().split())
        assert device(product.name).product == product.product


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("h1000", "h100"), ("hh100", "h100"), ("rtx 4091", "rtx 4090"), ("a1000", "a100")],
)
def test_a_mistyped_product_is_answered_by_the_nearest(wrong, near):
    with pytest.raises(ValueError, match=rf"No device is called '{wrong}' \(is {near}") as error:
        device(wrong)
    assert "sm_90" in str(error.value)
    assert "gpu (the one present)" in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    ["", "NVIDIA H100 NVL", "v100 pcie", "A10G", "nvidia", "rtx", "4090", "h100 banana", "cpu gpu"],
)
def test_a_part_of_a_name_is_no_product(wrong):
    assert product_called(wrong) is None


STUB = """
#include <string.h>
int cuInit(unsigned flags) { return %(init)d; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return %(count)d ? 0 : 101; }
int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, "NVIDIA H100 NVL", length);
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 16 ? 114 : attribute == 75 ? %(major)d : attribute == 76 ? 0 : -1;
    return 0;
}
"""


@pytest.fixture
def driver(tmp_path):
    def make(init=0, count=1, major=9):
        source, made = tmp_path / "stub.c", tmp_path / f"stub{init}{count}{major}.so"
        source.write_text(STUB % {"init": init, "count": count, "major": major})
        subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", made], check=True)
        return str(made)

    return make


def test_the_present_gpu_is_described_by_its_driver(driver, monkeypatch):
    found = present_gpu(driver())
    assert found == PresentGpu("NVIDIA H100 NVL", "sm_90", 114)
    monkeypatch.setattr(devices, "present_gpu", lambda: found)
    gpu = device("gpu")
    assert (gpu.name, gpu.sm_count, gpu.product) == ("sm_90", 114, "NVIDIA H100 NVL")
    with pytest.raises(ValueError, match="No peak rates are known of NVIDIA H100 NVL"):
        peaks_of(gpu)
    assert gpu.max_threads_per_sm == device("h100").max_threads_per_sm
    other = present_gpu(driver(major=30))
    monkeypatch.setattr(devices, "present_gpu", lambda: other)
    with pytest.raises(ValueError, match=r"limits of NVIDIA H100 NVL \(sm_300\) are not known"):
        device("gpu")


def test_without_a_gpu_a_sentence_says_what_is_missing(driver):
    with pytest.raises(NoGpuError, match="no NVIDIA driver is installed"):
        present_gpu("libcuda-absent.so.1")
    for made in (driver(init=100), driver(count=0)):
        with pytest.raises(NoGpuError, match="finds no GPU"):
            present_gpu(made)
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        with pytest.raises(ValueError, match=r"No GPU is present: .* such as sm_80 or h100"):
            device("gpu")
