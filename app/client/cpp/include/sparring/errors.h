// What can go wrong: one class for each code of the wire contract, and for what only a client can see.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace sparring {

// Why a step was not answered. `code` is the contract's (docs/protocol.md) or one of the client's own:
// closed, malformed, misuse, queue_full, timed_out, too_many_steps, unreachable.
struct Failure {
    std::string code;
    std::string message;
    std::uint32_t retry_after_s = 0;  // 0: a retry cannot help.
};

// Base of all errors. An error with a code that this header does not know is an Error itself.
class Error : public std::runtime_error {
public:
    explicit Error(Failure failure)
        : std::runtime_error(failure.code + ": " + failure.message), failure_(std::move(failure)) {}

    const std::string& code() const noexcept { return failure_.code; }
    const Failure& failure() const noexcept { return failure_; }

private:
    Failure failure_;
};

// Said by the service.
class BadRequest : public Error { using Error::Error; };        // The request is not one of the protocol's.
class Unauthorized : public Error { using Error::Error; };      // Key or token are not accepted.
class SessionUnknown : public Error { using Error::Error; };    // Never started, or over: start a new one.
class SessionExists : public Error { using Error::Error; };     // Its game is under way: stop it, or take another id.
class StaleSeq : public Error { using Error::Error; };          // The reply to be repeated is no longer kept.
class SeqGap : public Error { using Error::Error; };            // An earlier step of the session failed.
class SessionLost : public Error { using Error::Error; };       // The replica is gone, and so is the game: start anew.
class BodyTooLarge : public Error { using Error::Error; };      // Send less.
class BadPayload : public Error { using Error::Error; };        // The agent cannot read the body.
class ProtocolVersion : public Error { using Error::Error; };   // Client and service differ: update one of them.
class Overloaded : public Error { using Error::Error; };        // Still so after all retries.
class AgentError : public Error { using Error::Error; };        // The agent's own code failed.
class Draining : public Error { using Error::Error; };          // Still so after all retries.
class DeadlineExceeded : public Error { using Error::Error; };  // No answer within the step's deadline.

// Seen by the client.
class Unreachable : public Error { using Error::Error; };   // No connection within the step's time-out.
class TimedOut : public Error { using Error::Error; };      // Connected, but no answer within the step's time-out.
class Malformed : public Error { using Error::Error; };     // The reply answers something else than was asked.
class Closed : public Error { using Error::Error; };        // The client was closed.
class TooManySteps : public Error { using Error::Error; };  // The session has as many steps under way as it may.
class QueueFull : public Error { using Error::Error; };     // The client has as many steps under way as it may.
class Misuse : public Error { using Error::Error; };        // A call that can never work; the message says why.

// Throws the error class of the failure's code.
[[noreturn]] void raise(const Failure& failure);

}  // namespace sparring
