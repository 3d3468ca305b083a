#include "messages.h"

namespace sparring {
namespace {

using protobuf::Field;
using protobuf::ParseError;
using protobuf::put;
using protobuf::put_always;
using protobuf::Reader;
using protobuf::WireType;

// Field numbers, as in messages.proto.
namespace step_field {
enum : std::uint32_t { session = 1, kind, seq, body, deadline_ms, purpose, delta, idempotency_key };
}
namespace batch_field {
enum : std::uint32_t { items = 1 };
}
namespace credentials_field {
enum : std::uint32_t { key = 1, time, token };
}
namespace request_field {
enum : std::uint32_t { step = 1, batch, request_id, protocol, credentials };
}
namespace error_field {
enum : std::uint32_t { code = 1, message, retry_after_s };
}
namespace answer_field {
enum : std::uint32_t { session = 1, seq, body, json, policy_version, resumed_at, endpoint, error };
}
namespace reply_field {
enum : std::uint32_t { answer = 1, batch, error, request_id, protocol };
}

std::string step_bytes(const StepMessage& step) {
    std::string out;
    out.reserve(step.session.size() + step.body.size() + 64);
    put(out, step_field::session, step.session);
    put(out, step_field::kind, static_cast<std::uint64_t>(step.kind));
    if (step.seq) put_always(out, step_field::seq, *step.seq);
    put(out, step_field::body, step.body);
    put(out, step_field::deadline_ms, step.deadline_ms);
    put(out, step_field::purpose, static_cast<std::uint64_t>(step.purpose));
    put(out, step_field::delta, step.delta ? 1u : 0u);
    put(out, step_field::idempotency_key, step.idempotency_key);
    return out;
}

std::string credentials_bytes(const CredentialsMessage& credentials) {
    std::string out;
    put(out, credentials_field::key, credentials.key);
    put(out, credentials_field::time, credentials.time);
    put(out, credentials_field::token, credentials.token);
    return out;
}

Failure parse_error(std::string_view message) {
    Failure failure;
    Field field;
    for (Reader reader(message); reader.next(field);) {
        if (field.is(error_field::code, WireType::bytes)) failure.code = field.bytes;
        if (field.is(error_field::message, WireType::bytes)) failure.message = field.bytes;
        if (field.is(error_field::retry_after_s, WireType::varint)) {
            failure.retry_after_s = static_cast<std::uint32_t>(field.value);
        }
    }
    if (failure.code.empty()) failure.code = "agent_error";  // An error for certain, of no kind that is named.
    return failure;
}

Outcome parse_answer(std::string_view message) {
    Answer answer;
    std::optional<Failure> failure;
    Field field;
    for (Reader reader(message); reader.next(field);) {
        if (field.is(answer_field::session, WireType::bytes)) answer.session = field.bytes;
        if (field.is(answer_field::seq, WireType::varint)) answer.seq = field.value;
        if (field.is(answer_field::body, WireType::bytes)) answer.body = field.bytes;
        if (field.is(answer_field::json, WireType::varint)) answer.json = field.value != 0;
        if (field.is(answer_field::policy_version, WireType::bytes)) answer.policy_version = field.bytes;
        if (field.is(answer_field::resumed_at, WireType::varint)) answer.resumed_at = field.value;
        if (field.is(answer_field::endpoint, WireType::bytes)) answer.endpoint = field.bytes;
        if (field.is(answer_field::error, WireType::bytes)) failure = parse_error(field.bytes);
    }
    if (failure) return Outcome(std::move(*failure));
    return Outcome(std::move(answer));
}

std::vector<Outcome> parse_batch(std::string_view message) {
    std::vector<Outcome> answers;
    Field field;
    for (Reader reader(message); reader.next(field);) {
        if (!field.is(batch_field::items, WireType::bytes)) continue;
        if (answers.size() == kBatchMax) throw ParseError("more answers than a batch may hold");
        answers.push_back(parse_answer(field.bytes));
    }
    return answers;
}

}  // namespace

void put_frame(std::string& out, const RequestMessage& request) {
    const std::size_t head = out.size();
    out.append(kFrameHead, '\0');
    if (request.batch) {
        std::string batch;
        for (const StepMessage& step : request.steps) put_always(batch, batch_field::items, step_bytes(step));
        put_always(out, request_field::batch, batch);
    } else {
        put_always(out, request_field::step, step_bytes(request.steps.front()));
    }
    put(out, request_field::request_id, request.request_id);
    put(out, request_field::protocol, kProtocol);
    if (request.credentials) put_always(out, request_field::credentials, credentials_bytes(*request.credentials));
    const std::size_t size = out.size() - head - kFrameHead;
    for (std::size_t at = 0; at < kFrameHead; ++at) {
        out[head + at] = static_cast<char>((size >> (8 * (kFrameHead - 1 - at))) & 0xFF);
    }
}

ReplyMessage parse_reply(std::string_view message) {
    ReplyMessage reply;
    bool has_content = false;
    Field field;
    for (Reader reader(message); reader.next(field);) {
        if (field.is(reply_field::request_id, WireType::varint)) reply.request_id = field.value;
        if (field.is(reply_field::protocol, WireType::varint)) {
            reply.protocol = static_cast<std::uint32_t>(field.value);
        }
        if (field.type != WireType::bytes || field.number > reply_field::error) continue;
        has_content = true;  // One of three; the last one counts.
        reply.answers.clear(), reply.error.reset(), reply.batch = field.number == reply_field::batch;
        if (field.number == reply_field::answer) reply.answers.push_back(parse_answer(field.bytes));
        if (field.number == reply_field::batch) reply.answers = parse_batch(field.bytes);
        if (field.number == reply_field::error) reply.error = parse_error(field.bytes);
    }
    if (!has_content) throw ParseError("neither an answer nor an error");
    return reply;
}

std::uint32_t frame_size(std::string_view head) {
    std::uint32_t size = 0;
    for (std::size_t at = 0; at < kFrameHead; ++at) size = (size << 8) | static_cast<unsigned char>(head[at]);
    return size;
}

}  // namespace sparring
