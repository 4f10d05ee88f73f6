"""The strategies draw valid objects, reach the shapes that matter, and shrink to a path."""

from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from reference import LiftedDAG, PointedDAG, pointed_dag
from verify.lib.strategies import lifted_dags, pointed_dags

# What is drawn is valid by construction, so that more examples would add little.
few = settings(max_examples=min(100, settings().max_examples))
first_found = settings(phases=[Phase.generate])


@few
@given(pointed_dags())
def test_every_drawn_dag_is_pointed(dag: PointedDAG[int]) -> None:
    pointed_dag({u: dag.children[u] for u in dag.labels}, initial=0)


@few
@given(lifted_dags())
def test_every_drawn_lift_covers_its_base(lifted: LiftedDAG[int]) -> None:
    assert set(lifted.projection) == set(range(len(lifted.base.labels)))


def test_a_diamond_is_found() -> None:
    dag = find(
        pointed_dags(), lambda dag: any(len(row) > 1 for row in dag.in_edges), settings=first_found
    )
    assert dag.trajectory_count >= 2


def test_a_lift_with_memory_is_found() -> None:
    lifted = find(lifted_dags(6), lambda lifted: len(lifted.projection) > len(lifted.base.labels))
    # Four states suffice: two paths into one that is not terminal. Shrinking is local, so that
    # it ends at five is good enough for reading.
    assert len(lifted.base.labels) <= 5


def test_a_lift_that_merges_some_histories_but_not_all_is_found() -> None:
    def merges(lifted: LiftedDAG[int]) -> bool:
        remembers = len(lifted.projection) > len(lifted.base.labels)
        inner = [v for v, row in enumerate(lifted.dag.children) if row]
        return remembers and any(len(lifted.dag.in_edges[v]) > 1 for v in inner)

    find(lifted_dags(), merges, settings=first_found)


def test_dags_shrink_to_the_shortest_path() -> None:
    assert find(pointed_dags(), lambda _: True).edges == ((0, 1),)
    assert find(pointed_dags(), lambda dag: len(dag.labels) >= 4).edges == ((0, 1), (1, 2), (2, 3))


@few
@given(st.data())
def test_drawn_lifts_have_the_trajectories_of_their_base(data: st.DataObject) -> None:
    lifted = data.draw(lifted_dags(6))
    assert lifted.dag.trajectory_count == lifted.base.trajectory_count
