"""How the inputs and outputs of a model's ONNX graph are called."""

from app.models.spec import ModelSpec


def input_names(spec: ModelSpec) -> tuple[str, ...]:
    """Returns a name for each leaf of the observation and then of the state: ``observation``, ``state/h``, …."""
    return (*spec.inputs.columns("observation"), *spec.states.columns("state"))


def output_names(spec: ModelSpec) -> tuple[str, ...]:
    """Returns a name for each leaf of the answer and then of the next state: ``dist_inputs``, ``value``, ….

    A network that is no policy answers with ``outputs``.
    """
    answers = spec.answers.paths if spec.is_policy else spec.answers.columns("outputs")
    return (*answers, *spec.states.columns("next_state"))
