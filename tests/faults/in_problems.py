"""Faults in the state graphs and rewards of the problems."""

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "grid-band-with-its-edge",
        "The band of a grid's modes includes its boundary, where floats put one more cell.",
        "reference/problems/grid.py",
        "3 * last < 5 * n[x] < 4 * last",
        "3 * last <= 5 * n[x] < 4 * last",
        "tests/test_reference.py::test_grid_rewards_have_their_modes_in_the_bands",
    ),
    Fault(
        "grid-one-cell-too-far",
        "A coordinate may be increased once more at the side of the grid.",
        "reference/problems/grid.py",
        "if x[i] + 1 < self.side",
        "if x[i] + 1 <= self.side",
        "tests/test_reference.py::test_grid_steps_stay_inside",
    ),
    Fault(
        "lines-last-step-missing",
        "The range of steps ends one too early.",
        "reference/problems/lines.py",
        "min(i + self.step, self.length) + 1)",
        "min(i + self.step, self.length))",
        "tests/test_reference.py::test_lines_has_the_children_and_rewards_of_the_paper",
    ),
    Fault(
        "walk-of-positive-moves",
        "A step adds +e_i only, as printed, so that no negative coordinate is reached.",
        "reference/problems/random_walk.py",
        "for step in (1, -1)",
        "for step in (1,)",
        "tests/test_problem_random_walk.py"
        "::test_a_step_stays_or_moves_along_an_axis_inside_the_box",
    ),
    Fault(
        "walk-row-of-the-wrong-width",
        "A cell's reward is looked up as if a side of the box had 2M cells instead of 2M + 1.",
        "reference/problems/random_walk.py",
        "row = row * (2 * self.radius + 1) + x + self.radius",
        "row = row * (2 * self.radius) + x + self.radius",
        "tests/test_problem_random_walk.py::test_rewards_are_listed_in_the_order_of_the_cells",
    ),
    Fault(
        "ising-self-coupling",
        "The diagonal of v v' is left in the couplings.",
        "reference/problems/ising.py",
        "return field + (along**2 - self._square) / 2",
        "return field + along**2 / 2",
        "tests/test_problem_ising.py::test_rewards_are_those_of_the_coupling_matrix",
    ),
    Fault(
        "sets-counted-without-their-item",
        "The sets with a given item are counted as all sets of the size.",
        "reference/problems/sets.py",
        "return math.comb(len(self.weights) - 1, self.size - 1) * sum(",
        "return math.comb(len(self.weights), self.size) * sum(",
        "tests/test_presets.py::test_the_closed_form_is_the_enumerated_sum",
    ),
    Fault(
        "bits-distance-not-scaled",
        "The Hamming distance is not divided by the length.",
        "reference/problems/bits.py",
        "-self.exponent * distance / self.length))",
        "-self.exponent * distance))",
        "tests/test_problems.py::test_bits_measure_the_distance_to_the_nearest_mode",
    ),
    Fault(
        "preference-largest-weight-missing",
        "The range of weights ends one too early.",
        "reference/problems/preference.py",
        "for value in range(-self.bound, self.bound + 1)",
        "for value in range(-self.bound, self.bound)",
        "tests/test_problem_preference.py::test_minimal_presets_are_small",
    ),
    Fault(
        "graph-edges-not-sorted",
        "The ends of an edge keep their order, so that one graph has two names.",
        "reference/problems/graphs.py",
        "(min(pair), max(pair)) for pair in pairs",
        "pair for pair in pairs",
        "tests/test_problem_graphs.py"
        "::test_graphs_are_equal_whatever_the_order_of_their_edges_and_print_them",
    ),
    Fault(
        "weight-of-zero-drawn",
        "A draw on the boundary between two states goes to the first of them.",
        "reference/problems/closed_form.py",
        "bisect_right(self._sums, rng.randrange(self._sums[-1]))",
        "bisect_right(self._sums, rng.randrange(self._sums[-1]) - 1)",
        "tests/test_problem_graphs.py::test_samples_follow_the_target",
    ),
    Fault(
        "truncated-instead-of-rounded",
        "A reward is cut to 24 bits instead of rounded.",
        "reference/problems/base.py",
        "Fraction(round(mantissa * 2**bits))",
        "Fraction(int(mantissa * 2**bits))",
        "tests/test_reference.py::test_dyadic_rounds_to_what_float32_holds",
    ),
)
