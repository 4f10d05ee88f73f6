"""Section 4, learning: balance conditions on the lift and what follows from them."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="def:flows",
        title="state flow",
        printed='A state flow for R: X -> R_+ is any F: S* u X -> R_+ with F(x) = R(x). "Under '
        "certain conditions (established below), this is also equivalent to the "
        'unnormalised marginal probability of reaching s*."',
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
        printed="p_F, p_B, F are a recurrent forward policy, a backward policy and a flow on S*. "
        "If F(s_i*) p_F(s_{i+1:j}*|s_i*) = p_B(s_{i:j-1}*|s_j*) F(s_j*) (eq:conditionsa) "
        "for each complete trajectory and all i < j, then p_T(s*) is proportional to "
        "F(s*) on S* u X; in particular p_T(x) to R(x). On X it suffices to ask for i = "
        "0, j = T.",
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
        printed="If F(s_o*) p_F(tau|s_o*) = R(x) p_B(tau|x) for each complete trajectory of the "
        "lifted DAG, then p_T(x) is proportional to R(x). F(s_o*) is then the partition "
        "function.",
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
        printed="Let tau = (s_t*), tau' = (s_t'*), both with t = 0..T, be complete trajectories. "
        "If p_F(tau) p_B(tau'|x') R(x') = p_F(tau') p_B(tau|x) R(x) for every pair, then "
        "p_T is proportional to R.",
        readings=(
            Reading(
                "T is one number, as it is printed: for pairs of trajectories of equal length.",
                "false",
            ),
            Reading(
                "T is the length of each, as in section 2, where every trajectory has its own (an "
                'index used twice, a misprint): for "every pair", of any two lengths.',
                "true",
            ),
        ),
        control="Only pairs of equal length: satisfied by p_T = (9/10, 1/10) for a uniform target; "
        "too weak on 4 of the 16 DAGs with four states, on none with three.",
        theorems=(
            "ContrastiveBalance.v:cb_implies_tb",
            "LiftedBalance.v:lifted_cb",
            "EqualLengths.v:equal_lengths_do_not_suffice",
        ),
        severity=Severity.MISPRINT,
    ),
    Claim(
        id="exploratory-policy",
        title="exploratory policy",
        printed='Footnote of col:objectives: "a policy assigning positive probability to each '
        "children of the state graph at every state. Under the formalism of Section "
        "stochastic, the corresponding kernel P_E is mutually absolutely continuous with "
        'respect to base measure kappa_F." In that section the loss is then taken over a '
        'P_E "absolutely continuous with respect to kappa_F". Example: epsilon-greedy.',
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
        printed="Let p_E be exploratory; it may depend on p_F. The unrestricted global optima "
        "over all policies of L_TB = E_{p_E} (log Z p_F(tau) / (p_B(tau|x) R(x)))^2 "
        "satisfy TB, and those of L_CB = E (log p_F(tau) p_B(tau'|x') R(x') / (p_B(tau|x) "
        "p_F(tau') R(x)))^2 = 2 Var log p_F / (p_B R), tau and tau' i.i.d., satisfy CB.",
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
