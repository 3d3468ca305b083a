// The exchange's side of replies: which request each answers, and what becomes of its steps.
#include <algorithm>

#include "exchange.h"

namespace sparring {

bool Exchange::on_message(LinkId link, std::string_view message) {
    ReplyMessage reply;
    try {
        reply = parse_reply(message);
    } catch (const protobuf::ParseError&) {
        ++malformed_;
        return false;
    }
    if (reply.request_id == 0 && reply.error) {
        take_refusal(link, *reply.error);
        return true;
    }
    const auto found = in_flight_.find(reply.request_id);
    if (found == in_flight_.end() && reply.request_id > 0 && reply.request_id <= last_request_id_) {
        ++late_replies_;
        return true;
    }
    if (found == in_flight_.end() || found->second.link != link || !fits(reply, found->second)) {
        ++malformed_;
        return false;
    }
    Frame frame = std::move(found->second);
    in_flight_.erase(found);
    transport_.release(link);
    take(reply, std::move(frame));
    return true;
}

// The service could not tell which request it refuses, and reads no further.
void Exchange::take_refusal(LinkId link, const Failure& failure) {
    if (failure.code == "body_too_large") {  // Whichever it was, the largest is too large as well.
        auto largest = in_flight_.end();
        for (auto at = in_flight_.begin(); at != in_flight_.end(); ++at) {
            const bool larger = largest == in_flight_.end() || at->second.size > largest->second.size;
            if (at->second.link == link && larger) largest = at;
        }
        if (largest != in_flight_.end()) {
            const Frame frame = std::move(largest->second);
            in_flight_.erase(largest);
            for (const StepPtr& step : frame.steps) {
                if (!step->finished) finish(step, failure);
            }
        }
    }
    transport_.cut(link, "the service refused a request: " + failure.code + ": " + failure.message);
}

bool Exchange::fits(const ReplyMessage& reply, const Frame& frame) const {
    if (reply.error || (reply.protocol != 0 && reply.protocol != kProtocol)) return true;
    return reply.answers.size() == frame.steps.size() && reply.batch == (frame.steps.size() > 1);
}

void Exchange::take(const ReplyMessage& reply, Frame frame) {
    std::optional<Failure> all = reply.error;
    if (reply.protocol != 0 && reply.protocol != kProtocol) {
        all = Failure{"protocol_version", "the client speaks protocol " + std::to_string(kProtocol) +
                                              ", the service " + std::to_string(reply.protocol)};
    }
    Steps again;
    Milliseconds wait = frame.backoff.next(random_), at_least{0};
    for (std::size_t at = 0; at < frame.steps.size(); ++at) {
        const StepPtr& step = frame.steps[at];
        if (step->finished) continue;
        const Outcome outcome = all ? Outcome(*all) : reply.answers[at];
        if (outcome.ok()) {
            finish(step, outcome);
            continue;
        }
        const Milliseconds asked = std::chrono::seconds(outcome.failure().retry_after_s);
        if (outcome.failure().code == "draining") transport_.retire(frame.link);
        if (is_worth_repeating(step, outcome.failure(), asked + wait)) {
            at_least = std::max(at_least, asked);
            again.push_back(step);
        } else {
            finish(step, outcome);
        }
    }
    if (again.empty()) return;
    frame.steps = std::move(again);
    send_again(std::move(frame), at_least + wait);
}

bool Exchange::is_worth_repeating(const StepPtr& step, const Failure& failure, Milliseconds wait) {
    if (Clock::now() + wait >= step->deadline) return false;
    if (failure.retry_after_s > 0 || failure.code == "overloaded" || failure.code == "draining") return true;
    return failure.code == "seq_gap" && !desk_.is_first(step);  // The step before is being repeated.
}

}  // namespace sparring
