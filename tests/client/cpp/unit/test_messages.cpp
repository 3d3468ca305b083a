// The bytes are those that protobuf's own Python writes for the same messages.
#include "bytes.h"
#include "check.h"
#include "messages.h"

#include <random>

using namespace sparring;

static std::string framed(const RequestMessage& request) {
    std::string bytes;
    put_frame(bytes, request);
    CHECK_EQUAL(frame_size(bytes), bytes.size() - kFrameHead);
    return bytes.substr(kFrameHead);
}

static const char* kAnswer = "0a180a017310051a027b7d20012a04312e353730003a03683a3120092801";
static const char* kBatch = "12220a050a017310010a190a017442140a0a6f7665726c6f61646564120466756c6c18012009";

TEST(a_step_with_every_field) {
    StepMessage step;
    step.session = "g-agent-a", step.kind = Kind::stop, step.seq = 0, step.body = std::string_view("\x00\xff", 2);
    step.deadline_ms = 300, step.purpose = Purpose::play, step.delta = true, step.idempotency_key = "k";
    const CredentialsMessage credentials{"k", "1", "t"};
    const RequestMessage request{7, {step}, false, &credentials};
    CHECK(framed(request) == unhex("0a1d0a09672d6167656e742d6110021800220200ff28ac023003380142016b1807"
                                   "20012a090a016b1201311a0174"));
}

TEST(a_batch) {
    StepMessage one, other;
    one.session = "a", other.session = "b", other.seq = 129;
    CHECK(framed({300, {one, other}, true}) == unhex("120d0a030a01610a060a016218810118ac022001"));
}

TEST(an_answer_with_every_field) {
    const ReplyMessage reply = parse_reply(unhex(kAnswer));
    CHECK_EQUAL(reply.request_id, 9u);
    CHECK_EQUAL(reply.protocol, 1u);
    const Answer& answer = reply.answers.at(0).answer();
    CHECK_EQUAL(answer.session, "s");
    CHECK_EQUAL(answer.seq, 5u);
    CHECK_EQUAL(answer.body, "{}");
    CHECK(answer.json);
    CHECK_EQUAL(answer.policy_version, "1.57");
    CHECK(answer.resumed_at == std::optional<std::uint64_t>(0));
    CHECK_EQUAL(answer.endpoint, "h:1");
}

TEST(answers_of_a_batch_one_of_them_an_error) {
    const ReplyMessage reply = parse_reply(unhex(kBatch));
    CHECK(reply.batch && reply.answers.size() == 2 && reply.answers[0].ok());
    CHECK(!reply.answers[0].answer().resumed_at);
    CHECK_EQUAL(reply.answers[1].failure().code, "overloaded");
    CHECK_EQUAL(reply.answers[1].failure().message, "full");
    CHECK_EQUAL(reply.answers[1].failure().retry_after_s, 1u);
}

TEST(an_error_of_the_whole_request) {
    const ReplyMessage reply = parse_reply(unhex("1a110a0b6261645f7265717565737412026e6f2002"));
    CHECK_EQUAL(reply.request_id, 2u);
    CHECK_EQUAL(reply.error.value().code, "bad_request");
}

TEST(unknown_fields_are_skipped) {
    std::string bytes = unhex(kAnswer);
    protobuf::put(bytes, 77, "of a later version");
    protobuf::put(bytes, 78, std::uint64_t{5});
    CHECK_EQUAL(parse_reply(bytes).answers.at(0).answer().body, "{}");
}

TEST(a_reply_without_content_is_none) {
    CHECK_THROWS(protobuf::ParseError, parse_reply(""));
    CHECK_THROWS(protobuf::ParseError, parse_reply(unhex("2009")));
}

TEST(damaged_replies_are_read_or_refused_and_nothing_else) {
    std::mt19937 random(7);
    int refused = 0;
    for (int at = 0; at < 50000; ++at) {
        std::string bytes = unhex(at % 2 ? kAnswer : kBatch);
        for (int hits = at % 3; hits >= 0; --hits) bytes[random() % bytes.size()] = static_cast<char>(random());
        bytes.resize(random() % (bytes.size() + 1));
        try {
            parse_reply(bytes);
        } catch (const protobuf::ParseError&) {
            ++refused;
        }
    }
    CHECK(refused > 1000 && refused < 50000);
}
