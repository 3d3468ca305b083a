#include "check.h"
#include "steps.h"

using namespace sparring;

static StepPtr make(Kind kind = Kind::tick) {
    auto step = std::make_shared<Step>();
    step->kind = kind;
    return step;
}

static StepPtr admitted(StepOrder& order, Kind kind = Kind::tick) {
    StepPtr step = make(kind);
    order.admit(step);
    return step;
}

// Sends what is due, as the engine does, and returns its numbers.
static std::string sent(StepOrder& order, Steps* steps = nullptr) {
    std::string numbers;
    for (const StepPtr& step : order.due()) {
        step->transmitted = true;
        numbers += (numbers.empty() ? "" : " ") + std::to_string(*step->seq);
        if (steps) steps->push_back(step);
    }
    return numbers;
}

static std::string numbers(const Steps& steps) {
    std::string text;
    for (const StepPtr& step : steps) text += std::to_string(step->seq.value_or(99)) + (step->outcome->ok() ? "+" : "-");
    return text;
}

static const Failure kBad{"bad_payload", ""}, kLate{"deadline_exceeded", ""}, kGap{"seq_gap", ""};

TEST(a_start_has_0_and_what_follows_counts_on) {
    StepOrder order(2);
    const StepPtr start = admitted(order, Kind::start), first = admitted(order);
    CHECK_EQUAL(sent(order), "0 1");
    CHECK_EQUAL(numbers(order.resolve(start, Answer{})), "0+");
    CHECK_EQUAL(numbers(order.resolve(first, Answer{})), "1+");
    admitted(order), admitted(order);
    CHECK_EQUAL(sent(order), "2 3");
}

TEST(no_more_steps_than_the_window_are_taken) {
    StepOrder order(1);
    const StepPtr step = admitted(order);
    CHECK_THROWS(TooManySteps, order.admit(make()));
    sent(order);
    order.resolve(step, Answer{});
    order.admit(make());
}

TEST(outcomes_are_delivered_in_order) {
    StepOrder order(3);
    const StepPtr one = admitted(order), two = admitted(order), three = admitted(order);
    sent(order);
    CHECK_EQUAL(numbers(order.resolve(three, Answer{})), "");
    CHECK(order.is_first(one) && !order.is_first(two));
    CHECK_EQUAL(numbers(order.resolve(two, Answer{})), "");
    CHECK_EQUAL(numbers(order.resolve(one, Answer{})), "1+2+3+");
}

TEST(the_number_of_a_refused_step_is_the_next_ones) {
    StepOrder order(1);
    const StepPtr step = admitted(order);
    sent(order);
    CHECK_EQUAL(numbers(order.resolve(step, kBad)), "1-");
    admitted(order);
    CHECK_EQUAL(sent(order), "1");
}

TEST(after_a_failure_nothing_is_sent_until_all_under_way_is_known) {
    StepOrder order(3);
    const StepPtr one = admitted(order), two = admitted(order);
    sent(order);
    order.resolve(one, kBad);
    admitted(order);
    CHECK_EQUAL(sent(order), "");
    CHECK_EQUAL(numbers(order.resolve(two, kGap)), "2-");
    CHECK_EQUAL(sent(order), "1");
}

TEST(a_step_behind_that_is_answered_proves_the_one_before_was_played) {
    StepOrder order(2);
    const StepPtr one = admitted(order), two = admitted(order);
    sent(order);
    order.resolve(one, kLate);
    order.resolve(two, Answer{});
    admitted(order);
    CHECK_EQUAL(sent(order), "3");
}

TEST(a_step_whose_fate_is_unknown_is_repeated_before_the_next) {
    StepOrder order(1);
    const StepPtr late = admitted(order);
    sent(order);
    CHECK_EQUAL(numbers(order.resolve(late, kLate)), "1-");
    CHECK_EQUAL(sent(order), "");
    admitted(order);
    Steps again;
    CHECK_EQUAL(sent(order, &again), "1");
    CHECK(again.at(0) != late && !again[0]->done);
    CHECK_EQUAL(sent(order), "");
    CHECK_EQUAL(numbers(order.resolve(again[0], Answer{})), "");
    CHECK_EQUAL(sent(order), "2");
}

TEST(a_repeated_step_that_was_not_played_gives_its_number_back) {
    StepOrder order(1);
    const StepPtr late = admitted(order);
    sent(order);
    order.resolve(late, kLate);
    admitted(order);
    Steps again;
    sent(order, &again);
    order.resolve(again.at(0), kBad);
    CHECK_EQUAL(sent(order), "1");
}

TEST(a_step_fails_unsent_while_the_one_before_stays_unknown) {
    StepOrder order(1);
    const StepPtr late = admitted(order);
    sent(order);
    order.resolve(late, kLate);
    for (int at = 0; at < 3; ++at) {
        const StepPtr waiting = admitted(order);
        Steps again;
        CHECK_EQUAL(sent(order, &again), "1");
        CHECK_EQUAL(numbers(order.resolve(again.at(0), kLate)), "99-");
        CHECK_EQUAL(waiting->outcome->failure().code, "deadline_exceeded");
    }
}

TEST(a_step_that_was_never_transmitted_is_not_repeated) {
    StepOrder order(1);
    const StepPtr step = admitted(order);
    order.due();
    order.resolve(step, Failure{"unreachable", ""});
    admitted(order);
    Steps next;
    CHECK_EQUAL(sent(order, &next), "1");
    CHECK(next.at(0) != step);
    CHECK_EQUAL(numbers(order.resolve(next[0], Answer{})), "1+");
}

TEST(a_start_begins_anew) {
    StepOrder order(1);
    const StepPtr late = admitted(order, Kind::stop);
    sent(order);
    CHECK_THROWS(Error, order.admit(make(Kind::start)));
    order.resolve(late, kLate);
    const StepPtr start = admitted(order, Kind::start);
    CHECK_EQUAL(sent(order), "0");
    order.resolve(start, Answer{});
    admitted(order);
    CHECK_EQUAL(sent(order), "1");
}
