"""Section 4, learning: balance conditions on the lift and what follows from them."""

from verify.claims.record import Claim, Reading

CLAIMS = (
    Claim(
        id="def:flows",
        title="state flow",
        printed="F on S* and X with F(x) = R(x); under subtrajectory balance it is the "
        "unnormalised probability of reaching s*.",
        readings=(
            Reading("As printed, for p_B normalised over lifted parents; F is unique.", "true"),
            Reading("Also for a base policy p~_B copied onto the lift.", "false"),
            Reading(
                "For any weights B with b(s*), their sum over paths to s*, that is F(s*) b(s*).",
                "true",
            ),
        ),
        control="A copied p~_B on a diamond: F / Z = 1 at both lifts of c, each reached with "
        "probability 1/2. One flow changed: residuals.",
    ),
    Claim(
        id="prop:lifted_balance",
        title="subtrajectory balance",
        printed="F(s_i*) p_F(s_{i+1:j}*|s_i*) = p_B(s_{i:j-1}*|s_j*) F(s_j*) for all i < j implies "
        "p_T(s*) proportional to F(s*) on S* and X.",
        readings=(
            Reading("p_B is normalised over the parents in the lift, R is not zero.", "true"),
            Reading("p_B is a base policy p~_B copied onto the lift; all of S*.", "false"),
            Reading("p_B is a base policy p~_B copied onto the lift; X alone.", "true"),
        ),
        control="A copied p~_B: wrong inside every lift with memory. p_B = 1: p_T = (2/3, 1/3) for "
        "a uniform target. Balance of complete trajectories alone: F(a) / Z = 7, p_T(a) = 1.",
        theorems=(
            "Normalisation.v:backward_mass",
            "SubtrajectoryBalance.v:subtb_state_marginals",
            "LiftedBalance.v:lifted_subtb",
            "CopiedBalance.v:copied_subtb_exact",
            "CopiedBalance.v:copied_subtb_state_marginals",
        ),
    ),
    Claim(
        id="col:tb",
        title="trajectory balance",
        printed="F(s_o*) p_F(tau) = R(x) p_B(tau|x) for every trajectory implies p_T "
        "proportional to R.",
        readings=(Reading("As printed, for p_B of mass 1 at every x; then F(s_o*) = Z.", "true"),),
        control="Mass that varies with x: p_T is (2/3, 1/3) for a uniform target. One edge "
        "changed.",
        theorems=(
            "TrajectoryBalance.v:tb_terminal_law",
            "LiftedBalance.v:lifted_tb",
            "Markovian.v:copied_tb_terminal_law",
        ),
    ),
    Claim(
        id="N7",
        title="mis-normalised p_B",
        printed=None,
        readings=(
            Reading(
                "For weights of mass b(x) over the trajectories to x, balance gives p_T = R b / Z, "
                "Z = sum of R b: the target iff b is constant where R > 0.",
                "true",
            ),
        ),
        control="Weights 1 on a fork: b = (2, 1), p_T = (2/3, 1/3) for a uniform target.",
        theorems=(
            "TrajectoryBalance.v:tb_exact",
            "TrajectoryBalance.v:tb_exact_partition",
        ),
    ),
    Claim(
        id="col:cb",
        title="contrastive balance",
        printed="p_F(tau) p_B(tau'|x') R(x') = p_F(tau') p_B(tau|x) R(x), for all tau = (s_t*) and "
        "tau' = (s_t'*) with t = 0..T, implies p_T proportional to R.",
        readings=(
            Reading("For pairs of trajectories of the same length T.", "false"),
            Reading("For pairs of trajectories of any two lengths T and T'.", "true"),
        ),
        control="Only pairs of equal length: satisfied by p_T = (9/10, 1/10) for a uniform target; "
        "too weak on 4 of the 16 DAGs with four states, on none with three.",
        theorems=(
            "ContrastiveBalance.v:cb_implies_tb",
            "LiftedBalance.v:lifted_cb",
            "EqualLengths.v:equal_lengths_do_not_suffice",
        ),
    ),
    Claim(
        id="exploratory-policy",
        title="exploratory policy",
        printed="A policy that gives positive probability to each child of every state; "
        "equivalently, mutually absolutely continuous with kappa_F. Later: P_E << kappa_F.",
        readings=(
            Reading("Positive on every edge: then on every trajectory, and conversely.", "true"),
            Reading("P_E << kappa_F, which any policy on the DAG satisfies.", "false"),
            Reading("Mixed in any part with the uniform policy, any policy explores.", "true"),
        ),
        control="All mass on x: a loss of zero for p_T = (9/10, 1/10) and a uniform target.",
    ),
    Claim(
        id="col:objectives",
        title="learning objectives",
        printed="The unrestricted optima of L_TB and L_CB, for an exploratory p_E that may depend "
        "on p_F, satisfy TB and CB; L_CB is twice a variance.",
        readings=(
            Reading("R, p_B > 0, p_E positive on every edge, tau and tau' i.i.d.", "true"),
            Reading("On policy, p_E = p_F, which may have zeros.", "false"),
            Reading(
                "p_E = p_F > 0: a loss of zero is balance; no small loss bounds the distance.",
                "true",
            ),
        ),
        control="p_E of one trajectory, or p_F deterministic: loss 0 off target. p_F = (1 - eta, "
        "eta) on policy: L -> 0 and TV -> 1/2. tau' = tau. A zero of R.",
        theorems=(
            "Losses.v:tb_loss_eq0",
            "Losses.v:cb_loss_variance",
        ),
    ),
    Claim(
        id="N12",
        title="CB loss and TB loss",
        printed=None,
        readings=(
            Reading("L_CB = 2 min over log Z of L_TB, at log Z = - E log p_F / (p_B R).", "true"),
        ),
        control="Another log Z, off by c: 2 L_TB = L_CB + 2 c^2. Exploration that is not "
        "normalised: the identity fails.",
        theorems=(
            "Losses.v:tb_loss_split",
            "Losses.v:cb_loss_is_twice_best_tb_loss",
        ),
    ),
)
