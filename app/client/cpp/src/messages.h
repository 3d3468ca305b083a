// The messages of app/wire/messages.proto that a client writes and reads, and their frames.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "protobuf.h"
#include "sparring/client.h"

namespace sparring {

inline constexpr std::uint32_t kProtocol = 1;
inline constexpr std::size_t kFrameMax = 128u << 20;  // Bytes of one frame: the protocol's limit.
inline constexpr std::size_t kFrameHead = 4;          // Bytes of a frame's length.
inline constexpr std::size_t kBatchMax = 4096;        // Steps in one request.

// One step as it is sent.
struct StepMessage {
    std::string_view session;
    Kind kind = Kind::tick;
    std::optional<std::uint64_t> seq;
    std::string_view body;
    std::uint32_t deadline_ms = 0;
    Purpose purpose = Purpose::service_default;
    bool delta = false;
    std::string_view idempotency_key;
};

struct CredentialsMessage {
    std::string key;
    std::string time;
    std::string token;
};

struct RequestMessage {
    std::uint64_t request_id = 0;
    std::vector<StepMessage> steps;
    bool batch = false;  // Without it there is exactly one step.
    const CredentialsMessage* credentials = nullptr;
};

struct ReplyMessage {
    std::uint64_t request_id = 0;
    std::uint32_t protocol = 0;  // 0: not said.
    std::vector<Outcome> answers{};
    bool batch = false;
    std::optional<Failure> error{};  // Of the request itself.
};

// Appends a request as one frame.
void put_frame(std::string& out, const RequestMessage& request);

// Returns the reply that a frame holds. Throws protobuf::ParseError where it holds none.
ReplyMessage parse_reply(std::string_view message);

// Returns the length that a frame's first four bytes say.
std::uint32_t frame_size(std::string_view head);

}  // namespace sparring
