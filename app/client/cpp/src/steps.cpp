#include "steps.h"

#include <algorithm>

namespace sparring {

bool is_uncertain(const Failure& failure) {
    return failure.code == "deadline_exceeded" || failure.code == "timed_out" || failure.code == "unreachable";
}

void StepOrder::admit(StepPtr step) {
    if (steps_.size() >= window_) {
        raise({"too_many_steps", "the session has " + std::to_string(steps_.size()) +
                                     " steps under way; SessionOptions::pipeline allows " + std::to_string(window_)});
    }
    if (step->kind == Kind::start) {
        if (!steps_.empty()) raise({"misuse", "a start while steps of the session are under way; wait for them"});
        unsettled_.clear();  // Of the episode before.
        settling_.reset();
    }
    steps_.push_back(std::move(step));
}

Steps StepOrder::due() {
    Steps due;
    if (failed_) return due;
    if (!unsettled_.empty()) {
        if (settling_ || steps_.empty()) return due;
        settling_ = std::make_shared<Step>(*unsettled_.front());
        settling_->deadline = steps_.front()->deadline;
        return {settling_};
    }
    if (under_way() == 0) numbered_ = answered_;
    for (const StepPtr& step : steps_) {
        if (step->sent) continue;
        numbered_ = step->kind == Kind::start ? 0 : numbered_ + 1;
        step->seq = numbered_;
        step->sent = true;
        due.push_back(step);
    }
    return due;
}

Steps StepOrder::resolve(const StepPtr& step, Outcome outcome) {
    if (step == settling_) return settled(std::move(outcome));
    step->outcome = std::move(outcome);
    Steps delivered;
    while (!steps_.empty() && steps_.front()->outcome) {
        note(*steps_.front());
        delivered.push_back(std::move(steps_.front()));
        steps_.pop_front();
    }
    if (under_way() == 0) failed_ = false;
    return delivered;
}

void StepOrder::note(const Step& step) {
    if (step.outcome->ok()) {
        answered_ = *step.seq;
        unsettled_.clear();  // What came before has been played, too.
        return;
    }
    failed_ = true;
    const Failure& failure = step.outcome->failure();
    if (failure.code == "seq_gap") unsettled_.clear();  // What came before has not been played.
    if (step.kind != Kind::start && step.transmitted && is_uncertain(failure)) {
        unsettled_.push_back(std::make_shared<Step>(step));
        unsettled_.back()->outcome.reset();
        unsettled_.back()->finished = unsettled_.back()->in_turn = false;
        unsettled_.back()->done = nullptr;
    }
}

Steps StepOrder::settled(Outcome outcome) {
    settling_.reset();
    if (outcome.ok() || outcome.failure().code == "stale_seq") {
        answered_ = *unsettled_.front()->seq;
        unsettled_.pop_front();
        return {};
    }
    if (!is_uncertain(outcome.failure()) && outcome.failure().code != "closed") {
        unsettled_.clear();  // Not played, and so neither what came behind.
        return {};
    }
    if (steps_.empty()) return {};
    StepPtr waiting = std::move(steps_.front());
    steps_.pop_front();
    waiting->outcome = std::move(outcome);
    return {std::move(waiting)};
}

bool StepOrder::is_its_turn(const StepPtr& step) const {
    if (step == settling_) return true;  // Nothing else is sent meanwhile.
    for (const StepPtr& earlier : steps_) {
        if (earlier == step) break;
        if (!earlier->outcome && (earlier->in_turn || step->in_turn)) return false;
    }
    return true;
}

std::size_t StepOrder::under_way() const {
    return static_cast<std::size_t>(
        std::count_if(steps_.begin(), steps_.end(), [](const StepPtr& step) { return step->sent; }));
}

}  // namespace sparring
