"""Dtypes: names, promotion, limits, the default."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import minitorch as torch

NAMES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]


class TestNames:
    @pytest.mark.parametrize("name", NAMES)
    def test_each(self, name: str) -> None:
        dtype = getattr(torch, name)
        assert repr(dtype) == f"torch.{name}"
        assert dtype.itemsize == np.dtype(name).itemsize
        assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype
        assert torch.zeros(1, dtype=dtype).dtype is dtype

    def test_aliases(self) -> None:
        assert torch.float is torch.float32
        assert torch.double is torch.float64
        assert torch.half is torch.float16
        assert torch.long is torch.int64
        assert torch.int is torch.int32
        assert torch.short is torch.int16

    def test_kinds(self) -> None:
        assert torch.float16.is_floating_point
        assert torch.bfloat16.is_floating_point
        assert not torch.int64.is_floating_point
        assert torch.complex64.is_complex
        assert torch.int8.is_signed
        assert not torch.uint8.is_signed
        assert not torch.bool.is_signed

    def test_names_without_tensors(self) -> None:
        for dtype in (torch.bfloat16, torch.complex64):
            with pytest.raises(TypeError, match="is not supported"):
                torch.zeros(1, dtype=dtype)


class TestDefault:
    def test_it_is_for_floats_only(self) -> None:
        assert torch.get_default_dtype() is torch.float32
        for wrong in (torch.int64, "float32", 3):
            with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
                torch.set_default_dtype(wrong)
        with pytest.raises(TypeError, match="only floating-point"):
            torch.set_default_tensor_type(torch.LongTensor)

    def test_setting_it(self) -> None:
        torch.set_default_tensor_type("torch.DoubleTensor")
        try:
            assert torch.get_default_dtype() is torch.float64
            assert torch.finfo().dtype == "float64"
            assert torch.result_type(1, 2.5) is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)

    def test_numbers_beside_integers_follow_it(self) -> None:
        i = torch.arange(2)
        dtypes = []
        for default in (torch.float32, torch.float64, torch.float16, torch.float32):
            torch.set_default_dtype(default)
            try:
                dtypes.append([(i * 1.5).dtype, (2.5 + i).dtype, i.clamp(max=0.5).dtype, (i / 2).dtype])
            finally:
                torch.set_default_dtype(torch.float32)
        assert dtypes == [[d] * 4 for d in (torch.float32, torch.float64, torch.float16, torch.float32)]


class TestPromotion:
    @pytest.mark.parametrize(
        ("one", "two", "common"),
        [
            ("int64", "float32", "float32"),
            ("uint8", "int8", "int16"),
            ("bool", "uint8", "uint8"),
            ("int64", "float16", "float16"),
            ("float32", "float64", "float64"),
        ],
    )
    def test_promote_types(self, one: str, two: str, common: str) -> None:
        assert torch.promote_types(getattr(torch, one), getattr(torch, two)) is getattr(torch, common)
        assert torch.promote_types(getattr(torch, two), getattr(torch, one)) is getattr(torch, common)

    def test_result_type(self) -> None:
        floats, ints = torch.ones(2), torch.tensor([1, 2])
        assert torch.result_type(ints, 2.5) is torch.float32
        assert torch.result_type(3, ints) is torch.int64
        assert torch.result_type(True, 3.5) is torch.float32
        assert torch.result_type(torch.tensor([True]), 1) is torch.int64
        assert torch.result_type(floats, torch.tensor(1.0, dtype=torch.float64)) is torch.float32
        with pytest.raises(TypeError, match="not str"):
            torch.result_type("a", 1)

    def test_can_cast(self) -> None:
        assert torch.can_cast(torch.float64, torch.float32)
        assert not torch.can_cast(torch.float32, torch.int32)
        assert not torch.can_cast(from_=torch.int64, to=torch.bool)

    def test_wrong_types(self) -> None:
        with pytest.raises(TypeError, match=r"torch.dtype, not int"):
            torch.promote_types(1, 2)


class TestLimits:
    def test_finfo(self) -> None:
        info = torch.finfo(torch.float32)
        assert (info.bits, info.dtype, info.resolution) == (32, "float32", 1e-6)
        assert info.max == -info.min == 3.4028234663852886e38
        assert info.eps == 2.0**-23
        assert info.tiny == info.smallest_normal == 2.0**-126
        assert torch.finfo(torch.float16).resolution == 1e-3
        assert info == torch.finfo()
        assert hash(info) == hash(torch.finfo())
        assert torch.finfo(float).dtype == "float64"

    def test_iinfo(self) -> None:
        info = torch.iinfo(torch.uint8)
        assert (info.min, info.max, info.bits, info.dtype) == (0, 255, 8, "uint8")
        assert repr(info) == "iinfo(min=0, max=255, dtype=uint8)"
        assert info != torch.iinfo(torch.int8)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: torch.finfo(torch.int64), "iinfo"),
            (lambda: torch.finfo("float32"), "must be torch.dtype, not str"),
            (lambda: torch.iinfo(torch.float32), "finfo"),
            (lambda: torch.iinfo(torch.bool), "integer"),
            (lambda: torch.iinfo(), "type"),
        ],
    )
    def test_errors(self, call: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            call()


def test_equals_pytorch() -> None:
    pytorch = pytest.importorskip("torch")
    for one, two in itertools.product(NAMES, NAMES):
        ours, theirs = (getattr(torch, one), getattr(torch, two)), (getattr(pytorch, one), getattr(pytorch, two))
        assert str(torch.promote_types(*ours)) == str(pytorch.promote_types(*theirs))
        assert torch.can_cast(*ours) == pytorch.can_cast(*theirs)
        for shape in ((), (2,)):
            tensors = torch.zeros(2, dtype=ours[0]), torch.zeros(shape, dtype=ours[1])
            expected = pytorch.result_type(pytorch.zeros(2, dtype=theirs[0]), pytorch.zeros(shape, dtype=theirs[1]))
            assert str(torch.result_type(*tensors)) == str(expected)
        for number in (True, 1, 1.5):
            expected = pytorch.result_type(pytorch.zeros(2, dtype=theirs[0]), number)
            assert str(torch.result_type(torch.zeros(2, dtype=ours[0]), number)) == str(expected)
    for name in NAMES[:3]:
        assert repr(torch.finfo(getattr(torch, name))) == repr(pytorch.finfo(getattr(pytorch, name)))
    for name in NAMES[3:8]:
        assert repr(torch.iinfo(getattr(torch, name))) == repr(pytorch.iinfo(getattr(pytorch, name)))
