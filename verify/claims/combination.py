"""Appendix D and results of ours: distributed and streaming inference, bounds."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="assumption:targets",
        title="factorised target",
        printed='"Let {R_t} be a sequence of functions R_t: X -> R_+. We assume that the target '
        'R: X -> R_+ can always be represented as R(x) = prod_{t=1}^T R_t(x) for some T." '
        'It "simply states that the target can be factorized into the product of '
        'independent functions", such as sub-posteriors "induced by an independent stream '
        'of data", R_1(x) = l(D_1|x) p(x), R_t(x) = l(D_t|x).',
        readings=(
            Reading(
                "R_t >= 0. The product may vanish on all of X: then there is no target.",
                "ill-defined",
            ),
            Reading(
                "Data independent of each other: the product of sub-posteriors need not be the "
                "posterior.",
                "false",
            ),
            Reading(
                "prod R_t > 0 somewhere on X; data independent given x. Then R / sum R is the "
                "target, and the posterior.",
                "true",
            ),
        ),
        control="R_1 = (1, 0), R_2 = (0, 1): every p_F passes. Two fair coins, x = whether they "
        "differ: (1/2, 1/2) instead of (1, 0).",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="prop:apx:dist",
        title="distributed samplers",
        printed="Let (p_F^(t), p_B^(t), R_t), t = 1..T, be path-dependent samplers that satisfy "
        "prop:lifted_balance, and p_F(tau)/p_B(tau|x) * prod_t "
        "p_F^(t)(tau')/p_B^(t)(tau'|x') = prod_t p_F^(t)(tau)/p_B^(t)(tau|x) * "
        "p_F(tau')/p_B(tau'|x) for each pair of complete trajectories tau, tau', ending "
        "at x, x', on the lifted DAG. Then p_T is proportional to prod_t R_t.",
        readings=(
            Reading(
                "As printed: p_B(tau'|x) = 0 unless tau' ends in x. Times the denominators, no p_F "
                "meets it if p_B > 0 and |X| > 1.",
                "ill-defined",
            ),
            Reading("For pairs with one end, where the printed form is defined.", "false"),
            Reading("With p_B(tau'|x'), times the denominators, some p_B^(t)(tau|x) = 0.", "false"),
            Reading(
                "With p_B(tau'|x'), each p_B^(t)(tau|x) > 0; tau a trajectory of the base, which "
                "each client lifts for itself.",
                "true",
            ),
        ),
        control="A client with a zero of p_B: (4/5, 1/5) passes for a uniform target. Pairs "
        "with one end only: (9/10, 1/10) passes.",
        theorems=(
            "Combination.v:distributed",
            "ZeroBackward.v:zero_backward_breaks_distributed",
        ),
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="prop:apx:sm",
        title="streaming samplers",
        printed="Let (p_F^(1), p_B^(1), R_1) satisfy prop:lifted_balance and, for T > 1 and all "
        "pairs of trajectories, p_F^(T)(tau)/p_B^(T)(tau|x) * R_T(x') "
        "p_F^(T-1)(tau')/p_B^(T-1)(tau'|x') = R_T(x) p_F^(T-1)(tau)/p_B^(T-1)(tau|x) * "
        "p_F^(T)(tau')/p_B^(T)(tau'|x). Then the terminal law of p_F^(T) is proportional "
        'to prod_{t<=T} R_t "(see Proposition apx:sm)".',
        readings=(
            Reading("As printed: p_B(tau'|x) = 0 unless tau' ends in x.", "ill-defined"),
            Reading(
                "With p_B(tau'|x'), times the denominators, some p_B^(T-1)(tau|x) = 0.", "false"
            ),
            Reading(
                "With p_B(tau'|x'), each earlier p_B^(t)(tau|x) > 0; lift and p_B may change from "
                "step to step.",
                "true",
            ),
        ),
        control="A zero of the previous p_B: (4/5, 1/5) passes for a uniform target. A wrong "
        "step is kept by all later ones.",
        theorems=("Combination.v:streaming",),
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="N5",
        title="residuals bound TV",
        printed=None,
        readings=(
            Reading(
                "TV(p_T, pi) <= TV(p_F, mu) <= tanh(Delta / 4), Delta the oscillation of log "
                "residuals, sharp; KL(p_F||mu) <= Delta^2 / 8; p_T / pi in [e^-Delta, e^Delta].",
                "true",
            ),
        ),
        control="Attained: TV = 1/2 at e^Delta = 9, so 9 - 1e-9 fails. p_B of mass 2 and 1: "
        "Delta = 0, TV = 1/6.",
        theorems=("Residuals.v:residuals_bound_tv",),
    ),
    Claim(
        id="N5.any_z",
        title="one-sided residuals bound TV",
        printed=None,
        readings=(
            Reading(
                "For any Z: TV(p_F, mu) <= max(E_mu[(1 - e^delta)_+], E_pF[(1 - e^-delta)_+]), an "
                "equality for Z = sum R.",
                "true",
            ),
        ),
        control="Either term alone is 0 for Z too large, or too small, while TV = 1/4.",
    ),
    Claim(
        id="N5.loss",
        title="losses bound TV",
        printed=None,
        readings=(
            Reading(
                "If p_E >= c (p_F + mu) / 2 on trajectories: TV(p_F, mu) <= sqrt(L_CB / (2 c)) / 2 "
                "= sqrt(min_Z L_TB / c) / 2.",
                "true",
            ),
        ),
        control="On policy there is no such c: L -> 0 for p_F = (1 - eta, eta), TV -> 1/2.",
    ),
    Claim(
        id="N6",
        title="errors of clients and steps add",
        printed=None,
        readings=(
            Reading(
                "With oscillations Delta_t of clients or steps and Delta_0 of the combiner: "
                "TV <= tanh((Delta_0 + sum Delta_t) / 4), attained.",
                "true",
            ),
        ),
        control="The largest alone is no bound: two clients off by 4 give TV = 3/5 > 1/3.",
    ),
)
