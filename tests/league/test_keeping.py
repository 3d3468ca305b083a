"""A folder gives back the league that was written into it."""

from pathlib import Path

import pytest

from app.errors import LeagueError
from app.league.about import write_about
from app.league.events import Event, to_bytes
from app.league.image import Image, image_of
from app.league.journal import Journal, segment_path, segments
from app.league.keeping import history, restore, save, snapshot_path, snapshots
from app.league.league import League
from app.league.matches import Reply
from tests.league.leagues import WIN, begun, freeze, play, settings_of

SETTINGS = settings_of()


def told(image: Image) -> object:
    return image.told, image.payoff.players, image.payoff.wins.tolist(), image.payoff.games.tolist()


class Kept:
    """A league that is written down as its store does it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.segment, self.events = folder, 1, list[Event]()
        self.journal = Journal(folder, 1, fsync=False)
        self.league = begun(SETTINGS, self._take)

    def _take(self, event: Event) -> None:
        self.events.append(event)
        self.journal.append(to_bytes(event))

    def play(self, matches: int = 1) -> None:
        for _ in range(matches):
            play(self.league, "exploiter", WIN)
        self.journal.write()

    def save(self, keep_bytes: int | None = None) -> None:
        self.segment += 1
        self.journal.rotate(self.segment)
        self.journal.write()
        save(self.folder, self.segment, image_of(self.league.state), keep_bytes)

    def same(self, league: League | None = None) -> bool:
        found = restore(self.folder, SETTINGS).state if league is None else league.state
        return told(image_of(found)) == told(image_of(self.league.state))


def test_nothing_gives_a_league_that_has_not_begun(tmp_path: Path) -> None:
    found = restore(tmp_path / "nowhere", SETTINGS)
    assert (found.segment, found.events, found.snapshot, found.state.token) == (1, 0, None, "")


def test_snapshot_and_journal_together_are_the_league(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.play()
    assert kept.same()
    freeze(kept.league, "main")
    kept.save()
    assert kept.same()
    kept.play(2)
    freeze(kept.league, "exploiter", anew=True)
    kept.play()
    assert kept.same()
    assert restore(tmp_path, SETTINGS).events == len(kept.events) - 3 - 3


def test_a_damaged_snapshot_gives_way_to_the_one_before(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for _ in range(3):
        kept.play()
        kept.save()
    kept.play()
    assert snapshots(tmp_path) == [3, 4]
    path = snapshot_path(tmp_path, 4)
    path.write_bytes(path.read_bytes()[:-1])
    assert kept.same()
    snapshot_path(tmp_path, 3).write_bytes(b"")
    assert kept.same()  # All of the journal is still there.
    segment_path(tmp_path, 1).unlink()
    with pytest.raises(LeagueError, match="snapshot"):
        restore(tmp_path, SETTINGS)


def test_old_segments_go_when_they_are_too_large_and_not_needed(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for _ in range(4):
        kept.play(3)
        kept.save(keep_bytes=1)
    assert snapshots(tmp_path) == [4, 5]
    assert segments(tmp_path) == [4, 5]
    assert kept.same()


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for segment in (2, 3):
        kept.play()
        kept.journal.rotate(segment)
    kept.play()
    segment_path(tmp_path, 2).unlink()
    with pytest.raises(LeagueError, match=r"lacks journal-00000002\.log"):
        restore(tmp_path, SETTINGS)


def test_only_the_newest_segment_may_have_a_torn_end(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.play()
    kept.journal.rotate(2)
    kept.play()
    path = segment_path(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LeagueError, match="damaged at byte"):
        restore(tmp_path, SETTINGS)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.play()
    path = segment_path(tmp_path, 1)
    torn = path.read_bytes() + b"torn"
    path.write_bytes(torn)
    restore(tmp_path, SETTINGS, cut=False)
    assert path.read_bytes() == torn
    assert list(history(tmp_path)) == kept.events
    restore(tmp_path, SETTINGS)
    assert path.read_bytes() == torn[:-4]


def test_ratings_of_another_system_are_refused(tmp_path: Path) -> None:
    Kept(tmp_path).play()
    write_about(tmp_path, SETTINGS)
    with pytest.raises(LeagueError, match=r"rated by openskill, and league\.rating is elo"):
        restore(tmp_path, settings_of(rating="elo"))


def test_a_snapshot_knows_which_matches_were_given_up(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    late, counted = kept.league.next_match("exploiter", 0.0), kept.league.next_match("exploiter", 5000.0)
    kept.league.report(counted.id, WIN, 5000.0)
    kept.save()
    again = League(SETTINGS, state=restore(tmp_path, SETTINGS).state)
    assert again.report(late.id, WIN, 5000.0) is Reply.LATE
    assert again.report(counted.id, WIN, 5000.0) is Reply.DUPLICATE
