"""The weight store without Ray: what it puts into the object store stays what it is."""

import asyncio
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import ray

from app.errors import ModelMismatchError
from app.models.content import content_hash
from app.stores import weights as module
from app.stores.weight_files import DECLARED, WeightFiles
from app.stores.weights import KEPT, WeightStore
from app.types import Arrays, Version


@pytest.fixture(autouse=True)
def _no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "put", lambda arrays: arrays)
    monkeypatch.setattr(ray, "get", lambda arrays: arrays)
    monkeypatch.setattr(module, "DISK_EVERY_S", 0.01)
    monkeypatch.setattr(module, "DISK_AFTER_S", 0.0)


def arrays(number: int) -> Arrays:
    return {"w": np.full(3, number, np.float32)}


async def store_of(folder: Path) -> WeightStore:
    store = WeightStore(str(folder), str(folder / "clones"))
    await store.start()
    await store.register("m", "hash")
    return store


async def publish(store: WeightStore, *numbers: int, generation: int = 1) -> None:
    for number in numbers:
        await store.publish("m", Version(generation, number), arrays(number))


async def written(store: WeightStore) -> None:
    task = store._shelves["m"].writing
    assert task is not None
    await asyncio.wait_for(task, 10)


async def kept(store: WeightStore) -> list[int]:
    return [number for number in range(20) if await store.fetch("m", Version(1, number))]


