"""Released versions over the game port: following, refusing, trying, taking back."""

import itertools
import json
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from deployments.operate import release_commands
from deployments.operate.commands import status as status_command

from .broken_models import NOT_FINITE, RAISING, SLOW
from .releasing import Registered, infinite_answer, not_finite, play, released, weights
from .service import Cluster, Service, observation, step, wait_until

pytestmark = pytest.mark.ray

PLAYED_S = 120.0
"""Longest play until a version is rolled back or has its games."""
TRIED = (
    "models.main.release.challenger=challenger",
    "models.main.release.share=0.3",
    "models.main.release.roll_back.max_return_loss=0.5",
)


def standing(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = service.status()["releases"]["main"]
    return found


def test_an_alias_that_moves_is_followed_by_new_games_and_a_game_keeps_its_version(cluster: Cluster) -> None:
    registered = Registered(cluster, "following.main")
    first = registered.add(weights(), "champion")
    with released(cluster, registered) as service:
        assert standing(service)["champion"] == f"0.{first}"
        service.step("old", "start")
        assert service.step("old", "tick", observation()).headers["policy_version"] == f"0.{first}"
        second = registered.add(weights(1), "champion")
        wait_until(lambda: standing(service)["champion"] == f"0.{second}", "the new champion is followed")
        assert service.step("old", "tick", observation()).headers["policy_version"] == f"0.{first}"
        service.step("new", "start")
        assert service.step("new", "tick", observation()).headers["policy_version"] == f"0.{second}"
        assert set(standing(service)["loaded"]) == {f"0.{first}", f"0.{second}"}
        service.step("old", "stop")
        wait_until(lambda: standing(service)["loaded"] == [f"0.{second}"], "the old version is let go")


def test_a_broken_version_never_replaces_a_good_one(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    registered = Registered(cluster, "refusing.main")
    good = registered.add(weights(), "champion")
    with released(cluster, registered) as service:
        broken = {
            registered.add(not_finite(), "champion"): "not finite: critic.4.bias",
            registered.add(infinite_answer(), "champion"): "answer to zeros is not finite: value",
            registered.add(weights(), "champion", spec_hash="0123"): "with the shapes 0123",
            registered.add({"policy.0.weight": weights()["policy.0.weight"]}, "champion"): "do not fit the model",
            registered.add_damaged("champion"): "holds no model",
        }
        for number, reason in broken.items():
            registered.client.set_registered_model_alias(registered.name, "champion", str(number))
            wait_until(lambda n=number: f"0.{n}" in standing(service)["refused"], f"version {number} is refused")
            assert reason in standing(service)["refused"][f"0.{number}"]
            assert standing(service)["champion"] == f"0.{good}"
        assert play(service.http, ["on"]) == {f"0.{good}": 1}
        status_command(json_=True)
        shown = json.loads(capsys.readouterr().out.splitlines()[-1])["trials"]
        release = next(trial for trial in shown if trial["trial"] == "refusing")["releases"]["main"]
        assert release["counts"]["versions_refused"] == len(broken)
        status_command(json_=False)
        assert f"refused 0.{min(broken)}: its weights are not finite" in capsys.readouterr().out


def games(service: Service, until: Any, what: str) -> Counter[str]:
    """Plays frames of 20 games until something is so, and returns how many games each version has played."""
    played: Counter[str] = Counter()
    end_s = time.monotonic() + PLAYED_S
    for number in itertools.count():
        played += play(service.http, [f"{number}.{game}" for game in range(20)])
        if until(played):
            return played
        assert time.monotonic() < end_s, f"{what}: not within {PLAYED_S:g} s, {played}"
    raise AssertionError


def test_a_worse_challenger_is_taken_back_by_itself_and_stays_so(cluster: Cluster) -> None:
    registered = Registered(cluster, "worse.main")
    good = registered.add(weights(), "champion")
    bad = registered.add(weights(head=0.0), "challenger")
    with released(cluster, registered, *TRIED) as service:
        wait_until(lambda: standing(service)["challenger"] == f"0.{bad}", "the challenger is tried")
        played = games(service, lambda _: f"0.{bad}" in standing(service)["rolled_back"], "it is rolled back")
        assert played[f"0.{bad}"] >= 50
        assert "more than 0.5 below the champion's" in standing(service)["rolled_back"][f"0.{bad}"]
        assert (standing(service)["challenger"], standing(service)["share"]) == (None, 0.0)
        wait_until(lambda: "rolled_back" in registered.tags(bad), "it is marked in MLflow")
        assert registered.named("challenger") == bad
        assert play(service.http, [f"after.{game}" for game in range(40)]) == {f"0.{good}": 40}
        better = registered.add(weights(2), "challenger")
        wait_until(lambda: standing(service)["challenger"] == f"0.{better}", "another version is tried")


def test_a_good_challenger_stays_and_is_promoted_and_taken_back_by_hand(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    registered = Registered(cluster, "good.main")
    old = registered.add(weights(), "champion")
    new = registered.add(weights(1), "challenger")
    with released(cluster, registered, *TRIED) as service:
        wait_until(lambda: standing(service)["challenger"] == f"0.{new}", "the challenger is tried")
        played = games(service, lambda played: played[f"0.{new}"] > 120, "it plays")
        assert standing(service)["rolled_back"] == {}
        assert 0.2 < played[f"0.{new}"] / played.total() < 0.4

        def counted() -> dict[str, Any]:
            release_commands.status(trial="cartpole.good", json_=True)
            return json.loads(capsys.readouterr().out)["models"]["main"]["versions"]  # type: ignore[no-any-return]

        wait_until(lambda: counted()[f"0.{new}"]["games"] == played[f"0.{new}"], "all its games are counted")
        assert counted()[f"0.{new}"] | {"mean_return": 0} == {
            "starts": played[f"0.{new}"],
            "games": played[f"0.{new}"],
            "ticks": 10 * played[f"0.{new}"],
            "errors": 0,
            "deadline_misses": 0,
            "mean_return": 0,
        }
        assert counted()[f"0.{new}"]["mean_return"] > 9.5
        release_commands.promote(trial="cartpole.good")
        assert f"champion 0.{new}" in capsys.readouterr().out
        assert registered.named("champion") == new
        wait_until(lambda: standing(service)["champion"] == f"0.{new}", "the new champion plays")
        release_commands.rollback("main", trial="cartpole.good")
        assert registered.named("champion") == old
        wait_until(lambda: standing(service)["champion"] == f"0.{old}", "the old champion plays again")
        with pytest.raises(Exception, match="previous_champion"):
            release_commands.rollback(trial="cartpole.good")


def test_a_shadow_changes_no_byte_whatever_it_does(cluster: Cluster) -> None:
    registered = Registered(cluster, "shadow.main", "models.main.factory=broken_models:moody")

    def moody(mood: int, alias: str) -> int:
        return registered.add(weights() | {"mood": np.full(1, mood, np.float32)}, alias)

    moody(0, "champion")
    carts = np.random.default_rng(1).normal(size=(40, 4)).tolist()
    with released(cluster, registered, "models.main.release.shadow=shadow") as service:

        def replies() -> list[tuple[bytes, str, str]]:
            service.step("s", "start", purpose="evaluate")
            found = [service.step("s", "tick", {"observation": cart}) for cart in carts]
            service.step("s", "stop")
            return [(r.content, r.headers["policy_version"], r.headers["seq"]) for r in found]

        def compared(version: int) -> dict[str, Any]:
            found = service.trial.operator().status()["main"]["shadows"]
            return found.get(f"0.{version}", {"compared": 0, "failed": 0, "dropped": 0})  # type: ignore[no-any-return]

        unwatched = replies()
        for mood, counted in ((0, "compared"), (RAISING, "failed"), (NOT_FINITE, "failed"), (SLOW, "compared")):
            version = moody(mood, "shadow")
            wait_until(lambda v=version: standing(service)["shadow"] == f"0.{v}", "the shadow is asked")
            assert replies() == unwatched
            wait_until(lambda v=version, c=counted: compared(v)[c] > 0, f"mood {mood} is counted as {counted}")


@pytest.mark.long
def test_a_challenger_that_disagrees_is_taken_back_before_it_ever_answers(cluster: Cluster) -> None:
    registered = Registered(cluster, "disagreeing.main", "models.main.engine=onnx", "actors.main.replicas=2")
    good = registered.add(weights(), "champion")
    bad = registered.add(weights(head=-1.0), "challenger")
    watched = (
        "models.main.release.challenger=challenger",
        "models.main.release.shadow=challenger",
        "models.main.release.roll_back.min_agreement=0.95",
        "models.main.release.roll_back.min_ticks=100",
    )
    with released(cluster, registered, *watched) as service:
        wait_until(lambda: standing(service)["shadow"] == f"0.{bad}", "the challenger is asked")
        played = games(service, lambda _: f"0.{bad}" in standing(service)["rolled_back"], "it is rolled back")
        assert set(played) == {f"0.{good}"}
        assert "agreement" in standing(service)["rolled_back"][f"0.{bad}"]


def test_a_challenger_that_raises_is_taken_back_and_the_champions_games_feel_nothing(cluster: Cluster) -> None:
    registered = Registered(cluster, "raising.main", "models.main.factory=broken_models:moody")

    def moody(mood: int, alias: str) -> int:
        return registered.add(weights() | {"mood": np.full(1, mood, np.float32)}, alias)

    good, bad = moody(0, "champion"), moody(RAISING, "challenger")
    tried = (*TRIED, "models.main.release.share=0.5", "models.main.release.roll_back.min_ticks=50")
    with released(cluster, registered, *tried) as service:
        wait_until(lambda: standing(service)["challenger"] == f"0.{bad}", "the challenger is tried")
        codes: Counter[tuple[bool, int]] = Counter()
        end_s = time.monotonic() + PLAYED_S
        for number in itertools.count():
            if f"0.{bad}" in standing(service)["rolled_back"]:
                break
            assert time.monotonic() < end_s, f"not rolled back, {codes}"
            name = f"game.{number}"
            service.step(name, "start")
            first = step(service.http, name, "tick", observation())
            good_one = first.headers.get("policy_version") == f"0.{good}"
            codes.update((good_one, step(service.http, name, "tick", observation()).status_code) for _ in range(3))
            step(service.http, name, "stop")
        assert set(codes) == {(True, 200), (False, 500)}
        assert "error rate" in standing(service)["rolled_back"][f"0.{bad}"]
