"""Prop:lines in all its readings: exact ranks against the theorem, and the policies themselves."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest

from reference import BALL, FLOAT64, RATIONAL, InputError, marginal
from reference.balls import enclose
from reference.linear import Dimensions, LinearLines, Parameters, law_from_odds, rank, solve
from reference.linear_policy import LinearDynamics, linear_policy
from reference.problems import Lines

FAMILIES = ("markovian", "path-dependent")


def embedding(*rows: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(Fraction, row)) for row in rows)


def both(model: LinearLines) -> tuple[Dimensions, Dimensions]:
    markovian, path = (model.computed_dimensions(family) for family in FAMILIES)  # type: ignore[arg-type]
    for family, computed in zip(FAMILIES, (markovian, path), strict=True):
        assert computed == model.predicted_dimensions(family)  # type: ignore[arg-type]
    return markovian, path


@pytest.mark.parametrize("length", range(1, 9))
def test_the_spans_of_laws_have_equal_dimension_for_the_natural_embedding(length: int) -> None:
    markovian, path = both(LinearLines.natural(length))
    assert markovian.linear == path.linear == length
    assert markovian.affine == path.affine == length - 1
    # r_0 = 1/2 is forced, which is the missing dimension; psi(p_i) = i + 1 has it.
    markovian, path = both(LinearLines.natural(length, offset=1))
    assert markovian.linear == path.linear == length + 1


def test_the_spans_have_equal_dimension_for_random_embeddings() -> None:
    rng = random.Random(0)
    for _ in range(60):
        d, length = rng.randint(1, 3), rng.randint(1, 10)
        rows = [[rng.randint(-2, 2) for _ in range(d)] for _ in range(length)]
        markovian, path = both(LinearLines(embedding(*rows)))
        assert markovian.linear == path.linear == 1 + sum(any(row) for row in rows)


def test_in_log_odds_the_path_dependent_family_is_larger_from_three_states_on() -> None:
    spans = {n: both(LinearLines.natural(n)) for n in range(1, 6)}
    found = {n: (m.log_odds, p.log_odds) for n, (m, p) in spans.items()}
    assert found == {1: (0, 0), 2: (1, 1), 3: (1, 2), 4: (1, 2), 5: (1, 2)}
    constant = {n: both(LinearLines(embedding(*[[1]] * n))) for n in range(1, 4)}
    found = {n: (m.log_odds, p.log_odds) for n, (m, p) in constant.items()}
    assert found == {1: (1, 1), 2: (1, 2), 3: (1, 2)}
    one_hot = LinearLines(embedding(*([int(i == j) for j in range(4)] for i in range(4))))
    markovian, path = both(one_hot)
    assert markovian.log_odds == path.log_odds == 4


@pytest.mark.parametrize(("d", "manifold", "span"), [(1, 2, 2), (2, 5, 6), (3, 8, 12), (4, 11, 20)])
def test_the_path_dependent_laws_form_a_smaller_manifold_than_their_span(
    d: int, manifold: int, span: int
) -> None:
    rng = random.Random(d)
    rows = [[rng.randint(-9, 9) for _ in range(d)] for _ in range(span + 2)]
    markovian, path = both(LinearLines(embedding(*rows)))
    assert (markovian.log_odds, markovian.manifold) == (d, d)
    assert (path.log_odds, path.manifold) == (span, manifold)


def test_affine_embeddings_reach_all_cubics() -> None:
    markovian, path = both(LinearLines(embedding(*([1, i] for i in range(8)))))
    assert (markovian.manifold, path.manifold) == (2, 4)
    assert path.log_odds == 4


def test_control_equal_rows_of_b_leave_a_single_law() -> None:
    markovian, path = both(LinearLines(embedding([1], [2], [3]), delta=Fraction(0)))
    assert markovian == path == Dimensions(1, 0, 0, 0)


def test_control_zeros_of_the_embedding_lower_both_spans() -> None:
    markovian, path = both(LinearLines(embedding([0], [2], [0], [1])))
    assert markovian.linear == path.linear == 3


def test_not_every_combination_of_the_columns_is_reached() -> None:
    rows = ([1, 1], [4, -4], [-4, -4], [-5, -3], [-3, 1], [-1, 2])
    model = LinearLines(embedding(*rows))
    log_odds = [Fraction(o) for o in (0, 32, 32, 58, 14, -7)]
    identity = embedding([1, 0], [0, 1])
    # The coefficients are unique, and of rank two; the model has v w', of rank one.
    assert model.interaction_coefficients(log_odds) == identity
    assert rank(identity) == 2
    reached = model.log_odds(Parameters(*embedding([1, 2], [3, -1], [2, 5])))
    coefficients = model.interaction_coefficients(reached)
    assert coefficients is not None
    assert rank(coefficients) == 1
    with pytest.raises(InputError, match="not unique"):
        LinearLines(embedding(*rows[:5])).interaction_coefficients(log_odds[:5])


def test_the_sums_leave_out_the_initial_state() -> None:
    # With psi = 1 the sums are 0, 1, 2, ..., as in the paper's own example.
    model = LinearLines(embedding(*[[1]] * 4))
    assert [c for (c,) in model.sums()] == [0, 1, 2, 3]
    assert [c for (c,) in LinearLines.natural(5).sums()] == [0, 1, 3, 6, 10]


def test_the_natural_embedding_stops_at_once_with_probability_one_half() -> None:
    assert LinearLines.natural(16).forced_stop()
    assert not LinearLines.natural(16, offset=1).forced_stop()
    for seed in range(20):
        target = Lines.laplaces(16, 1, seed=seed)
        assert target.rewards[0] / target.z() <= Fraction(1887, 10_000)


def test_laws_from_odds_sum_to_one() -> None:
    law = law_from_odds([Fraction(2), Fraction(1, 3), Fraction(5)])
    assert sum(law) == 1
    assert law == (Fraction(1, 3), Fraction(1, 2), Fraction(1, 36), Fraction(5, 36))


def test_linear_systems_are_solved_or_have_no_solution() -> None:
    rows = embedding([1, 2], [3, 4], [5, 6])
    assert solve(rows, [Fraction(5), Fraction(11), Fraction(17)]) == (1, 2)
    assert solve(rows, [Fraction(5), Fraction(11), Fraction(18)]) is None


def random_policy(length: int, step: int, field: Any, seed: int = 0, memory: bool = True) -> Any:
    rng = random.Random(seed)

    def vector(size: int) -> tuple[Fraction, ...]:
        return tuple(Fraction(rng.randint(-4, 4), 4) for _ in range(size))

    zero = (Fraction(0),) * 2
    parameters = Parameters(vector(2), vector(2), vector(2))
    if not memory:
        parameters = Parameters(parameters.a, zero, zero)
    dynamics = LinearDynamics(tuple(vector(2) for _ in range(length + 1)), parameters)
    b = vector(step + 1)
    return linear_policy(Lines.laplaces(length, step), dynamics, b, field), dynamics, b


def test_the_policy_on_the_lift_has_the_law_of_its_log_odds() -> None:
    for seed in range(10):
        policy, dynamics, b = random_policy(5, 1, FLOAT64, seed)
        model = LinearLines(dynamics.embedding[:-1], b[0] - b[1])
        odds = [math.exp(o) for o in model.log_odds(dynamics.parameters)]
        expected = [float(p) for p in law_from_odds([Fraction(o) for o in odds])]
        found = dict(
            zip(
                (policy.lifted.dag.labels[x] for x in policy.lifted.dag.terminals),
                marginal(policy.forward),
                strict=True,
            )
        )
        assert [found[f"q{i}"] for i in range(6)] == pytest.approx(expected, abs=1e-14)


def test_memory_merges_histories_with_equal_sums_and_none_is_the_base() -> None:
    with_memory, _, _ = random_policy(6, 2, FLOAT64, seed=1)
    without, _, _ = random_policy(6, 2, FLOAT64, seed=1, memory=False)
    assert len(without.lifted.dag.labels) == len(without.lifted.base.labels)
    assert len(with_memory.lifted.dag.labels) > len(with_memory.lifted.base.labels)


def test_balls_enclose_the_float_policy() -> None:
    floats, _, _ = random_policy(5, 3, FLOAT64, seed=2)
    balls, _, _ = random_policy(5, 3, BALL, seed=2)
    for value, ball in zip(marginal(floats.forward), marginal(balls.forward), strict=True):
        lower, upper = enclose(ball)
        assert upper - lower < Fraction(1, 10**12)
        assert float(lower) == pytest.approx(value, abs=1e-12)


def test_blocked_actions_have_no_probability_whatever_the_logits() -> None:
    policy, _, _ = random_policy(2, 3, FLOAT64, seed=3)
    assert all(p > 0 for p in policy.forward.values)
    for row in policy.lifted.dag.out_edges:
        if row:
            assert sum(policy.forward.values[e] for e in row) == pytest.approx(1)


def test_control_a_multiplied_mask_is_no_policy() -> None:
    logits, mask = (2.0, -1.0, 0.0), (1.0, -math.inf, -math.inf)
    masked = [logit * m for logit, m in zip(logits, mask, strict=True)]
    assert masked[:2] == [2.0, math.inf]
    assert math.isnan(masked[2])


def test_linear_policies_of_wrong_sizes_or_fields_are_refused() -> None:
    _, dynamics, b = random_policy(3, 2, FLOAT64)
    with pytest.raises(InputError, match=r"2 entries of b .* give 3"):
        linear_policy(Lines.laplaces(3, 2), dynamics, b[:2], FLOAT64)
    with pytest.raises(InputError, match=r"4 embeddings .* give 6"):
        linear_policy(Lines.laplaces(5, 2), dynamics, b, FLOAT64)
    with pytest.raises(InputError, match=r"exponential .* not a rational"):
        linear_policy(Lines.laplaces(3, 2), dynamics, b, RATIONAL)
    for rows in ((), ((),), ((Fraction(1),), ()), ((1.0,),), (5,)):
        with pytest.raises(InputError, match="LinearLines"):
            LinearLines(rows)  # type: ignore[arg-type]
