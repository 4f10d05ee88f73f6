"""Phylogenetic trees by parsimony as array code."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fast.environments.base import ENVIRONMENTS, AbstractSizedEnvironment
from reference.problems import Phylogeny
from reference.problems.phylogeny import Forest, Tree


class ForestState(NamedTuple):
    """A forest: the inner nodes, each by the least leaf of its right child, in a canonical form.

    `joined` has the leaves below that node, as bits; 0 where there is no such node yet.
    """

    joined: Int[Array, " taxa"]


class PhylogenyEnvironment(AbstractSizedEnvironment[ForestState]):
    """Trees joined two by two.

    Action `(i, j)`, `i < j`, in the order of `left` and `right`, joins the trees whose least leaves
    are i and j; backward action i splits the tree whose least leaf is i.

    Attributes:
        letters: for each taxon and pattern of the alignment, its possible letters as bits.
        times: how often each pattern occurs.
        least: the changes that no tree does without.
        log_weight: the logarithm of the weight of a change.
    """

    is_graded = True

    letters: Int[Array, "taxa patterns"]
    times: Int[Array, " patterns"]
    least: Int[Array, ""]
    log_weight: Float[Array, ""]
    left: Int[Array, " actions"]
    right: Int[Array, " actions"]

    @classmethod
    def from_problem(cls, problem: Phylogeny) -> "PhylogenyEnvironment":
        """The environment with the parameters of `problem`."""
        taxa = len(problem.names)
        columns = [column for column, _ in problem.patterns]
        left, right = np.triu_indices(taxa, 1)
        return cls(
            letters=jnp.array(np.reshape(columns, (-1, taxa)).T, jnp.int32),
            times=jnp.array([times for _, times in problem.patterns], jnp.int32),
            least=jnp.int32(problem.least),
            log_weight=jnp.float32(-problem.cost),
            left=jnp.asarray(left, jnp.int32),
            right=jnp.asarray(right, jnp.int32),
            horizon=taxa - 1,
            actions=len(left),
            parents=taxa,
        )

    def initial(self) -> ForestState:
        return ForestState(jnp.zeros(self.parents, jnp.int32))

    def step(self, state: ForestState, action: Int[Array, ""]) -> ForestState:
        tops = self._tops(state)
        union = tops[self.left[action]] | tops[self.right[action]]
        here = (jnp.arange(self.parents) == self.right[action]) & ~self.is_terminal(state)
        return ForestState(jnp.where(here, union, state.joined))

    def backward_step(self, state: ForestState, parent: Int[Array, ""]) -> ForestState:
        return ForestState(jnp.where(state.joined == self._tops(state)[parent], 0, state.joined))

    def undo(self, state: ForestState, action: Int[Array, ""]) -> Int[Array, ""]:
        return self.left[action]

    def redo(self, state: ForestState, parent: Int[Array, ""]) -> Int[Array, ""]:
        other = jnp.argmax(state.joined == self._tops(state)[parent])
        return jnp.argmax((self.left == parent) & (self.right == other)).astype(jnp.int32)

    def mask(self, state: ForestState) -> Bool[Array, " actions"]:
        is_least = self._is_least(state)
        return is_least[self.left] & is_least[self.right] | self.is_terminal(state)

    def parent_mask(self, state: ForestState) -> Bool[Array, " parents"]:
        return self._is_least(state) & (self._tops(state) != self._leaves)

    def is_terminal(self, state: ForestState) -> Bool[Array, ""]:
        return jnp.any(state.joined == 2**self.parents - 1)

    def random_terminal(self, key: PRNGKeyArray) -> ForestState:
        """Leaf by leaf, above any of the nodes before it: each tree comes about in one way."""
        joined = self.initial().joined
        for k in range(1, self.parents):
            node = jax.random.randint(jax.random.fold_in(key, k), (), 0, 2 * k - 1)
            below = jnp.where(node < k, 1 << node, joined[jnp.maximum(node - k + 1, 0)])
            above = (joined & below == below) & (joined != below)
            joined = jnp.where(above, joined | 1 << k, joined).at[k].set(below | 1 << k)
        return ForestState(joined.astype(jnp.int32))

    def observe(self, state: ForestState) -> Float[Array, " features"]:
        return (state.joined[1:, None] & self._leaves > 0).astype(jnp.float32).reshape(-1)

    def log_reward(self, state: ForestState) -> Float[Array, ""]:
        def join(letters: Array, node: Array) -> tuple[Array, Array]:
            below = state.joined[node] & self._leaves > 0
            a, b = letters[jnp.argmax(below)], letters[node]
            union = jnp.where(a & b, a & b, a | b)
            return jnp.where(below[:, None], union, letters), jnp.sum(self.times * (a & b == 0))

        # Nodes come after those below them; the first is no node.
        order = jnp.argsort(state.joined)[1:]
        return self.log_weight * (jnp.sum(jax.lax.scan(join, self.letters, order)[1]) - self.least)

    def encode(self, label: Forest) -> ForestState:
        joined = np.zeros(self.parents, np.int32)

        def enter(tree: Tree) -> tuple[int, int]:
            """The leaves of a tree, and the least of them."""
            if isinstance(tree, int):
                return 1 << tree, tree
            (left, least), (right, other) = map(enter, tree)
            joined[other] = left | right
            return left | right, least

        for tree in label.trees:
            enter(tree)
        return ForestState(joined)  # type: ignore[arg-type]

    def decode(self, state: ForestState) -> Forest:
        joined = np.asarray(state.joined)
        trees: dict[int, Tree] = {leaf: leaf for leaf in range(self.parents)}
        for node in np.argsort(joined, stable=True).tolist():
            if leaves := int(joined[node]):
                least = (leaves & -leaves).bit_length() - 1
                trees[least] = (trees[least], trees.pop(node))
        return Forest(tuple(trees[least] for least in sorted(trees)))

    @property
    def _leaves(self) -> Int[Array, " taxa"]:
        return 1 << jnp.arange(self.parents, dtype=jnp.int32)

    def _tops(self, state: ForestState) -> Int[Array, " taxa"]:
        """For each leaf, the leaves of its tree: nodes above others are larger as integers."""
        above = state.joined & self._leaves[:, None] > 0
        return jnp.maximum(jnp.max(jnp.where(above, state.joined, 0), axis=1), self._leaves)

    def _is_least(self, state: ForestState) -> Bool[Array, " taxa"]:
        """True for each leaf that is the least of its tree."""
        return self._tops(state) & (self._leaves - 1) == 0


ENVIRONMENTS[Phylogeny] = PhylogenyEnvironment
