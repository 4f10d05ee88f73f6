"""Appendix D and results of ours: distributed and streaming inference, bounds."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="assumption:targets",
        title="factorised target",
        printed="R_t: X -> R_+; R = prod R_t, 'a product of independent functions', such as "
        "sub-posteriors of an independent stream of data.",
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
    ),
    Claim(
        id="prop:apx:dist",
        title="distributed samplers",
        printed="If r(tau) prod r_t(tau') = prod r_t(tau) p_F(tau') / p_B(tau'|x) for all pairs, "
        "r = p_F / p_B, and each client is balanced with R_t, p_T is proportional to prod R_t.",
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
    ),
    Claim(
        id="prop:apx:sm",
        title="streaming samplers",
        printed="If r_T(tau) R_T(x') r_{T-1}(tau') = R_T(x) r_{T-1}(tau) p_F^(T)(tau') / "
        "p_B^(T)(tau'|x) for all T > 1, p_T^(T) is proportional to R_1 ... R_T.",
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
