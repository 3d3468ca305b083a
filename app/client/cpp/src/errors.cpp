#include "sparring/errors.h"

#include <unordered_map>

namespace sparring {
namespace {

template <typename Class>
[[noreturn]] void throw_as(const Failure& failure) {
    throw Class(failure);
}

using Thrower = void (*)(const Failure&);

const std::unordered_map<std::string, Thrower>& throwers() {
    static const std::unordered_map<std::string, Thrower> by_code = {
        {"bad_request", throw_as<BadRequest>},
        {"unauthorized", throw_as<Unauthorized>},
        {"session_unknown", throw_as<SessionUnknown>},
        {"session_exists", throw_as<SessionExists>},
        {"stale_seq", throw_as<StaleSeq>},
        {"seq_gap", throw_as<SeqGap>},
        {"session_lost", throw_as<SessionLost>},
        {"body_too_large", throw_as<BodyTooLarge>},
        {"bad_payload", throw_as<BadPayload>},
        {"protocol_version", throw_as<ProtocolVersion>},
        {"overloaded", throw_as<Overloaded>},
        {"agent_error", throw_as<AgentError>},
        {"draining", throw_as<Draining>},
        {"deadline_exceeded", throw_as<DeadlineExceeded>},
        {"unreachable", throw_as<Unreachable>},
        {"timed_out", throw_as<TimedOut>},
        {"malformed", throw_as<Malformed>},
        {"closed", throw_as<Closed>},
        {"too_many_steps", throw_as<TooManySteps>},
        {"queue_full", throw_as<QueueFull>},
        {"misuse", throw_as<Misuse>},
    };
    return by_code;
}

}  // namespace

void raise(const Failure& failure) {
    const auto found = throwers().find(failure.code);
    if (found != throwers().end()) found->second(failure);
    throw Error(failure);
}

}  // namespace sparring
