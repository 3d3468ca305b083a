import orjson

from app.errors import BadRequestError, BodyTooLargeError, DrainingError
from app.wire.http import PROBLEM, HttpReply, refusal


def test_a_reply_has_status_length_headers_and_body() -> None:
    reply = HttpReply(200, b"{}", headers=((b"session", b"s"), (b"seq", b"3")))
    assert reply.encoded() == (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nsession: s\r\nseq: 3\r\n\r\n{}"
    )


def test_a_last_reply_announces_the_end() -> None:
    assert b"\r\nConnection: close\r\n\r\n" in HttpReply(200, b"").encoded(close=True)
    assert b"Connection" not in HttpReply(200, b"").encoded()


def test_the_reply_to_a_head_request_tells_the_length_and_leaves_the_body_out() -> None:
    encoded = HttpReply(200, b"12345").encoded(head_only=True)
    assert b"Content-Length: 5\r\n" in encoded
    assert encoded.endswith(b"\r\n\r\n")


def test_a_refusal_is_a_problem_document() -> None:
    reply = refusal(BodyTooLargeError("7 bytes were declared; allowed are 5"))
    assert (reply.status, reply.content_type, reply.headers) == (413, PROBLEM, ())
    assert orjson.loads(reply.body) == {
        "type": "about:blank",
        "title": "body too large",
        "status": 413,
        "code": "body_too_large",
        "detail": "7 bytes were declared; allowed are 5",
    }


def test_a_refusal_that_a_retry_may_help_says_when() -> None:
    assert refusal(DrainingError("later")).headers == ((b"Retry-After", b"1"),)


def test_a_message_that_is_no_text_can_still_be_told() -> None:
    assert orjson.loads(refusal(BadRequestError("half \ud800 a pair")).body)["detail"] == "half ? a pair"


def test_a_reply_without_content_says_nothing_of_it() -> None:
    reply = HttpReply(204, b"", headers=((b"Allow", b"POST"),))
    assert reply.encoded() == b"HTTP/1.1 204 No Content\r\nAllow: POST\r\n\r\n"
    assert reply.encoded(close=True).endswith(b"Connection: close\r\n\r\n")
