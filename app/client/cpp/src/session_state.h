// What a session's handles share.
#pragma once

#include <string>

#include "messages.h"
#include "steps.h"

namespace sparring {

// The engine's lock guards `id` and `order`; the I/O thread alone uses `signed_as`.
struct SessionState {
    SessionState(SessionOptions session_options, std::string session_id, std::string key)
        : options(std::move(session_options)),
          idempotency_key(std::move(key)),
          id(std::move(session_id)),
          order(options.pipeline) {}

    const SessionOptions options;
    const std::string idempotency_key;  // Of a start whose id the service mints; empty elsewhere.
    std::string id;                     // Empty until then.
    StepOrder order;
    CredentialsMessage signed_as{};
    Clock::time_point signed_until{};
};

}  // namespace sparring
