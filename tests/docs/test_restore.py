"""docs/models.md: training goes on from whatever ``--restore`` names."""

import pytest

from app.models.checkpoints import trainer_folder, updates_of, whole_checkpoints

from .blocks import block_of
from .reader import reader_of_a_copy
from .readme import Block, change

SMALL = {"batch_rows": 256, "algorithm": {"kind": "ppo", "epochs": 1, "minibatch_rows": 256}}
"""Updates that take a moment."""
SAVED, WHOLE = 500, 510
"""Updates of the checkpoint that the page names, and those after which training from it is to end."""
FEW = 20
"""Updates after which training is to end that begins with weights alone."""
TRAIN = "python -m train --config configs/rl.yaml"
GAME_CORE = "python -m app.client --url http://127.0.0.1:{port} --env CartPole-v1 --games 8 --purpose train"


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page_go_on_from_what_they_name() -> None:
    block = block_of("docs/models.md", "--restore latest")
    with reader_of_a_copy("restore-") as reader:
        terminal, port = reader.terminal, reader.ports["36390"]
        change(reader.configs / "rl.yaml", trainers__main__checkpoints__every_updates=SAVED)
        change(reader.configs / "rl.yaml", trainers__main__inputs=[{"buffer": "rollouts", **SMALL}])
        change(reader.configs / "rl.yaml", trainers__main__max_updates=SAVED)
        terminal.do(Block("serve run serve_config.yaml", "", ("port", port)))
        terminal.do(Block(GAME_CORE.format(port=port), "", ("background",)))
        here = {"RAY_ADDRESS": reader.cluster(), "RAY_AUTH_MODE": "token"}
        for command in (TRAIN, "sparring status"):  # Who has not read that a token is asked for is told so.
            assert "export RAY_AUTH_MODE=token" in terminal.run(f"! {command}", RAY_ADDRESS=reader.cluster())
        terminal.run(TRAIN, **here)
        saved = trainer_folder(reader.folder / "home" / ".sparring" / "cartpole" / "rl", "main")
        for number, line in enumerate(block.text.splitlines(), start=2):
            weights_alone = "models:/" in line  # Without the number of updates that had made them.
            whole = FEW if weights_alone else WHOLE
            change(reader.configs / "rl.yaml", trainers__main__max_updates=whole)
            output = terminal.run(line, **here)
            assert f"registered version {number} of main as the champion" in output
            assert updates_of(whole_checkpoints(saved)[-1]) == whole
