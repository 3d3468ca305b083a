#include "check.h"
#include "sparring/errors.h"

using namespace sparring;

TEST(each_code_has_its_class) {
    CHECK_THROWS(BadRequest, raise({"bad_request", ""}));
    CHECK_THROWS(Unauthorized, raise({"unauthorized", ""}));
    CHECK_THROWS(SessionUnknown, raise({"session_unknown", ""}));
    CHECK_THROWS(SessionExists, raise({"session_exists", ""}));
    CHECK_THROWS(StaleSeq, raise({"stale_seq", ""}));
    CHECK_THROWS(SeqGap, raise({"seq_gap", ""}));
    CHECK_THROWS(SessionLost, raise({"session_lost", ""}));
    CHECK_THROWS(BodyTooLarge, raise({"body_too_large", ""}));
    CHECK_THROWS(BadPayload, raise({"bad_payload", ""}));
    CHECK_THROWS(ProtocolVersion, raise({"protocol_version", ""}));
    CHECK_THROWS(Overloaded, raise({"overloaded", ""}));
    CHECK_THROWS(AgentError, raise({"agent_error", ""}));
    CHECK_THROWS(Draining, raise({"draining", ""}));
    CHECK_THROWS(DeadlineExceeded, raise({"deadline_exceeded", ""}));
    CHECK_THROWS(TimedOut, raise({"timed_out", ""}));
    CHECK_THROWS(Unreachable, raise({"unreachable", ""}));
}

TEST(an_unknown_code_is_an_error_with_all_that_was_said) {
    try {
        raise({"of_tomorrow", "something new", 3});
    } catch (const Error& error) {
        CHECK_EQUAL(std::string(error.what()), "of_tomorrow: something new");
        CHECK_EQUAL(error.code(), "of_tomorrow");
        CHECK_EQUAL(error.failure().retry_after_s, 3u);
        return;
    }
    CHECK(false);
}
