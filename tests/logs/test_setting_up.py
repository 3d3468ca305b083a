import json
import logging
from collections.abc import Iterator

import pytest

from app.config.logs import LogsConfig
from app.errors import ConfigError
from app.logs.entry import Source
from app.logs.setting_up import OURS, log_format, set_up_logs


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Gives all loggers back as they were."""
    root, names = logging.getLogger(), [*OURS, "my_game"]
    handlers, levels = list(root.handlers), {name: logging.getLogger(name).level for name in names}
    yield
    root.handlers[:] = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_each_process_writes_what_the_config_says_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        set_up_logs(LogsConfig(format="json", level="info"), Source("p.t", "stores"), {})
    logging.getLogger("deployments.x").info("seen")
    logging.getLogger("deployments.x").debug("too little")
    logging.getLogger("my_game").info("not asked for")
    logging.getLogger("ray.serve").error("has a handler of its own")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["message"], line["process"]) for line in lines] == [("seen", "stores")]


def test_loggers_of_the_users_code_have_levels_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(LogsConfig(loggers={"my_game": "debug"}), Source(), {})
    logging.getLogger("my_game.agent").debug("seen")
    assert capsys.readouterr().err.endswith("DEBUG my_game.agent: seen\n")


def test_the_environment_comes_before_the_config() -> None:
    assert log_format(LogsConfig(), {"SPARRING_LOG_FORMAT": "json"}) == "json"
    assert log_format(LogsConfig(format="json"), {"SPARRING_LOG_FORMAT": ""}) == "json"
    with pytest.raises(ConfigError, match="SPARRING_LOG_FORMAT is 'xml'; allowed are text, json"):
        log_format(LogsConfig(), {"SPARRING_LOG_FORMAT": "xml"})
