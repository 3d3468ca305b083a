import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.errors import BadRequestError, BodyTooLargeError, ExpectationError, StepError
from app.wire import http_reader
from app.wire.http import HttpRequest
from app.wire.http_reader import MAX_HEAD_BYTES, MAX_KNOWN_NAMES, HttpReader

from .pieces import cut_anywhere, one_by_one

LIMIT = 1000
POST = b"POST /step HTTP/1.1\r\nSession: s\r\nContent-Length: 5\r\n\r\nhello"
GET = b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"POST /step HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


def read(*pieces: bytes, limit: int = LIMIT) -> tuple[list[HttpRequest], StepError | None]:
    reader = HttpReader(limit)
    requests = [request for piece in pieces for request in reader.feed(piece)]
    return requests, reader.failure


def only(data: bytes) -> HttpRequest:
    (request,), failure = read(data)
    assert failure is None
    return request


def test_a_request_is_method_path_fields_and_body() -> None:
    assert only(POST) == HttpRequest(b"POST", "/step", {"session": "s", "content-length": "5"}, b"hello", True)
    assert only(GET) == HttpRequest(b"GET", "/status", {"host": "x"}, b"", True)


def test_a_request_may_come_byte_by_byte() -> None:
    requests, failure = read(*one_by_one(POST + GET + POST))
    assert failure is None
    assert requests == [only(POST), only(GET), only(POST)]


@pytest.mark.parametrize("cut", range(1, len(POST)))
def test_a_request_may_come_in_two_pieces_cut_anywhere(cut: int) -> None:
    assert read(POST[:cut], POST[cut:]) == ([only(POST)], None)


def test_many_requests_may_come_in_one_piece() -> None:
    requests, failure = read(POST * 300 + GET)
    assert failure is None
    assert requests == [only(POST)] * 300 + [only(GET)]


def test_nothing_is_left_over_from_the_request_before() -> None:
    second = b"POST /steps?a=1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    requests, _ = read(POST + second)
    assert requests[1] == HttpRequest(b"POST", "/steps", {"a": "1", "content-length": "0"}, b"", True)


@pytest.mark.parametrize("name", [b"step_kind", b"Step-Kind", b"STEP_KIND", b"step-kind"])
def test_fields_are_the_same_in_headers_and_query_and_in_any_spelling(name: bytes) -> None:
    in_header = only(b"GET /step HTTP/1.1\r\n%s: start\r\n\r\n" % name)
    in_query = only(b"GET /step?%s=start HTTP/1.1\r\n\r\n" % name)
    assert in_header.fields == in_query.fields == {"step-kind": "start"}
    assert in_header.path == in_query.path == "/step"


def test_a_header_wins_over_the_query() -> None:
    assert only(b"GET /?session=query&seq=3 HTTP/1.1\r\nsession: header\r\n\r\n").fields == {
        "session": "header",
        "seq": "3",
    }


def test_an_empty_field_is_empty_in_header_and_query_alike() -> None:
    assert only(b"GET /?seq=&purpose HTTP/1.1\r\n\r\n").fields == {"seq": "", "purpose": ""}
    assert only(b"GET / HTTP/1.1\r\nseq:\r\npurpose: \r\n\r\n").fields == {"seq": "", "purpose": ""}


@pytest.mark.parametrize(("sent", "text"), [("é鍵".encode(), "é鍵"), (b"\xe9", "é"), (b"plain", "plain")])
def test_headers_and_queries_are_utf_8_or_else_latin_1(sent: bytes, text: str) -> None:
    assert only(b"GET / HTTP/1.1\r\nsession: " + sent + b"\r\n\r\n").fields == {"session": text}
    quoted = b"".join(b"%%%02X" % byte for byte in text.encode())
    assert only(b"GET /?session=" + quoted + b" HTTP/1.1\r\n\r\n").fields == {"session": text}


def test_a_query_is_decoded() -> None:
    assert only(b"GET /?session=a%20b%26c%C3%A9 HTTP/1.1\r\n\r\n").fields == {"session": "a b&cé"}


@pytest.mark.parametrize("sizes", [[5], [1, 1, 1, 1, 1], [2, 3]])
def test_a_body_may_come_in_chunks(sizes: list[int]) -> None:
    body, chunks = b"hello", b""
    for size in sizes:
        chunks += b"%x\r\n%s\r\n" % (size, body[:size])
        body = body[size:]
    data = CHUNKED + chunks + b"0\r\n\r\n"
    assert only(data).body == b"hello"
    assert read(*one_by_one(data))[0][0].body == b"hello"


def test_what_trails_a_chunked_body_is_no_field() -> None:
    data = CHUNKED + b"2\r\nhi\r\n0\r\nsession: stolen\r\n\r\n"
    request = only(data)
    assert request.body == b"hi"
    assert request.fields == {"transfer-encoding": "chunked"}


