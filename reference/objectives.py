"""The expected losses of col:objectives and their gradients, which training estimates.

No trajectory is enumerated. `delta(tau)` is a sum over the edges of `tau`, which is drawn from a
Markov chain on the lifted DAG; with `m(s)` the mean of the remaining sum after `s`, it is the
constant `log Z + m(s_o)` plus increments `gain + m(s') - m(s)` of mean zero given the past. Squares
of such increments simply add up, and near an optimum all of them are small, so that nothing
cancels.
"""

from typing import Generic, NamedTuple

from reference.balance import Rewards, check_same_dag, positive_factors, rewards_by_node
from reference.contract.errors import checked
from reference.fields.field import T
from reference.marginals import path_sums
from reference.policies import BackwardKernel, ForwardPolicy

TAKEN = (
    "which the exploratory policy takes: the loss needs their logarithms, so all must be positive"
)


class Objective(NamedTuple, Generic[T]):
    """An expected loss, and its gradient.

    Attributes:
        loss: the loss, in nats squared.
        logits_gradient: per edge, the derivative with respect to its logit, where `p_F` is the
            soft-max of the logits of each row. The exploratory policy is held fixed.
        log_z_gradient: the derivative with respect to `log Z`; zero for the CB loss.
    """

    loss: T
    logits_gradient: list[T]
    log_z_gradient: T


@checked
def tb_objective(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    rewards: Rewards[T],
    log_z: T,
    exploratory: ForwardPolicy[T],
) -> Objective[T]:
    """The TB loss (col:objectives 1), `E_{tau ~ p_E} delta(tau)^2`.

    `delta(tau) = log Z + log p_F(tau) - log p_B(tau|x) - log R(x)`.

    Args:
        forward: `p_F` on the DAG, lifted or not, positive wherever `p_E` is.
        backward: `p_B`, a policy or a kernel, on the same DAG, positive wherever `p_E` is.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        log_z: `log Z`, in nats.
        exploratory: `p_E`, on the same DAG; `forward` itself for the on-policy loss.

    Raises:
        InputError: as the two below, if the policies live on different DAGs, a logarithm of zero is
            needed, or the field has none (use FLOAT64 or BALL).
    """
    return _Increments(forward, backward, rewards, exploratory).objective(log_z)


@checked
def cb_objective(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    rewards: Rewards[T],
    exploratory: ForwardPolicy[T],
) -> Objective[T]:
    """The CB loss (col:objectives 2), the mean of `(delta(tau) - delta(tau'))^2`.

    `tau` and `tau'` are independent draws from `p_E`, so it is twice the variance of `delta`, and
    twice the TB loss at the best `log Z` (VarGrad; Richter et al., 2020).

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        exploratory: `p_E`, on the same DAG.
    """
    increments = _Increments(forward, backward, rewards, exploratory)
    half = increments.objective(increments.best_log_z)
    two = forward.field.convert(2)
    return Objective(two * half.loss, [two * g for g in half.logits_gradient], forward.field.zero)


@checked
def optimal_log_z(
    forward: ForwardPolicy[T],
    backward: BackwardKernel[T],
    rewards: Rewards[T],
    exploratory: ForwardPolicy[T],
) -> T:
    """The `log Z` that minimises the TB loss: `E_{p_E}[log R(x) + log p_B(tau|x) - log p_F(tau)]`.

    Args:
        forward: `p_F` on the DAG, lifted or not.
        backward: `p_B`, a policy or a kernel, on the same DAG.
        rewards: `R(x)`, one per `dag.terminals`, or by state.
        exploratory: `p_E`, on the same DAG.
    """
    return _Increments(forward, backward, rewards, exploratory).best_log_z


class _Increments(Generic[T]):
    """`f(tau) = log p_F - log p_B - log R` as a sum of increments of conditional mean zero."""

    def __init__(
        self,
        forward: ForwardPolicy[T],
        backward: BackwardKernel[T],
        rewards: Rewards[T],
        exploratory: ForwardPolicy[T],
    ) -> None:
        check_same_dag(forward, backward, exploratory)
        field, dag = forward.field, forward.dag
        self.forward, self.exploratory = forward, exploratory
        reward = rewards_by_node(forward, rewards)
        self.visits = path_sums(exploratory)
        self.increment = [field.zero] * len(dag.edges)
        following = [field.zero] * len(dag.labels)
        for u in range(len(dag.labels) - 1, -1, -1):
            if not field.positive(self.visits[u]):
                continue
            taken = [e for e in dag.out_edges[u] if field.positive(exploratory.values[e])]
            for edge in taken:
                v = dag.edges[edge][1]
                p_f, *others = map(
                    field.log, positive_factors(forward, backward, reward, edge, TAKEN)
                )
                self.increment[edge] = p_f - field.sum(others) + following[v]
            following[u] = field.sum(exploratory.values[e] * self.increment[e] for e in taken)
            for edge in taken:
                self.increment[edge] = self.increment[edge] - following[u]
        self.best_log_z = field.zero - following[0]

    def objective(self, log_z: T) -> Objective[T]:
        """The TB loss at `log_z`, and its gradient."""
        dag, field, p_e = self.forward.dag, self.forward.field, self.exploratory.values
        (log_z,) = field.numbers([log_z], "log Z")
        two, constant = field.convert(2), log_z - self.best_log_z
        # E[(sum of the increments before s) 1(s is visited)], per node.
        before = [field.zero] * len(dag.labels)
        loss = constant * constant
        delta = [field.zero] * len(dag.edges)  # E[delta(tau) 1(the edge is on tau)]
        for edge, (u, v) in enumerate(dag.edges):
            increment = self.increment[edge]
            loss = loss + self.visits[u] * p_e[edge] * increment * increment
            here = p_e[edge] * (before[u] + self.visits[u] * increment)
            delta[edge] = here + constant * self.visits[u] * p_e[edge]
            before[v] = before[v] + here
        gradient = [field.zero] * len(dag.edges)
        for row in dag.out_edges:
            through = field.sum(delta[edge] for edge in row)
            for edge in row:
                gradient[edge] = two * (delta[edge] - self.forward.values[edge] * through)
        return Objective(loss, gradient, two * constant)
