import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.checks.stuck import Stuck

NEW = np.array([True, False, False, False])
ON = np.zeros(4, np.bool_)


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


def test_the_row_that_makes_the_run_long_enough_is_the_first_that_is_wrong() -> None:
    fault = Stuck(3, each_element=False).look(column(5, 7, 7, 7), NEW)
    assert fault is not None
    assert fault.rows is not None
    assert (fault.row, fault.value, fault.rows.tolist()) == (3, 7, [False, False, False, True])
    assert fault.allowed == "a change within 3 rows"


def test_a_start_ends_the_run_although_the_value_is_the_same() -> None:
    check = Stuck(3, each_element=False)
    assert check.look(column(7, 7, 7, 7), np.array([True, False, True, False])) is None


def test_a_run_goes_on_over_calls() -> None:
    check = Stuck(6, each_element=False)
    assert check.look(column(1, 2, 2, 2), NEW) is None
    fault = check.look(column(2, 2, 2, 3), ON)
    assert fault is not None
    assert fault.rows is not None
    assert fault.rows.tolist() == [False, False, True, False]


def test_by_default_all_elements_must_stay() -> None:
    values = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert Stuck(3, each_element=False).look(values, NEW) is None
    fault = Stuck(3, each_element=True).look(values, NEW)
    assert fault is not None
    assert (fault.row, fault.element) == (2, 0)


@given(
    st.lists(st.tuples(st.integers(0, 1), st.booleans()), min_size=1, max_size=40),
    st.integers(2, 5),
    st.integers(1, 39),
)
def test_it_finds_what_counting_one_by_one_finds(rows: list[tuple[int, bool]], length: int, cut: int) -> None:
    wanted, run, last = [], 0, None
    for value, start in rows:
        run = run + 1 if value == last and not start else 1
        last = value
        wanted.append(run >= length)
    check, found = Stuck(length, each_element=False), []
    for part in (rows[:cut], rows[cut:]):
        if part:
            fault = check.look(column(*(value for value, _ in part)), np.array([start for _, start in part]))
            found += [False] * len(part) if fault is None or fault.rows is None else fault.rows.tolist()
    assert found == wanted
