"""What lifting changes: Markovian optima, projections, and the backward policy."""

from verify.claims.record import Claim, Reading, Severity

CLAIMS = (
    Claim(
        id="prop:markovian",
        title="Markovian p_B",
        printed="Let p~_B be a backward policy on the state graph SG with p_B(s_t*|s_{t+1}*) = "
        "p~_B(s_t|s_{t+1}) along every trajectory of the lift, and let p_F satisfy "
        "trajectory or contrastive balance. Then there is a policy p~_F on SG with "
        "p_F(s_{t+1}*|s_t*) = p~_F(s_{t+1}|s_t).",
        readings=(
            Reading(
                "p_B and p~_B are normalised: only a lift without memory allows it.", "vacuous"
            ),
            Reading(
                "p~_B(.|s') is the law of the previous base state given (s', W), for every W: only "
                "lifts without memory allow it.",
                "vacuous",
            ),
            Reading(
                "p_B is normalised, and p~_B any function on the edges of SG. Possible on every "
                "history lift; then p_F is Markovian on the states it visits.",
                "true",
            ),
            Reading(
                "If p_B(tau|x) is the product of p~_B along tau, p_F is Markovian on the states it "
                "visits; with R, p~_B > 0 these are all.",
                "true",
            ),
        ),
        control="A zero of p~_B: rows (1, 0) and (0, 1) at one state. p~_B that depends on x: "
        "(3/4, 1/4) and (1/4, 3/4).",
        theorems=(
            "Markovian.v:markovian_where_visited",
            "Markovian.v:markovian_everywhere",
            "Example.v:copied_policy_not_normalised",
        ),
        severity=Severity.VACUOUS,
    ),
    Claim(
        id="fig:setsa",
        title="(non-)Markovian p_B and p_F",
        printed='"A (non-)Markovian p_B entails a (non-)Markovian p_F at equilibrium." The figure '
        "plots the mean over states of KL(s), the largest KL divergence between the rows "
        'of p_F at two lifts of s; "KL(s) > 0 for some s indicates p_F is '
        'path-dependent".',
        readings=(
            Reading(
                "Of the kernel p_B(.|s, W). On a lift with memory none that is normalised is "
                "Markovian, and each base policy gives one whose p_F is.",
                "false",
            ),
            Reading("Of the law P_B(.|x) on trajectories, one base policy for all x: N2.", "true"),
        ),
        control="Laws (3/4, 1/4) given x, (1/4, 3/4) given y on two histories: KL(c) = log(3)/2.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="fig:flows:m",
        title="multi-gated flow",
        printed="In a multi-gated flow network each node sends flow to its children depending on "
        'the latent. "In both cases [path-dependent and Markovian], the flow reaching '
        'each terminal state is the same."',
        readings=(
            Reading("Of two samplers balanced with the same R: it is R(x) in both.", "true"),
            Reading(
                "Of any path-dependent p_F: one Markovian policy carries its flow on every edge of "
                "SG (N1).",
                "true",
            ),
        ),
        control="Gates averaged without weights: 1/2 reaches x instead of 1/10. Gates exchanged: "
        "9/10.",
    ),
    Claim(
        id="representational-power",
        title="what a lift can represent",
        printed='After prop:lines: "an MDP augmented (or lifted) with a specific linear '
        "deterministic dynamics possesses significantly greater representational power "
        'than a simple linear MDP". Similar sentences motivate the lift throughout.',
        readings=(
            Reading("Of the linear classes: no measure is named; see prop:lines.", "ill-defined"),
            Reading("Policies on the lift reach more laws on X than policies on SG.", "false"),
            Reading(
                "They reach more laws on trajectories, iff a state with two children has two "
                "lifts; a parametric class may gain laws on X (prop:lines).",
                "true",
            ),
        ),
        control="Rows tied at two states: p(x1) p(y2) = p(x2) p(y1) without memory; with it, 1/4 "
        "against 0.",
        severity=Severity.LOOSE,
    ),
    Claim(
        id="N1",
        title="Markov projection",
        printed=None,
        readings=(
            Reading(
                "The mean of p_F over the lifts of a state, weighted by visits, is the only "
                "Markovian policy (where it goes) with the edge flows of p_F; "
                "KL(P||Q) = KL(P||P~) + KL(P~||Q) for Markovian Q.",
                "true",
            ),
        ),
        control="The mean without weights: p_T(x) = 1/2 instead of 1/10. Q path-dependent: 0 on "
        "the left, 0.0989 on the right.",
        theorems=(
            "Projection.v:projection_visits",
            "Projection.v:projection_terminal_law",
            "Projection.v:projection_unique",
            "Projection.v:projection_exists",
        ),
    ),
    Claim(
        id="N2",
        title="when the optimum is Markovian",
        printed=None,
        readings=(
            Reading(
                "A balanced p_F is Markovian on the states it visits iff one base policy has the "
                "law P_B(.|x) for every x with R(x) > 0.",
                "true",
            ),
        ),
        control="One base policy for x and another for y: rows (3/4, 1/4) and (1/4, 3/4) at c.",
        theorems=(
            "TimeReversal.v:time_reversal_law",
            "TimeReversal.v:markovian_only_if",
        ),
    ),
    Claim(
        id="N3",
        title="h-transform",
        printed=None,
        readings=(
            Reading(
                "p~_B(u|s) h(u, V) / h(s, W) is a normalised p_B on the lift with the trajectory "
                "law of p~_B; F*(s, W) = F~(s) h(s, W), and h sums to 1 over W.",
                "true",
            ),
        ),
        control="Lifts weighted equally instead of by h: rows 2/3 and 4/3. Without h: 1/2 and 2.",
        theorems=(
            "HTransform.v:h_transform_law",
            "HTransform.v:history_mass_sums_to_one",
        ),
    ),
    Claim(
        id="N4",
        title="copied backward policies",
        printed=None,
        readings=(
            Reading("p~_B copied onto a lift is normalised iff the lift has no memory.", "true"),
        ),
        control="p~_B not normalised: (1, 1) at c is so on the history lift of a diamond.",
        theorems=("Triviality.v:copied_policy_normalised",),
    ),
)
