from train.utilisation import Utilisation


def test_the_share_of_time_that_was_not_waited_is_told_for_each_stretch() -> None:
    now = [0.0]
    utilisation = Utilisation(lambda: now[0])
    now[0] = 4.0
    utilisation.waited(1.0)
    assert utilisation.take() == 0.75
    now[0] = 6.0
    assert utilisation.take() == 1.0


def test_a_wait_that_began_before_the_stretch_leaves_nothing_of_it() -> None:
    now = [0.0]
    utilisation = Utilisation(lambda: now[0])
    now[0] = 1.0
    utilisation.waited(30.0)
    assert utilisation.take() == 0.0
    assert utilisation.take() == 1.0
