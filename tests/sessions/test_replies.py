from hypothesis import given
from hypothesis import strategies as st

from app.sessions.replies import REPLIES_KEPT, REPLY_BYTES_KEPT, Replies
from app.wire.steps import StepReply


@given(st.lists(st.sampled_from([0, 10, 8_000, 20_000, 40_000, 100_000]), max_size=40))
def test_the_newest_replies_are_kept_within_number_and_bytes(sizes: list[int]) -> None:
    replies = Replies()
    for seq, size in enumerate(sizes, start=1):
        replies.add(StepReply("s", b"x" * size, seq))
        kept = replies.all()
        assert [reply.seq for reply in kept] == list(range(seq - len(kept) + 1, seq + 1))
        assert kept[-1] is replies.get(seq)
        assert len(kept) <= REPLIES_KEPT
        assert len(kept) == 1 or sum(len(reply.body) for reply in kept) <= REPLY_BYTES_KEPT
        one_more = sum(len(reply.body) for reply in kept) + (sizes[seq - len(kept) - 1] if seq > len(kept) else 0)
        assert len(kept) in (seq, REPLIES_KEPT) or one_more > REPLY_BYTES_KEPT
        assert replies.get(seq - len(kept)) is None
