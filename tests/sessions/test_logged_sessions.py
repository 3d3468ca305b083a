"""Lines that an agent logs while it answers carry its session; an agent's failure is logged with its traceback."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.agents.threads import ThreadPool
from app.errors import AgentError
from app.logs.session import SESSION

from .fake_agent import FakeAgent, Table


class SpeakingAgent(FakeAgent):
    """Notes as whose it answers."""

    logged_as = "nobody"

    async def _call(self, name: str, payload: object) -> object:
        self.logged_as = SESSION.get()
        return await super()._call(name, payload)


async def test_a_step_is_logged_as_its_session_and_what_follows_is_not() -> None:
    table = Table(make=SpeakingAgent)
    await table.start("match-7")
    await table.tick(1, session="match-7")
    agent = table.agent("match-7")
    assert isinstance(agent, SpeakingAgent)
    assert agent.logged_as == "match-7"
    assert SESSION.get() == ""


async def test_the_first_failure_of_a_kind_is_logged_with_session_and_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = Table()
    await table.start("match-7")
    table.agent("match-7").failure = ValueError("why")
    for number in range(3):
        with pytest.raises(AgentError, match="why"):
            await table.tick(number, session="match-7")
    [record] = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "'match-7' failed" in record.message
    assert record.exc_info is not None
    assert table.counts["agent_error"] == 3


async def test_a_blocking_agents_thread_knows_the_session_as_well() -> None:
    pool = ThreadPool(1, 10, 5.0)
    token = SESSION.set("match-8")
    try:
        assert await pool.result(pool.submit("x", SESSION.get)) == "match-8"
    finally:
        SESSION.reset(token)
        await pool.close()
    with ThreadPoolExecutor(1) as elsewhere:
        assert elsewhere.submit(SESSION.get).result() == ""
