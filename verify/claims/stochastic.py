"""Appendix C: stochastic latent dynamics."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="def:cldag",
        title="lifted DAG with a stochastic latent",
        printed="nu is a positive probability measure on S* = ({s_o} u S u X) x Omega; kappa_F, "
        "kappa_B are probability kernels on S* with\n"
        "1. duality: nu(ds) kappa_F(s, dt) = nu(dt) kappa_B(t, ds) for s in A, t in B;\n"
        "2. forward absorption: kappa_F^N(s, X*) = 1 for some N and all s in A; "
        "kappa_F(x*, {x} x Omega) = 1 nu-a.s.; kappa_F(s, B) = 1 for all s;\n"
        "3. reachability: for each measurable C some k has int_I nu(ds) kappa_F^k(s, C) > "
        "0;\n"
        "4. backward absorption: I is the only absorbing set, i.e. kappa_B(s, I) = 1 for "
        "a.e. s in I; kappa_B(s, X*) = 0 for a.e. s;\n"
        "5. continuity of s -> kappa(s, C);\n"
        "6. absolute continuity: kappa_F(s, .), kappa_B(s, .) << nu for all s;\n"
        "7. nondegeneracy: if kappa_B(s, E) > 0 then kappa_B(s, E') > 0 for each E' in E "
        "with nu(E') > 0.",
        readings=(
            Reading("All seven axioms as printed: nothing satisfies them.", "vacuous"),
            Reading(
                "(7) as printed and (2), (4), (6): (7) asks kappa_B to enter X* from every state, "
                "(4) asks that it does so from almost none.",
                "vacuous",
            ),
            Reading(
                "(3) as printed: the empty set is not reached, nor in k >= 1 steps a subset of "
                "S_o*.",
                "vacuous",
            ),
            Reading(
                'The first words of (4) as printed, "the only absorbing set": the whole space is '
                "absorbing too.",
                "vacuous",
            ),
            Reading(
                "(3) of sets of positive nu in (S u X) x Omega, (4) without these words, (7) "
                "within each {u} x Omega: positive kernels on every finite DAG satisfy them.",
                "true",
            ),
        ),
        control="kappa_B = nu, which enters X*: (7) as printed holds, (4) fails. Each axiom broken "
        "on its own is found to be.",
        severity=Severity.VACUOUS,
    ),
    Claim(
        id="lemma:abs",
        title="forward absorption lasts",
        printed="kappa_F^n(s, X*) = 1 for all n >= N. (s is not quantified.)",
        readings=(
            Reading(
                "For every s in S*, as the proofs use it, by the axioms as printed, of which (3) "
                "cannot be met.",
                "vacuous",
            ),
            Reading("By (2) alone, which is all that the printed proof uses.", "false"),
            Reading(
                "By (2) and (6), for s outside X* and almost every s in X*; with (3') for every s.",
                "true",
            ),
        ),
        control="Without (6): kappa_F^1 = 1, but kappa_F^2 = 0. Without (3'): 0 at n = N = 1, from "
        "a terminal of measure zero.",
        severity=Severity.VACUOUS,
    ),
    Claim(
        id="lemma:trajs",
        title="duality of trajectories",
        printed="nu(ds_1) prod_{i=1..n} kappa_F(s_i, ds_{i+1}) = nu(ds_{n+1}) prod_{i=1..n} "
        "kappa_B(s_{i+1}, ds_i) for n >= 2, with s_1 in A, s_2, ..., s_n in M, s_{n+1} in "
        "B.",
        readings=(Reading("As printed, by (1) alone; for n = 1 it is (1).", "true"),),
        control="nu = (1/2, 1/4, 1/4) on a chain whose visits are equal: residual 1/4.",
    ),
    Claim(
        id="lemma:abscty",
        title="nondegeneracy of compositions",
        printed="For n >= 1 and s in S*, kappa_B^{o n}(s, .) is nu-nondegenerate and absolutely "
        "continuous with respect to nu.",
        readings=(
            Reading("By (7) as printed, which (2), (4) and (6) exclude.", "vacuous"),
            Reading("Of every measurable E, by (7'): false for a union of two cells.", "false"),
            Reading("Within each cell {u} x Omega, by (7'); and << nu, by (6).", "true"),
        ),
        control="Latents copied: kappa_B^{o 2} charges one of two. A null state entered. Two "
        "cells: E is charged, half of it is not.",
        severity=Severity.VACUOUS,
    ),
    Claim(
        id="lemma:abbs",
        title="backward absorption after N steps",
        printed="kappa_B^N(x*, S_o*) = 1 for each x* in X*.",
        readings=(
            Reading("By the axioms as printed, which nothing satisfies.", "vacuous"),
            Reading(
                "By the repaired axioms, with nu >= 0, which may be zero somewhere: for each x*.",
                "false",
            ),
            Reading("By (1), (2) and (4') alone, for almost every x*.", "false"),
            Reading(
                "For almost every x*, by (1), (2), (4') and kappa_B << nu on S_o*; for each x*, "
                "with (5) and full support, or if kappa_B << nu avoids X* from each x*.",
                "true",
            ),
        ),
        control="A null terminal not left: 0 for 1. kappa_B not << nu on S_o*: 3/4. Without "
        "duality: 0. The printed step: kappa_B^{o 2} = 1/2 on S_o* and 0 elsewhere.",
        severity=Severity.VACUOUS,
    ),
    Claim(
        id="backward_absorption",
        title="backward absorption lasts (the lemma after lemma:abbs)",
        printed="kappa_B^n(x*, S_o*) = 1 for all x* in X* and n >= N.",
        readings=(
            Reading("By the axioms as printed, which nothing satisfies.", "vacuous"),
            Reading(
                "By the repaired axioms, with nu >= 0, which may be zero somewhere: for each x*.",
                "false",
            ),
            Reading("For the x* of lemma:abbs, by the same axioms.", "true"),
        ),
        control="As for lemma:abbs; without kappa_B << nu on S_o*, 1/2 at n = 3, on one edge.",
        severity=Severity.VACUOUS,
    ),
    Claim(
        id="end_point_identity",
        title="an identity of end points gives the target",
        printed="P_F(s, .) << kappa_F(s, .), P_B(s, .) << kappa_B(s, .), xi on I and Pi << nu on "
        "X*. If xi(ds) P_F^N(s, dx) = Pi(dx) P_B^N(x, ds) on I x X*, then xi P_F^N = Pi "
        "on X*.",
        readings=(
            Reading("As printed, with P_B^N(x, S_o*) = 1 for the misprinted complement.", "true"),
            Reading("Dual kernels satisfy it, with xi and Pi proportional to nu.", "false"),
            Reading(
                "They do if latents are kept while waiting, or all trajectories have N steps.",
                "true",
            ),
        ),
        control="Latents redrawn in S_o*, trajectories of 1 and 2 steps: residual 1/8. Another Pi. "
        "P_B not absorbed: satisfied by Pi of mass 2.",
    ),
    Claim(
        id="fixed_length_loss",
        title="trajectory balance loss for stochastic latents",
        printed="Minimise the mean of (log xi(s_0) + log prod_{i<N} p_F(s_i, s_{i+1}) - log Z - "
        "log pi~(s_N) - log prod_{i<N} p_B(s_{i+1}, s_i))^2 under a policy P_E << "
        "kappa_F; pi = Z pi~ (an inverse of the Z of the main text).",
        readings=(
            Reading("Over paths of one length N, if trajectories differ in length.", "ill-defined"),
            Reading("Over trajectories stopped on arrival, P_E << kappa_F: too few.", "false"),
            Reading(
                "Over these, P_E and kappa_F with the same null sets: zero loss gives Pi.", "true"
            ),
        ),
        control="Padded paths: the two laws share those of N steps alone. P_E that misses y: zero "
        "loss at p_F = (9/10, 1/10) for a uniform target.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="lines_latents",
        title="Lines with a latent in R^d",
        printed="Lines with M = 1, Omega = R^d with Lebesgue measure. At (p_i, w), kappa_F is "
        "supported on {q_i, p_{i+1}} x R^d and kappa_B on {p_i} x R^d. The next node is "
        "categorical given (s_i, w_i), then the latent is Gaussian, N(phi(s_{i+1}, w_i), "
        "sigma^2).",
        readings=(
            Reading("As printed: kappa_B stays at p_i.", "false"),
            Reading(
                "kappa_B at p_i on {p_{i-1}} x R^d, at q_i on {p_i} x R^d; kappa_F at p_N on "
                "{q_N} x R^d; nu the measure of visits, not Lebesgue measure.",
                "true",
            ),
        ),
        control="The printed kappa_B: not dual, never in S_o*. The inverse of a Gaussian step is "
        "not its posterior.",
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="N10",
        title="nu is forced, and which axioms are needed",
        printed=None,
        readings=(
            Reading(
                "(1), (2), (4') make nu on (S u X) x Omega the visits of kappa_F and imply (3'); "
                "with kappa_B << nu on S_o* they imply lemma:trajs and backward absorption.",
                "true",
            ),
        ),
        control="Another nu: no kernel is dual. One of (1), (2), (4') dropped: nu is not forced.",
    ),
)
