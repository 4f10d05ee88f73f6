"""What each kind of case gives and asserts: the words of the manifest and of the README."""

KINDS: dict[str, dict[str, str]] = {
    "sampler": {
        "about": "A forward policy, a backward policy, flows and rewards on one graph, and "
        "everything that follows from them.",
        "graph": "`states` (names), `edges` (pairs of state numbers, parent first), `initial` "
        "(always 0), `terminals` (the states without children). States are in topological order, "
        "edges in the order of their parents. What is given per edge, state or terminal is a list "
        "in these orders.",
        "lift": "Present if the graph is a lift: its `base` graph, `projection` (the base state "
        "below each state) and `base_edge` (the base edge below each edge).",
        "rewards": "`R(x)` per terminal.",
        "p_f": "`p_F(s'|s)` per edge.",
        "p_b": "`p_B(s|s')` per edge. If `p_b_kind` is `policy`, it sums to 1 over the parents of "
        "each state; if `copied`, it is `base_p_b`, a policy on the base graph, evaluated on the "
        "base edge below each edge; if `kernel`, it is any weights.",
        "flow": "`F(s)` per state; `F(x) = R(x)`, and `Z` is the flow of the initial state.",
        "trajectories": "Every complete trajectory `tau`, as the numbers of its edges.",
        "expected.reward_sum": "`sum_x R(x)`, the `Z` of a balanced sampler of p_b_kind `policy` "
        "or `copied`.",
        "expected.target": "`R(x) / sum_x R(x)` per terminal.",
        "expected.state_visits": "The probability under `p_F` of visiting each state.",
        "expected.marginal": "`p_T(x)`, the probability of ending in each terminal.",
        "expected.total_variation": "`1/2 sum_x |p_T(x) - target(x)|`.",
        "expected.p_b_row_sums": "The sum of `p_B` over the edges into each state; null for the "
        "initial state.",
        "expected.p_b_mass": "`b(x)`, the sum of `p_B(tau|x)` over the trajectories to `x`, per "
        "terminal; `p_B(tau|x)` is the product over edges. It is 1 for a policy.",
        "expected.tb": "Trajectory balance: `Z p_F(tau) - R(x) p_B(tau|x)` per trajectory.",
        "expected.cb": "Contrastive balance: `[i, j, p_F(i) p_B(j|x_j) R(x_j) - p_F(j) p_B(i|x_i) "
        "R(x_i)]` for each pair i < j of trajectories. Left out above 12 trajectories.",
        "expected.db": "Detailed balance: `F(s) p_F(s'|s) - F(s') p_B(s|s')` per edge.",
        "expected.fm": "Flow matching: `sum_u F(u) p_F(s|u) - F(s)` per state; null for the "
        "initial state.",
        "expected.subtb": "Subtrajectory balance: `[edges, F(s_i) p_F - p_B F(s_j)]` for each path "
        "of one edge or more, with the products of its edges. Left out above 600 paths.",
        "expected.forced": "What trajectory balance with this `p_B` and `R` makes of `p_F`: `z` = "
        "`sum_x R b`, `flow`, `p_f` (null where no flow goes and the row is free), and `marginal` "
        "= `R b / z`.",
        "expected.markov_projection": "Of a lift: the policy on the base graph with the same edge "
        "flows, `sum_W u(s, W) p_F(s'|s, W) / sum_W u(s, W)` per base edge, `u` the visits; null "
        "where s is never visited. It has the same marginal.",
        "expected.h_transform": "Of a `copied` p_B: the policy on the lift with the same law of "
        "trajectories, `p_B h(parent) / h(child)` per edge, `h(s)` the sum of `p_B` over the "
        "paths from the initial state to s; null where `h(child) = 0`.",
        "log": "Numbers in float64; null if some p_F, p_B, R or F is zero.",
        "log.tb": "`log Z + log p_F(tau) - log R(x) - log p_B(tau|x)` per trajectory, in nats.",
        "log.db": "`log F(s) + log p_F(s'|s) - log F(s') - log p_B(s|s')` per edge.",
        "log.loss": "Over the batch in which every complete trajectory occurs once: `tb`, the mean "
        "square of log.tb; `cb`, the mean of `(tb_i - tb_j)^2` over pairs i < j, which is twice "
        "the variance with divisor n - 1 (null if there is one trajectory); `db`, the mean square "
        "of log.db over all steps of all trajectories; `subtb`, the mean over trajectories of the "
        "mean over pairs i < j of its states, weighted by `0.9^(j-i)`, of the squared sum of "
        "log.db from i to j.",
        "log.tb_gradient": "The gradient of loss.tb: `logits` per edge, `p_F` being the soft-max "
        "of the logits of each state; `log_z` by `log Z`.",
        "log.tolerance": "Bounds on the absolute error that rounding can cause, in `float64` and "
        "`float32`, for `residual` (log.tb, log.db), each loss, and `tb_gradient`.",
    },
    "combination": {
        "about": "Samplers on lifts of one base graph, combined into one.",
        "base": "The base graph, with its `trajectories`; each sampler evaluates p_F and p_B on "
        "the one trajectory of its own graph that lies above.",
        "clients": "Per client: `graph`, `projection` and `base_edge` as in a lift, `p_f`, `p_b`, "
        "and the `rewards` with which it is balanced.",
        "combined": "The sampler that combines them.",
        "expected.aggregated": "`[i, j, r(i) prod_t r_t(j) - r(j) prod_t r_t(i)]` for each pair "
        "i < j, with `r = p_F / p_B` of the combined sampler and r_t of the clients, multiplied by "
        "all denominators.",
        "expected.target": "The normalised product of the clients' rewards, per terminal.",
        "expected.marginal": "The terminal law of the combined sampler.",
        "expected.client_marginals": "Those of the clients.",
    },
    "refusal": {
        "about": "An input that must be refused.",
        "rule": "The rule that `refused` breaks, and `accepted` does not.",
        "refused": "A `graph` and, in part, `p_f`, `p_b` (a policy), `rewards`, `lift`, as in a "
        "sampler; where there is no `lift`, states may be in any order.",
        "accepted": "The same, repaired: must be accepted.",
    },
}
