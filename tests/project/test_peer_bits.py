"""The any-order bit strings of the comparison with other libraries, against their definition."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.peers.bits import AnyOrderBits
from fast.laws.enumeration import enumerate_environment
from reference.errors import InputError

MODES = ((0, 1, 1, 0), (1, 1, 1, 1))


class TwoWords:
    """Strings of two words of two bits, -1 where empty; reward 2^-d."""

    initial = (-1, -1)

    def children(self, state: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            (*state[:i], word, *state[i + 1 :])
            for i, token in enumerate(state)
            if token < 0
            for word in range(4)
        )

    def reward(self, terminal: tuple[int, ...]) -> Fraction:
        bits = [word >> place & 1 for word in terminal for place in (1, 0)]
        return Fraction(1, 2 ** min(sum(map(int.__ne__, bits, mode)) for mode in MODES))


def environment(modes: tuple[tuple[int, ...], ...] = MODES) -> AnyOrderBits:
    return AnyOrderBits.from_modes(2, 2, modes, 4 * float(np.log(2)))


def test_the_environment_is_the_problem():
    enumeration = enumerate_environment(TwoWords(), environment())
    assert len(enumeration.dag.labels) == 5**2
    assert len(enumeration.dag.terminals) == 4**2


def test_backward_actions_undo_forward_ones():
    bits = environment()
    state = bits.encode((-1, 2))
    for action in range(4):
        child = bits.step(state, jnp.int32(action))
        parent = bits.undo(state, jnp.int32(action))
        assert bits.decode(bits.backward_step(child, parent)) == (-1, 2)
        assert int(bits.redo(child, parent)) == action


def test_control_other_modes_are_told_apart():
    with pytest.raises(InputError, match="fix log_reward"):
        enumerate_environment(TwoWords(), environment(MODES[:1]))
