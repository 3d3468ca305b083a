#include "engine.h"

#include <algorithm>

namespace sparring {
namespace {

constexpr std::size_t kAroundBody = 4096;  // Bytes that ids, credentials and field headers of a step may take.

void check(bool holds, const std::string& message) {
    if (!holds) raise({"misuse", message});
}

void check_options(const Options& options) {
    check(options.port > 0, "Options::port is 0; allowed are 1 to 65535");
    check(options.connections >= 1 && options.connections <= 64, "Options::connections is to be 1 to 64");
    check(options.max_in_flight >= 1, "Options::max_in_flight is to be at least 1");
    check(options.max_unanswered >= 1, "Options::max_unanswered is to be at least 1");
    const Milliseconds shortest = std::min({options.connect_timeout, options.request_timeout, options.step_timeout});
    check(shortest.count() > 0, "the time-outs of Options are to be positive");
    check(options.first_wait.count() > 0 && options.longest_wait >= options.first_wait,
          "Options::first_wait is to be positive, and longest_wait not below it");
}

void check_size(const Steps& steps) {
    check(!steps.empty() && steps.size() <= kBatchMax,
          "a batch of " + std::to_string(steps.size()) + " steps; allowed are 1 to " + std::to_string(kBatchMax));
    std::size_t size = kAroundBody;
    for (const StepPtr& step : steps) {
        size += step->body.size() + 64 + (step->session ? step->session->options.game.size() : 0);
    }
    if (size > kFrameMax) {
        raise({"body_too_large", "a request of " + std::to_string(size) + " bytes; allowed are " +
                                     std::to_string(kFrameMax)});
    }
}

}  // namespace

Engine::Engine(Options options) : options_(std::move(options)), exchange_(options_, *this) {}

std::shared_ptr<Engine> Engine::open(Options options) {
    check_options(options);
    std::shared_ptr<Engine> engine(new Engine(std::move(options)));
    engine->thread_ = std::thread([engine] { engine->run(); });
    return engine;
}

void Engine::submit(Steps steps) {
    check_size(steps);
    {
        const std::lock_guard lock(mutex_);
        if (closing_) raise({"closed", "the client is closed"});
        if (unanswered_ + steps.size() > options_.max_unanswered) {
            raise({"queue_full", std::to_string(unanswered_) + " steps wait for an answer; " +
                                     "Options::max_unanswered allows " + std::to_string(options_.max_unanswered)});
        }
        admit(steps);
        unanswered_ += steps.size();
        Steps sent = due(steps);
        if (!sent.empty()) submitted_.push_back(std::move(sent));
    }
    exchange_.wake();
}

void Engine::admit(const Steps& steps) {
    const auto deadline = Clock::now() + options_.step_timeout;
    std::size_t admitted = 0;
    try {
        for (const StepPtr& step : steps) {
            step->deadline = deadline;
            if (step->session) {
                check(step->kind == Kind::start || !step->session->id.empty(),
                      "the session has no id until its start is answered");
                step->session->order.admit(step);
            }
            ++admitted;
        }
    } catch (const Error&) {
        while (admitted > 0) {
            if (const StepPtr& step = steps[--admitted]; step->session) step->session->order.withdraw();
        }
        throw;
    }
}

Steps Engine::due(const Steps& steps) {
    Steps all;
    for (const StepPtr& step : steps) {
        if (!step->session) {
            all.push_back(step);
            continue;
        }
        const Steps due = step->session->order.due();  // All of the session's at its first step, then none.
        all.insert(all.end(), due.begin(), due.end());
    }
    return all;
}

void Engine::run() {
    thread_id_ = std::this_thread::get_id();
    while (true) {
        {
            const std::lock_guard lock(mutex_);
            if (closing_) break;
        }
        take_submitted();
        exchange_.run_once();
        deliver();
    }
    take_submitted();
    exchange_.fail_all({"closed", "the client was closed before the answer came"});
    deliver();
    thread_id_ = std::thread::id();
}

void Engine::take_submitted() {
    std::vector<Steps> submitted;
    {
        const std::lock_guard lock(mutex_);
        submitted.swap(submitted_);
    }
    for (Steps& steps : submitted) exchange_.add(std::move(steps));
}

void Engine::finish(const StepPtr& step, Outcome outcome) {
    const std::lock_guard lock(mutex_);
    if (!step->session) {
        step->outcome = std::move(outcome);
        delivered_.push_back(step);
        return;
    }
    SessionState& session = *step->session;
    if (outcome.ok() && session.id.empty()) session.id = outcome.answer().session;
    const Steps delivered = session.order.resolve(step, std::move(outcome));
    delivered_.insert(delivered_.end(), delivered.begin(), delivered.end());
    for (const StepPtr& next : session.order.due()) exchange_.add({next});
}

bool Engine::is_first(const StepPtr& step) {
    const std::lock_guard lock(mutex_);
    return !step->session || step->session->order.is_first(step);
}

bool Engine::is_its_turn(const StepPtr& step) {
    const std::lock_guard lock(mutex_);
    return !step->session || step->session->order.is_its_turn(step);
}

void Engine::deliver() {
    Steps delivered;
    delivered.swap(delivered_);
    {
        const std::lock_guard lock(mutex_);
        unanswered_ -= delivered.size();
    }
    for (const StepPtr& step : delivered) {
        ++(step->outcome->ok() ? answered_ : failed_);
        try {
            step->done(*step->outcome);
        } catch (const Closed&) {  // It was refused its next step because the client is being closed.
        }
    }
}

std::string Engine::id_of(const SessionState& session) {
    const std::lock_guard lock(mutex_);
    return session.id;
}

Stats Engine::stats() {
    Stats stats;
    exchange_.count(stats);
    stats.answered = answered_;
    stats.failed = failed_;
    const std::lock_guard lock(mutex_);
    stats.unanswered = unanswered_;
    return stats;
}

void Engine::check_may_wait() const {
    if (std::this_thread::get_id() == thread_id_) {
        raise({"misuse", "a callback waits for an answer, which its own thread would have to read; pass a callback"});
    }
}

void Engine::close() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    exchange_.wake();
    if (std::this_thread::get_id() == thread_id_) {
        const std::unique_lock lock(join_mutex_, std::try_to_lock);
        if (lock && thread_.joinable()) thread_.detach();  // It ends once this callback has returned.
        return;
    }
    const std::lock_guard lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
}

}  // namespace sparring
