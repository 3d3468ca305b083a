#include "exchange.h"

#include <algorithm>
#include <functional>
#include <set>

namespace sparring {
namespace {

constexpr Milliseconds kTurnEvery{10};  // How often a repeated step looks whether the one before is answered.
constexpr std::chrono::seconds kIdle{1};

StepMessage message_of(const Step& step) {
    StepMessage message;
    message.kind = step.kind;
    message.body = step.body;
    message.deadline_ms = step.options.deadline_ms;
    message.delta = step.options.delta;
    if (step.session) {
        message.session = step.session->id;
        message.seq = step.seq;
        message.purpose = step.session->options.purpose;
        if (step.kind == Kind::start && step.session->id.empty()) message.idempotency_key = step.session->idempotency_key;
    }
    return message;
}

std::size_t key_of(const Step& step) { return std::hash<const void*>()(step.session.get()) / alignof(SessionState); }

}  // namespace

Exchange::Exchange(const Options& options, Desk& desk)
    : options_(options),
      desk_(desk),
      random_(std::random_device{}()),
      transport_(options_, random_),
      signer_(options_.credentials) {}

void Exchange::add(Steps steps) {
    Backoff backoff(options_.first_wait, options_.longest_wait);
    outgoing_.push_back({std::move(steps), backoff});
}

void Exchange::run_once() {
    release_delayed();
    send_outgoing();
    const bool busy = !outgoing_.empty() || !in_flight_.empty() || !delayed_.empty();
    auto until = Clock::now() + kIdle;
    if (busy) until = next_sweep_;
    if (!delayed_.empty()) until = std::min(until, delayed_.begin()->first);
    transport_.run_once(until, busy, *this);
    if (Clock::now() >= next_sweep_) sweep();
}

void Exchange::send_outgoing() {
    while (!outgoing_.empty()) {
        const LinkId link = transport_.pick(key_of(*outgoing_.front().steps.front()));
        if (link == kNoLink) return;
        Frame frame = std::move(outgoing_.front());
        outgoing_.pop_front();
        if (is_out_of_turn(frame)) {
            keep_in_turn(std::move(frame), kTurnEvery);
        } else {
            send(std::move(frame), link);
        }
    }
}

// Steps are repeated one behind another, and new ones behind them: a game that was restored goes on with whichever step
// reaches it first.
bool Exchange::is_out_of_turn(const Frame& frame) {
    if (in_turn_ == 0) return false;
    std::set<const SessionState*> seen;  // Their later steps in the frame are played behind the first.
    for (const StepPtr& step : frame.steps) {
        if (!step->finished && seen.insert(step->session.get()).second && !desk_.is_its_turn(step)) return true;
    }
    return false;
}

void Exchange::send(Frame frame, LinkId link) {
    frame.steps.erase(std::remove_if(frame.steps.begin(), frame.steps.end(),
                                     [](const StepPtr& step) { return step->finished; }),
                      frame.steps.end());
    if (frame.steps.empty()) return;
    RequestMessage request;
    request.request_id = ++last_request_id_;
    request.batch = frame.steps.size() > 1;
    request.credentials = signer_.credentials_for(request.batch ? nullptr : frame.steps.front()->session.get());
    for (const StepPtr& step : frame.steps) {
        step->transmitted = true;
        request.steps.push_back(message_of(*step));
    }
    std::string bytes;
    put_frame(bytes, request);
    frame.link = link;
    frame.size = bytes.size();
    frame.sent_at = Clock::now();
    in_flight_.emplace(request.request_id, std::move(frame));
    transport_.send(link, bytes);
}

void Exchange::release_delayed() {
    const auto due = delayed_.upper_bound(Clock::now());
    for (auto at = delayed_.begin(); at != due; ++at) outgoing_.push_back(std::move(at->second));
    delayed_.erase(delayed_.begin(), due);
}

void Exchange::send_again(Frame frame, Milliseconds wait) {
    ++resent_;
    frame.link = kNoLink;
    keep_in_turn(std::move(frame), wait);
}

void Exchange::keep_in_turn(Frame frame, Milliseconds wait) {
    for (const StepPtr& step : frame.steps) {
        if (step->finished || step->in_turn) continue;
        step->in_turn = true;
        ++in_turn_;
    }
    delayed_.emplace(Clock::now() + wait, std::move(frame));
}

void Exchange::on_lost(LinkId link) {
    for (auto at = in_flight_.begin(); at != in_flight_.end();) {
        if (at->second.link != link) {
            ++at;
            continue;
        }
        Frame frame = std::move(at->second);
        at = in_flight_.erase(at);
        // Whatever makes the service close the connection each time must not take the others' replies with it.
        const Milliseconds wait = ++frame.losses > 1 ? frame.backoff.next(random_) : Milliseconds{0};
        send_again(std::move(frame), wait);
    }
}

void Exchange::fail_all(const Failure& failure) {
    while (!outgoing_.empty() || !delayed_.empty() || !in_flight_.empty()) {
        Steps steps;
        for (Frame& frame : outgoing_) steps.insert(steps.end(), frame.steps.begin(), frame.steps.end());
        for (auto& [time, frame] : delayed_) steps.insert(steps.end(), frame.steps.begin(), frame.steps.end());
        for (auto& [id, frame] : in_flight_) steps.insert(steps.end(), frame.steps.begin(), frame.steps.end());
        outgoing_.clear(), delayed_.clear(), in_flight_.clear();
        for (const StepPtr& step : steps) {
            if (!step->finished) finish(step, failure);  // May add what waited behind.
        }
    }
}

void Exchange::count(Stats& stats) const {
    stats.resent = resent_;
    stats.malformed = malformed_;
    stats.late_replies = late_replies_;
    stats.connects = transport_.connects;
    stats.lost = transport_.lost;
}

void Exchange::finish(const StepPtr& step, Outcome outcome) {
    step->finished = true;
    if (step->in_turn) --in_turn_;
    desk_.finish(step, std::move(outcome));
}

}  // namespace sparring
