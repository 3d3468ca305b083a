#include "exchange.h"

#include <algorithm>
#include <functional>
#include <set>

namespace sparring {
namespace {

constexpr Milliseconds kSweepEvery{20};  // How late a time-out may be noticed.
constexpr Milliseconds kTurnEvery{10};  // How often a repeated step looks whether the one before is answered.
constexpr std::chrono::seconds kIdle{1};

bool all_finished(const Steps& steps) {
    return std::all_of(steps.begin(), steps.end(), [](const StepPtr& step) { return step->finished; });
}

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
            delayed_.emplace(Clock::now() + kTurnEvery, std::move(frame));
        } else {
            send(std::move(frame), link);
        }
    }
}

// Steps are repeated one behind another: a game that was restored goes on with whichever step reaches it first.
bool Exchange::is_out_of_turn(const Frame& frame) {
    if (!frame.repeated) return false;
    std::set<const SessionState*> seen;  // Their later steps in the frame are played behind the first.
    for (const StepPtr& step : frame.steps) {
        if (!step->finished && seen.insert(step->session.get()).second && !desk_.is_first(step)) return true;
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
    frame.repeated = true;
    frame.link = kNoLink;
    delayed_.emplace(Clock::now() + wait, std::move(frame));
}

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
    desk_.finish(step, std::move(outcome));
}

}  // namespace sparring
