// The exchange's side of time: steps that are late, requests that got no reply.
#include <algorithm>

#include "exchange.h"

namespace sparring {
namespace {

constexpr Milliseconds kSweepEvery{20};  // How late a time-out may be noticed.

bool all_finished(const Steps& steps) {
    return std::all_of(steps.begin(), steps.end(), [](const StepPtr& step) { return step->finished; });
}

}  // namespace

void Exchange::sweep() {
    next_sweep_ = Clock::now() + kSweepEvery;
    for (Frame& frame : outgoing_) give_up_late_steps(frame);
    for (auto& [time, frame] : delayed_) give_up_late_steps(frame);
    std::vector<std::uint64_t> ended;
    for (auto& [id, frame] : in_flight_) look_at(id, frame, ended);
    for (const std::uint64_t id : ended) {
        Frame frame = std::move(in_flight_.at(id));
        in_flight_.erase(id);
        transport_.release(frame.link);
        if (!all_finished(frame.steps)) send_again(std::move(frame), Milliseconds{0});
    }
    const auto is_over = [](const Frame& frame) { return all_finished(frame.steps); };
    outgoing_.erase(std::remove_if(outgoing_.begin(), outgoing_.end(), is_over), outgoing_.end());
    for (auto at = delayed_.begin(); at != delayed_.end();) at = is_over(at->second) ? delayed_.erase(at) : ++at;
}

void Exchange::look_at(std::uint64_t id, Frame& frame, std::vector<std::uint64_t>& ended) {
    give_up_late_steps(frame);
    if (all_finished(frame.steps)) {
        ended.push_back(id);
        return;
    }
    if (Clock::now() < frame.sent_at + options_.request_timeout) return;
    if (transport_.silent_since(frame.link, frame.sent_at)) {
        transport_.cut(frame.link, "no reply within " + std::to_string(options_.request_timeout.count()) + " ms");
    } else {
        ended.push_back(id);  // The connection works, its request is stuck.
    }
}

void Exchange::give_up_late_steps(Frame& frame) {
    const auto now = Clock::now();
    for (const StepPtr& step : frame.steps) {
        if (!step->finished && now >= step->deadline) finish(step, late(*step));
    }
}

Failure Exchange::late(const Step& step) const {
    const std::string within = " within " + std::to_string(options_.step_timeout.count()) + " ms";
    if (transport_.connected()) return {"timed_out", "no answer" + within + "; sent: " + (step.transmitted ? "yes" : "no")};
    return {"unreachable", "no answer" + within + "; " + transport_.last_error()};
}

}  // namespace sparring
