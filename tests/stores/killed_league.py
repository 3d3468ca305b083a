"""A league that tells each acknowledged result on standard output, until it is killed."""

import asyncio
import sys
from pathlib import Path

from app.config.league import LeagueConfig
from app.league.matches import Result
from app.league.players import Weights
from app.stores.league import LeagueStore

CONFIG = LeagueConfig.model_validate(
    {
        "players": {"main": {"trainer": "one"}, "exploiter": {"trainer": "two", "role": "main_exploiter"}},
        "keeping": {"save_every_s": 0.02, "fsync": False},
    }
)


async def run(folder: Path) -> None:
    """Plays for ever."""
    store = LeagueStore(CONFIG, str(folder), 1)
    await store.start()
    number = 0
    while True:
        number += 1
        matches = await asyncio.gather(*(store.next_match("exploiter") for _ in range(5)))
        await asyncio.gather(*(store.report(match.id, Result((1.0, 0.0))) for match in matches))
        for match in matches:
            sys.stdout.write(f"{match.id}\n")
        if number % 7 == 0:
            frozen = await store.freeze("main", (await store.player("main")).period, Weights("w"))
            sys.stdout.write(f"{frozen.frozen.id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
