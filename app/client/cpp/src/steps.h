// Steps on their way, and the order of those of one session. No I/O and no locks here.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backoff.h"
#include "sparring/client.h"

namespace sparring {

inline constexpr std::size_t kPipelineMax = 8;  // Replies that the service keeps of a session for repeated steps.

struct Step {
    std::shared_ptr<SessionState> session;  // None: a question without a session.
    Kind kind = Kind::tick;
    std::string body{};
    StepOptions options{};
    Callback done{};
    Clock::time_point deadline{};
    std::optional<std::uint64_t> seq{};
    bool sent = false;         // Numbered, and with the engine.
    bool transmitted = false;  // The service may have it.
    bool in_turn = false;      // Is sent only once all before it have their outcomes, as all behind it are.
    bool finished = false;     // Has its outcome, which may wait for its turn to be delivered.
    std::optional<Outcome> outcome{};
};

using StepPtr = std::shared_ptr<Step>;
using Steps = std::vector<StepPtr>;

// Numbers the steps of one session, lets at most `window` be under way, and delivers their outcomes in order.
//
// After a failure nothing new is sent until all that is under way has its outcome, since only then the next number is
// known. Where it is not known whether the service has played a step (no answer in time), that step is repeated, under
// its old number and once for each new step, before the new one: the agent sees every observation once and in order.
class StepOrder {
public:
    explicit StepOrder(std::size_t window) : window_(window) {}

    // Takes a step in. Throws TooManySteps, or Misuse for a start while others are under way.
    void admit(StepPtr step);
    // Takes the newest step out again, as if it had not been admitted; it must not be sent.
    void withdraw() { steps_.pop_back(); }

    // Returns the steps that are to be sent now, numbered.
    Steps due();

    // Notes a step's outcome and returns the steps to deliver, oldest first.
    Steps resolve(const StepPtr& step, Outcome outcome);

    // Returns whether no earlier step waits for its outcome.
    bool is_first(const StepPtr& step) const {
        return steps_.empty() || step == settling_ || step == steps_.front();
    }
    // Returns whether a step may be sent: none before it waits, or they are under way together.
    bool is_its_turn(const StepPtr& step) const;

private:
    std::size_t under_way() const;
    void note(const Step& step);
    Steps settled(Outcome outcome);

    std::size_t window_;
    std::deque<StepPtr> steps_;     // Not delivered, oldest first.
    std::deque<StepPtr> unsettled_;  // Delivered as failed, but the service may have played them.
    StepPtr settling_;               // The one of them that is being repeated.
    bool failed_ = false;            // A step failed while others were under way.
    std::uint64_t answered_ = 0;     // Newest number with an answer.
    std::uint64_t numbered_ = 0;     // Newest number given out.
};

// Returns whether a failure leaves open if the service has played, or will play, the step.
bool is_uncertain(const Failure& failure);

}  // namespace sparring
