import pytest

from app.config.training import TrainerConfig
from app.config.tuned import tunable, tuned

TRAINER = TrainerConfig.model_validate(
    {
        "model": "main",
        "inputs": [
            {"buffer": "one", "algorithm": {"kind": "ppo", "entropy_coef": 0.01}},
            {"buffer": "two", "algorithm": {"kind": "dqn", "gamma": 0.9}},
        ],
        "optimizer": {"kind": "adam", "learning_rate": 1e-3},
    }
)


def test_numbers_come_to_their_places_and_all_else_stays() -> None:
    changed = tuned(TRAINER, {"learning_rate": 5e-4, "entropy_coef": 0.5, "gamma": 0.8, "temperature": 2.0})
    assert changed.optimizer.learning_rate == 5e-4
    assert [one.algorithm.gamma for one in changed.inputs] == [0.8, 0.8]
    assert changed.inputs[0].algorithm.model_dump()["entropy_coef"] == 0.5
    back = {"learning_rate": 1e-3, "entropy_coef": 0.01}
    first = TRAINER.inputs[0].algorithm.gamma
    again = tuned(changed, back).model_dump()
    again["inputs"][0]["algorithm"]["gamma"] = first
    again["inputs"][1]["algorithm"]["gamma"] = 0.9
    assert again == TRAINER.model_dump()


def test_which_names_are_a_trainers_numbers() -> None:
    known = [
        name
        for name in ("learning_rate", "entropy_coef", "gamma", "epochs", "kind", "temperature", "model")
        if tunable(TRAINER, name)
    ]
    assert known == ["learning_rate", "entropy_coef", "gamma"]


@pytest.mark.parametrize(("name", "value"), [("gamma", 1.5), ("learning_rate", -1.0), ("entropy_coef", float("nan"))])
def test_a_value_out_of_its_range_is_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        tuned(TRAINER, {name: value})
