"""Faults in what certifies samplers."""

from tests.faults.fault import Fault

FAULTS = (
    # --- bets
    Fault(
        "best-bet-in-hindsight",
        "The capital is that of the best bet, chosen after the fact, not the mean over bets.",
        "reference/certificates/betting.py",
        "np.log(np.exp(logs - largest[..., None]).mean(-1))",
        "np.log(np.exp(logs - largest[..., None]).max(-1))",
        "verify/test_N15.py::test_the_capital_as_computed_is_that_of_the_exact_bets",
    ),
    Fault(
        "stakes-never-lost",
        "A bet is paid for its wins, and its odds against the mean are left out.",
        "reference/certificates/betting.py",
        "logs = gains - np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))",
        "logs = gains - 0 * np.multiply.outer(np.asarray(count, float), np.log1p(BETS * mean))",
        "tests/test_betting.py"
        "::test_the_mean_is_hardly_ever_excluded_at_the_worst_moment_to_stop[uniform]",
    ),
    Fault(
        "rounding-forgotten",
        "What rounding may have added to the sums is not taken off.",
        "reference/certificates/betting.py",
        "logs = self.gains - lost - self.count",
        "logs = self.gains - 0 * lost - self.count",
        "tests/test_betting.py::test_what_rounding_may_have_added_is_taken_off",
    ),
    Fault(
        "upper-side-of-lower-ends",
        "The upper bound of a mean is made from numbers that the values may exceed.",
        "reference/certificates/betting.py",
        "np.nextafter(1 - high, 0.0)",
        "np.nextafter(1 - low, 0.0)",
        "tests/test_adapters.py::test_rewards_of_the_library_alone_widen_the_interval",
    ),
    # --- weights
    Fault(
        "weight-upside-down",
        "The ratio of p_F to mu is taken for that of mu to p_F.",
        "reference/certificates/importance.py",
        "low, high = -np.expm1(log_ratio + error), -np.expm1(log_ratio - error)",
        "low, high = -np.expm1(error - log_ratio), -np.expm1(-log_ratio - error)",
        "verify/test_N14.py::test_the_variable_as_computed_encloses_the_exact_one",
    ),
    Fault(
        "error-of-a-weight-inward",
        "What rounding may have done narrows the variable instead of widening it.",
        "reference/certificates/importance.py",
        "low, high = -np.expm1(log_ratio + error), -np.expm1(log_ratio - error)",
        "low, high = -np.expm1(log_ratio - error), -np.expm1(log_ratio + error)",
        "tests/test_certify.py::test_rounding_is_outward",
    ),
    # --- regimes
    Fault(
        "bounds-of-z-exchanged",
        "The lower bound of Z bounds TV from above, and the upper one from below.",
        "reference/certificates/regimes.py",
        "((above, log_z.high), (below, log_z.low))",
        "((above, log_z.low), (below, log_z.high))",
        "tests/test_certify.py::test_bounds_of_z_keep_the_interval_and_widen_it",
    ),
    Fault(
        "the-smaller-mean-for-the-larger",
        "Of model and target samples the smaller mean bounds TV from above.",
        "reference/certificates/regimes.py",
        "interval = Interval(least, max(side.high for side in sides))",
        "interval = Interval(least, min(side.high for side in sides))",
        "tests/test_regimes.py::test_the_larger_mean_bounds_the_distance_from_above",
    ),
    Fault(
        "event-by-its-outer-ends",
        "The difference of an event's probabilities is bounded by the wrong ends of both.",
        "reference/certificates/regimes.py",
        "(events[1].low - events[0].high)",
        "(events[1].high - events[0].low)",
        "tests/test_certify.py"
        "::test_the_exact_distance_lies_in_the_interval_of_every_regime[state]",
    ),
    Fault(
        "closeness-claimed-without-z",
        "With neither log Z nor target samples, the mean at the floor of Z bounds TV from above.",
        "reference/certificates/regimes.py",
        "Found(Interval(low, 1.0), lines, seen.count)",
        "Found(Interval(0.0, low), lines, seen.count)",
        "tests/test_certify.py::test_without_z_no_closeness_is_claimed",
    ),
    Fault(
        "floor-of-z-estimated",
        "With neither log Z nor target samples, the mean weight stands for a lower bound of Z.",
        "reference/certificates/regimes.py",
        "bound, floor, low = weight.bound(level / 2), -math.inf, 0.0",
        "bound, floor, low = math.exp(log_mean(seen.all) - log_scale), -math.inf, 0.0",
        "tests/test_regimes.py::test_without_z_the_same_samples_bound_z_and_then_the_distance",
    ),
    Fault(
        "ends-of-another-block",
        "Features that were kept are not compared with those that are drawn again.",
        "reference/certificates/kept.py",
        "elif kept.terminals != drawn.terminals or not all",
        "elif not all",
        "tests/test_kept_draws.py"
        "::test_control_features_that_were_not_kept_or_are_others_are_refused",
    ),
    Fault(
        "expectations-without-the-distance",
        "The expectation under the target is given the interval of that under the sampler.",
        "reference/certificates/features.py",
        "Interval(max(0.0, model.low - tv.high), min(1.0, model.high + tv.high))",
        "Interval(max(0.0, model.low), min(1.0, model.high))",
        "tests/test_regimes.py::test_expectations_are_widened_by_the_distance",
    ),
    # --- trajectories
    Fault(
        "reversal-the-other-way-round",
        "The learned p_B counts children of parents for parents of children.",
        "reference/certificates/reversal.py",
        "counts[after][before] += 1",
        "counts[before][after] += 1",
        "tests/test_certify.py"
        "::test_a_learned_backward_policy_brings_the_bound_down_to_the_terminals",
        "refusal",
    ),
    Fault(
        "rewards-of-a-library-believed",
        "The reward of another library is not compared with that of the problem.",
        "pdai/adapters/stepping.py",
        "if not abs(own.value - given) <= tolerance:",
        "if False:",
        "tests/test_adapters.py::test_control_a_reward_that_disagrees_is_refused",
    ),
    # --- kept draws
    Fault(
        "every-block-the-same",
        "All blocks of kept draws are drawn with the same random numbers.",
        "reference/certificates/kept.py",
        'default_rng([self.seed, number, kind == "backward"])',
        'default_rng([self.seed, 0, kind == "backward"])',
        "tests/test_kept_draws.py::test_more_samples_are_added_to_those_that_are_kept",
    ),
    Fault(
        "random-numbers-go-on",
        "After a kill, blocks are drawn with the random numbers of the first ones.",
        "reference/certificates/kept.py",
        'self.sampler.rng = np.random.default_rng([self.seed, number, kind == "backward"])',
        "pass",
        "tests/test_kept_draws.py"
        "::test_a_certificate_that_is_cut_off_goes_on_to_the_same_numbers[Z-None-2]",
    ),
    Fault(
        "kept-draws-of-anybody",
        "Draws of another sampler are taken for those of this one.",
        "reference/certificates/kept.py",
        "not all(map(np.array_equal",
        "not any(map(np.array_equal",
        "tests/test_kept_draws.py::test_control_draws_of_another_sampler_or_seed_are_refused",
    ),
    # --- certificate files
    Fault(
        "rows-below-one-accepted",
        "The checker in Python takes rows that sum to less than one.",
        "reference/certificates/check.py",
        "if sum(numerator for _, numerator in row.steps) != row.denominator:",
        "if sum(numerator for _, numerator in row.steps) > row.denominator:",
        "tests/test_certificates.py::test_control_wrong_certificates_are_not",
    ),
    Fault(
        "mass-of-the-last-parent",
        "The checker in Python gives a state the mass of its last parent, not the sum.",
        "reference/certificates/check.py",
        "self._masses[child] = new if old is None else self._arithmetic.plus(old, new)",
        "self._masses[child] = new",
        "tests/test_certificates.py::test_right_certificates_are_accepted",
    ),
    # --- log Z
    Fault(
        "one-string-per-kind",
        "Strings that differ in alike positions are counted once, not as often as there are.",
        "reference/problems/bit_distances.py",
        "[math.comb(size, k) for k in range(size + 1)]",
        "[1 for k in range(size + 1)]",
        "tests/test_problems.py"
        "::test_strings_of_bits_are_counted_by_their_distance_as_one_by_one[append]",
    ),
)
