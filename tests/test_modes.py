"""Grad modes where PyTorch's own are less careful."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import minitorch as torch


def test_a_mode_object_may_be_entered_again_inside() -> None:
    mode = torch.enable_grad()
    with torch.no_grad():
        with mode:
            with mode:
                assert torch.is_grad_enabled()
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_asynchronous_generators_may_be_left_midway() -> None:
    async def steps() -> AsyncIterator[bool]:
        with torch.no_grad():
            yield torch.is_grad_enabled()

    async def main() -> None:
        async for enabled in steps():
            assert not enabled
            break

    asyncio.run(main())
    assert torch.is_grad_enabled()


def test_tasks_have_modes_of_their_own() -> None:
    async def off() -> bool:
        with torch.no_grad():
            await asyncio.sleep(0)
            return torch.is_grad_enabled()

    async def on() -> bool:
        await asyncio.sleep(0)
        return torch.is_grad_enabled()

    async def main() -> list[bool]:
        return await asyncio.gather(off(), on(), off())

    assert asyncio.run(main()) == [False, True, False]
