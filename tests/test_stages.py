import io

from rich.console import Console

from app.stages import LINE_EVERY_S, Stages


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def shown(terminal: bool) -> tuple[Stages, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    console = Console(file=stream, force_terminal=terminal, width=80, color_system=None)
    return Stages(console, clock), stream, clock


def test_elsewhere_each_stage_is_a_plain_line_with_the_seconds_since_the_start() -> None:
    stages, stream, clock = shown(terminal=False)
    with stages:
        stages.tell("loading [weights]")
        clock.now_s += 12.34
        stages.tell("comparing")
    assert stream.getvalue() == "   0.0 s  loading [weights]\n  12.3 s  comparing\n"


def test_elsewhere_what_is_counted_is_a_line_now_and_then_and_the_last_one() -> None:
    stages, stream, clock = shown(terminal=False)
    with stages:
        for done in range(1, 101):
            clock.now_s += LINE_EVERY_S / 40
            stages.count("seeds", done, 100)
    lines = stream.getvalue().splitlines()
    assert [line.partition("s  ")[2] for line in lines] == [
        "seeds: 1 of 100",
        "seeds: 41 of 100",
        "seeds: 81 of 100",
        "seeds: 100 of 100",
    ]


def test_on_a_terminal_lines_stay_and_a_bar_moves_until_the_end() -> None:
    stages, stream, _ = shown(terminal=True)
    with stages:
        stages.tell("playing")
        stages.count("games", 3, 10)
    text = stream.getvalue()
    assert "   0.0 s  playing\n" in text
    assert "3/10" in text
    assert text.endswith(("\x1b[2K", "\x1b[1A\x1b[2K", "\x1b[?25h")) or "\x1b[?25h" in text  # The cursor is back.


def test_a_command_that_fails_gives_the_terminal_back() -> None:
    stages, stream, _ = shown(terminal=True)
    try:
        with stages:
            stages.tell("playing")
            raise KeyError  # noqa: TRY301
    except KeyError:
        pass
    assert "\x1b[?25h" in stream.getvalue()
