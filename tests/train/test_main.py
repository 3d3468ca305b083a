from app.logs.setting_up import OURS
from train import __main__ as module


def test_what_the_command_logs_is_ours_although_its_module_is_called_main() -> None:
    assert module._log.name.partition(".")[0] in OURS