async def test_the_newest_versions_are_kept(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    assert await store.newest("m") is None
    await publish(store, *range(6))
    assert await store.newest("m") == Version(1, 5)
    assert await kept(store) == [3, 4, 5]
    assert KEPT == 3
    (got,) = await store.fetch("m", Version(1, 4))
    assert got["w"][0] == 4  # type: ignore[index]


async def test_a_pinned_version_stays_until_it_is_unpinned_as_often(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    assert await store.pin("m", None) is None
    await publish(store, 0)
    assert await store.pin("m", None) == await store.pin("m", Version(1, 0)) == Version(1, 0)
    await publish(store, *range(1, 6))
    await store.unpin("m", Version(1, 0))
    await publish(store, 6)
    assert await kept(store) == [0, 4, 5, 6]
    await store.unpin("m", Version(1, 0))
    await publish(store, 7)
    assert await kept(store) == [5, 6, 7]
    assert await store.pin("m", Version(1, 0)) is None


async def test_who_waits_hears_of_newer_weights(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    waiting = [asyncio.create_task(store.newer("m", Version(0, 0))) for _ in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    await publish(store, 0)
    for found in await asyncio.wait_for(asyncio.gather(*waiting), 5):
        assert found is not None
        assert found[0] == Version(1, 0)
    await publish(store, 1, 2)
    found = await store.newer("m", Version(1, 0))
    assert found is not None
    assert (found.version, found.refs[0]["w"][0]) == (Version(1, 2), 2)  # type: ignore[index]


async def test_a_long_poll_ends_without_news(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.02)
    store = await store_of(tmp_path)
    assert await store.newer("m", Version(0, 0)) is None
    await publish(store, 0)
    assert await store.newer("m", Version(1, 0)) is None


async def test_the_last_version_reaches_the_disk_though_it_came_right_behind_another(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    await publish(store, 0)
    await asyncio.sleep(0)  # The first write is under way.
    await publish(store, 1, 2)
    await written(store)
    (stored,) = WeightFiles(tmp_path).load()
    assert stored.version == Version(1, 2)
    assert stored.arrays["w"][0] == 2


async def test_a_store_that_starts_again_has_the_newest_weights_and_a_later_generation(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    assert await store.begin("m", "hash") == 1
    assert await store.begin("m", "hash") == 2
    await publish(store, 9, generation=2)
    await written(store)
    again = await store_of(tmp_path)
    assert await again.newest("m") == Version(2, 9)
    assert await again.begin("m", "hash") == 3


async def test_a_trainer_with_checkpoints_that_the_store_does_not_know_is_later_than_those(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    assert await store.begin("m", "hash", after=7) == 8
    assert await store.begin("m", "hash", after=7) == 9


async def test_weights_of_an_older_generation_come_too_late(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    await publish(store, 0, generation=2)
    await publish(store, 99, generation=1)
    assert await store.newest("m") == Version(2, 0)


async def test_a_model_of_other_shapes_forgets_the_weights_and_not_the_generation(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    await store.begin("m", "hash")
    await publish(store, 0)
    await store.register("m", "hash")
    assert await store.newest("m") == Version(1, 0)
    await store.register("m", "other")
    assert await store.newest("m") is None
    assert await store.begin("m", "other") == 2


async def test_a_model_that_plays_fixed_weights_forgets_what_a_trainer_had_published(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    await publish(store, 9, generation=2)
    await written(store)
    again = await store_of(tmp_path)
    assert await again.newest("m") == Version(2, 9)
    await again.register("m", "hash", fixed=True)
    assert await again.newest("m") is None


async def test_a_trainer_of_another_model_is_refused(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    with pytest.raises(ModelMismatchError, match="has the shapes other in the trainer and hash in the running service"):
        await store.begin("m", "other")
    with pytest.raises(ModelMismatchError, match="plays no model 'n'; it plays: m"):
        await store.begin("n", "hash")


async def test_a_full_disk_does_not_stop_the_ring(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    blocked = tmp_path / "weights"
    store = await store_of(blocked)
    shutil.rmtree(blocked)
    blocked.write_text("a file where the folder should be")
    await publish(store, 0)
    await written(store)
    assert "weights 1.0 of m are not on disk" in caplog.text
    assert await store.newest("m") == Version(1, 0)


async def test_the_newest_weights_of_each_model_have_an_age_from_their_publish_on(tmp_path: Path) -> None:
    now_s = 100.0
    store = WeightStore(str(tmp_path), str(tmp_path / "clones"), lambda: now_s)
    await store.start()
    for model in ("m", "n"):
        await store.register(model, "hash")
    await publish(store, 0)
    now_s = 107.5
    assert await store.ages_s() == {"m": 7.5, "n": None}
    found = await store.newer("m", Version(0, 0))
    assert found is not None
    assert found.published_s == 100.0
    await publish(store, 1)
    assert await store.ages_s() == {"m": 0.0, "n": None}


async def test_an_age_outlives_the_stores_process(tmp_path: Path) -> None:
    now_s = 100.0
    store = WeightStore(str(tmp_path), str(tmp_path / "clones"), lambda: now_s)
    await store.register("m", "hash")
    await publish(store, 0)
    await written(store)
    now_s = 160.0
    again = WeightStore(str(tmp_path), str(tmp_path / "clones"), lambda: now_s)
    await again.start()
    assert await again.ages_s() == {"m": 60.0}


async def test_what_is_kept_is_told_with_size_hash_parent_and_pins(tmp_path: Path) -> None:
    store = await store_of(tmp_path)
    await store.publish("m", Version(1, 0), arrays(0))
    await store.publish("m", Version(1, 1), arrays(1), Version(1, 0))
    await store.pin("m", Version(1, 0))
    first, second = (await store.kept())["m"]
    assert (first.meta.version, first.meta.parent, first.pinned) == (Version(1, 0), None, 1)
    assert (second.meta.version, second.meta.parent, second.pinned) == (Version(1, 1), Version(1, 0), 0)
    assert second.size_bytes == 12
    assert second.meta.content_hash == content_hash(arrays(1), "hash") != first.meta.content_hash
    assert await store.find("m", None) == second
    assert await store.find("m", Version(1, 0)) == first
    assert await store.find("m", Version(7, 7)) is None
    assert await store.find("nobody", None) is None


async def test_versions_that_leave_while_hashes_are_computed_are_still_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, others_came = threading.Event(), threading.Event()

    def get(given: Arrays) -> Arrays:
        asked.set()
        others_came.wait(10)
        return given

    store = await store_of(tmp_path)
    await publish(store, 0, 1, 2)
    monkeypatch.setattr(ray, "get", get)
    listing = asyncio.create_task(store.kept())
    await asyncio.to_thread(asked.wait, 10)
    await publish(store, 3, 4, 5)
    others_came.set()
    assert [one.meta.version.number for one in (await listing)["m"]] == [0, 1, 2]


async def test_versions_stay_in_the_order_in_which_they_were_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_is_put = threading.Event()

    def put(given: Arrays) -> Arrays:
        if given["w"][0] == 0:
            second_is_put.wait(0.2)  # Were both put at once, the second would overtake this one.
        else:
            second_is_put.set()
        return given

    store = await store_of(tmp_path)
    monkeypatch.setattr(ray, "put", put)
    await asyncio.gather(publish(store, 0), publish(store, 1))
    assert await store.newest("m") == Version(1, 1)


async def test_a_store_that_starts_again_knows_its_models_and_generations_before_there_are_weights(
    tmp_path: Path,
) -> None:
    first = await store_of(tmp_path)
    assert await first.begin("m", "hash") == 1
    assert await first.begin("m", "hash") == 2
    again = WeightStore(str(tmp_path), str(tmp_path / "clones"))
    await again.start()
    assert await again.newest("m") is None
    assert await again.begin("m", "hash") == 3


async def test_a_damaged_list_of_models_is_told_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / DECLARED).write_text('{"m": "hash"')
    store = await store_of(tmp_path)
    assert "is not read" in caplog.text
    assert await store.begin("m", "hash") == 1
