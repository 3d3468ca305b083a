from app.checks.problems import check_problems
from app.config.root import ExperimentConfig
from app.models.distributions.categorical import Categorical
from app.models.spec import ArraySpec, ModelSpec
from tests.small_policy import discrete

TREE = {
    "run": {"project": "game", "trial": "one"},
    "models": {"played": {"factory": "a:b"}, "other": {"factory": "a:b"}},
    "agents": {"main": {"model": "played", "buffer": "rows"}},
    "buffers": {"rows": {}},
}
SPECS = {"played": ModelSpec({"hp": ArraySpec((1,))}, Categorical(2)), "other": discrete((2,), 2)}


def problems(**check: object) -> dict[str, str]:
    checks = {"fields": {"one": {"kind": "range", "min": 0, **check}}}
    return check_problems(ExperimentConfig.model_validate({**TREE, "checks": checks}), SPECS)


def test_a_field_is_looked_for_in_the_models_whose_rows_are_kept() -> None:
    assert problems(field="observation/hp") == {}
    assert problems(field="observation") == {}
    assert problems(field="metrics/whatever") == {}


def test_a_field_that_a_model_does_not_have_is_named_with_those_that_it_has() -> None:
    assert problems(field="observation/mp") == {
        "checks.fields.one.field": "is 'observation/mp', which the model's rows do not have; allowed are "
        "observation/hp, action, reward, log_prob, value (models.played)"
    }
    assert "(models.other)" in problems(field="observation/hp", model="other")["checks.fields.one.field"]
