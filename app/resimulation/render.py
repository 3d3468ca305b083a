"""A comparison beside the pictures of a replay."""

from html import escape
from typing import Any

from app.render.frame import Frame, Render
from app.resimulation.comparison import Comparison


def against_render(comparison: Comparison) -> Render:
    """Returns what shows at each tick how it was played, and how the other model plays it."""
    ticks = {tick.seq: tick for tick in comparison.ticks}
    differing = [tick.seq for tick in comparison.differing]

    def drawn(frame: Frame, /) -> str:
        tick = ticks.get(frame.step.seq)
        if tick is None:
            return "<p>No tick.</p>"
        rows: dict[str, tuple[Any, Any]] = {
            "action": (tick.action, tick.other_action),
            f"probability of {tick.action}": (_rounded(tick.probability), _rounded(tick.other_probability)),
            "value": (tick.value, tick.other_value),
        }
        body = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(mine))}</td><td>{escape(str(theirs))}</td></tr>"
            for name, (mine, theirs) in rows.items()
        )
        verdict = tick.error or ("acts differently" if tick.differs else "acts alike")
        following = next((seq for seq in differing if seq > tick.seq), None)
        hint = "" if following is None else f"; next other action at step {following}"
        kl = "" if tick.kl is None else f", KL {tick.kl:.4f} nats"
        return (
            f"<p>{escape(comparison.against)} {escape(verdict)}{kl}{hint}</p>"
            f"<table><tr><th></th><th>version {escape(str(tick.version))}</th>"
            f"<th>{escape(comparison.against)}</th></tr>{body}</table>"
        )

    return drawn


def _rounded(probability: float | None) -> str:
    return "unknown" if probability is None else f"{probability:.3f}"