def test_small_chunks_cost_no_more_memory_than_their_bytes() -> None:
    reader = HttpReader(1_000_000)
    reader.feed(CHUNKED)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(1_000):
        reader.feed(b"2\r\nhi\r\n" * 100)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held - before < 500_000  # 200,000 bytes of body.
    (request,) = reader.feed(b"0\r\n\r\n")
    assert request.body == b"hi" * 100_000


@pytest.mark.parametrize(
    ("request_line", "header", "keep_alive"),
    [
        (b"GET / HTTP/1.1", b"", True),
        (b"GET / HTTP/1.1", b"Connection: close\r\n", False),
        (b"GET / HTTP/1.0", b"", False),
        (b"GET / HTTP/1.0", b"Connection: keep-alive\r\n", True),
    ],
)
def test_a_request_tells_whether_the_connection_stays(request_line: bytes, header: bytes, keep_alive: bool) -> None:
    assert only(request_line + b"\r\n" + header + b"\r\n").keep_alive is keep_alive


# Limits


def test_a_body_as_large_as_allowed_is_read() -> None:
    assert len(only(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000).body) == 1000


def test_a_declared_body_over_the_limit_is_refused_before_it_comes() -> None:
    requests, failure = read(GET + b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n")
    assert requests == [only(GET)]
    assert isinstance(failure, BodyTooLargeError)
    assert str(failure) == "1001 bytes were declared; allowed are 1000"


def test_an_undeclared_body_over_the_limit_is_refused_when_it_comes() -> None:
    hundred = b"64\r\n" + b"x" * 100 + b"\r\n"
    assert len(only(CHUNKED + hundred * 10 + b"0\r\n\r\n").body) == 1000
    assert str(read(CHUNKED + hundred * 10 + b"1\r\nx\r\n")[1]) == "1001 bytes arrived; allowed are 1000"
    requests, failure = read(CHUNKED, *[hundred] * 11)
    assert requests == []
    assert isinstance(failure, BodyTooLargeError)
    assert str(failure) == "1100 bytes arrived; allowed are 1000"


@pytest.mark.parametrize("size", [b"-1", b"9223372036854775808", b"4611686018427387904", b"18446744073709551616"])
def test_an_absurd_size_is_refused(size: bytes) -> None:
    requests, failure = read(b"POST / HTTP/1.1\r\nContent-Length: " + size + b"\r\n\r\n")
    assert requests == []
    assert isinstance(failure, BadRequestError | BodyTooLargeError)


HEADS = {
    "one long header": b"GET / HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"Name: 12345\r\n" * 4000 + b"\r\n",
    "a long target": b"GET /" + b"x" * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n",
    "a long header name": b"GET / HTTP/1.1\r\n" + b"x" * MAX_HEAD_BYTES + b": 1\r\n\r\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("piece", [1 << 30, 1000])
def test_a_head_over_the_limit_is_refused(head: bytes, piece: int) -> None:
    requests, failure = read(*(head[at : at + piece] for at in range(0, len(head), piece)))
    assert requests == []
    assert isinstance(failure, BadRequestError)
    assert str(failure) == f"the request's head is over the {MAX_HEAD_BYTES} bytes allowed"


@pytest.mark.parametrize(
    "begin", [b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n", CHUNKED + b"0\r\nX: ", CHUNKED + b"1;"]
)
def test_what_never_ends_is_refused_while_it_comes(begin: bytes) -> None:
    reader = HttpReader(LIMIT)
    reader.feed(begin)
    fed = 0
    while reader.failure is None and fed < 10 * MAX_HEAD_BYTES:
        reader.feed(b"x" * 4096)
        fed += 4096
    assert reader.failure is not None
    assert fed <= MAX_HEAD_BYTES + 4096


def test_a_large_head_within_the_limit_is_read_in_any_pieces() -> None:
    head = b"GET / HTTP/1.1\r\nX: " + b"x" * (MAX_HEAD_BYTES - 100) + b"\r\n\r\n"
    assert read(*(head[at : at + 700] for at in range(0, len(head), 700)))[1] is None
    assert len(read(*[head] * 5)[0]) == 5


# Garbage

GARBAGE = [
    b"\x00\x00\x00\x05hello",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS.
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"hello there\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET  HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: five\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    CHUNKED + b"zz\r\nhello\r\n",
    CHUNKED + b"-1\r\nhello\r\n",
    b"CONNECT example.com:443 HTTP/1.1\r\n\r\n",
    b"GET http:// HTTP/1.1\r\n\r\n",
]


@pytest.mark.parametrize("data", GARBAGE)
def test_what_is_no_request_is_refused_by_name_behind_what_was(data: bytes) -> None:
    requests, failure = read(GET + data)
    assert requests == [only(GET)]
    assert isinstance(failure, BadRequestError)
    assert str(failure)


def test_a_failed_connection_stays_failed() -> None:
    reader = HttpReader(LIMIT)
    reader.feed(b"\x00\x00")
    failure = reader.failure
    assert reader.feed(GET) == []
    assert reader.failure is failure


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
WEBSOCKET = b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"


@pytest.mark.parametrize(
    "data",
    [
        b"POST /step HTTP/1.1\r\n" + UPGRADE + b"Content-Length: 5\r\n\r\nhello",
        b"POST /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_an_upgrade_is_refused_once_and_not_also_answered(data: bytes) -> None:
    reader = HttpReader(LIMIT)
    assert reader.feed(GET + data) == [only(GET)]  # The parser hides an upgrading request's body.
    assert "is not served on this port" in str(reader.failure)
    assert reader.upgrade is None


def test_a_websocket_is_asked_for_and_what_follows_is_kept() -> None:
    reader = HttpReader(LIMIT)
    assert reader.feed(GET + WEBSOCKET + b"\x82\x80more") == [only(GET)]
    assert reader.upgrade is not None
    assert (reader.upgrade.path, reader.upgrade.fields["upgrade"]) == ("/ws", "WebSocket")
    assert reader.rest == b"\x82\x80more"
    assert "opened at /ws" in str(reader.failure)  # For whoever does not grant it.


# Expectations

EXPECT = b"POST /step HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n"


def test_a_peer_that_waits_for_a_word_is_noticed_until_its_body_comes() -> None:
    reader = HttpReader(LIMIT)
    assert reader.feed(EXPECT[:-2]) == []
    assert not reader.expects_continue
    assert reader.feed(EXPECT[-2:]) == []
    assert reader.expects_continue
    reader.feed(b"h")
    assert not reader.expects_continue
    assert reader.feed(b"ello")[0].body == b"hello"


@pytest.mark.parametrize(
    "data",
    [
        EXPECT + b"hello",
        EXPECT.replace(b"5", b"0"),
        EXPECT.replace(b"1.1", b"1.0"),
        EXPECT.replace(b"5", b"1001"),
        GET,
    ],
    ids=["a body that is there", "no body", "an old client", "a refused body", "no expectation"],
)
def test_a_peer_that_does_not_wait_is_left_alone(data: bytes) -> None:
    reader = HttpReader(LIMIT)
    reader.feed(data)
    assert not reader.expects_continue


def test_a_chunked_body_may_wait_too() -> None:
    reader = HttpReader(LIMIT)
    reader.feed(CHUNKED.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"))
    assert reader.expects_continue


def test_any_other_expectation_is_refused() -> None:
    requests, failure = read(GET + b"POST / HTTP/1.1\r\nExpect: a-pony\r\nContent-Length: 1\r\n\r\nx")
    assert requests == [only(GET)]
    assert isinstance(failure, ExpectationError)
    assert str(failure) == "expect is 'a-pony'; allowed is 100-continue"


# Targets


@pytest.mark.parametrize(
    ("target", "path"),
    [(b"/a", "/a"), (b"/a?b=c", "/a"), (b"http://host:1/a?b=c", "/a"), (b"*", "*"), (b"//a", "//a"), (b"/%41", "/%41")],
)
def test_a_path_is_found_in_any_form_of_target(target: bytes, path: str) -> None:
    assert only(b"OPTIONS " + target + b" HTTP/1.1\r\n\r\n").path == path


def test_names_of_headers_are_remembered_up_to_a_number() -> None:
    for number in range(2 * MAX_KNOWN_NAMES):
        assert f"x-{number}" in only(b"GET / HTTP/1.1\r\nX_%d: 1\r\n\r\n" % number).fields
    assert len(http_reader._names) <= MAX_KNOWN_NAMES


TOKENS = [
    b"GET", b"POST", b" ", b"/step", b"/?a=b", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"Content-Length: 5", b"hello",
    b"Transfer-Encoding: chunked", b"5\r\nhello\r\n", b"0\r\n\r\n", b"Connection: Upgrade\r\nUpgrade: h2c",
    b"Connection: Upgrade\r\nUpgrade: websocket", b"session: s", b":", b"\x00", b"\xff", b"%zz", b"*",
    b"Expect: 100-continue",
]  # fmt: skip


@given(st.lists(st.sampled_from([*TOKENS, POST, GET]) | st.binary(max_size=8), max_size=20))
@example([b"GET ", b"?", b" HTTP/1.1\r\n\r\n"])
@example([b"GET *", b" HTTP/1.1\r\n\r\n"])
@example([b"GET //[", b" HTTP/1.1\r\n\r\n"])
@example([b"CONNECT a:1", b" HTTP/1.1\r\n\r\n"])
def test_no_bytes_at_all_make_the_reader_raise(pieces: list[bytes]) -> None:
    reader = HttpReader(LIMIT)
    for piece in pieces:
        for request in reader.feed(piece):
            assert isinstance(request.path, str)
            assert len(request.body) <= LIMIT
        assert reader.failure is None or isinstance(reader.failure, StepError)


@given(st.lists(st.sampled_from([POST, GET, CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"]), max_size=5), st.data())
def test_requests_are_the_same_however_the_bytes_are_cut(messages: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(messages)
    assert read(*cut_anywhere(data, stream)) == ([only(message) for message in messages], None)
