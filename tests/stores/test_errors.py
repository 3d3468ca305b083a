import pickle

from app.logs.entry import Entry
from app.logs.errors import Wanted
from app.stores.errors import ErrorStore

ENTRY = Entry(1.0, "error", "app.x", "p.t", "replica main a", "", "it failed", "trace")


async def test_errors_of_all_processes_are_kept_together_and_travel() -> None:
    store = ErrorStore(10)
    await store.add([ENTRY])
    await store.add([Entry(2.0, "error", "train.y", "p.t", "learner main 0", "", "lost")])
    found = pickle.loads(pickle.dumps(await store.newest(Wanted())))  # noqa: S301
    told = found.as_dict(traceback=False)
    assert [error["process"] for error in told["errors"]] == ["replica main a", "learner main 0"]
    assert told["counts"] == {"error": 2, "warning": 0, "forgotten": 0}
    assert found.as_dict(traceback=True)["errors"][0]["traceback"] == "trace"
