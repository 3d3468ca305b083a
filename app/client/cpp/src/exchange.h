// Sends requests until each has its reply: matches, repeats, gives up. All of it belongs to the I/O thread.
#pragma once

#include <deque>
#include <map>

#include "messages.h"
#include "signer.h"
#include "transport.h"

namespace sparring {

// Takes the outcomes of steps.
class Desk {
public:
    virtual void finish(const StepPtr& step, Outcome outcome) = 0;
    // Returns whether no earlier step of the same session waits for its outcome.
    virtual bool is_first(const StepPtr& step) = 0;
    // Returns whether it may be sent before earlier steps of the same session have their outcomes.
    virtual bool is_its_turn(const StepPtr& step) = 0;

protected:
    ~Desk() = default;
};

class Exchange : private Receiver {
public:
    Exchange(const Options& options, Desk& desk);

    // Sends steps as one request; with several it is a batch.
    void add(Steps steps);
    // Sends, receives and waits for a moment.
    void run_once();
    // Ends the current wait, or the next one. Any thread may call it.
    void wake() { transport_.wake(); }
    // Fails all steps.
    void fail_all(const Failure& failure);
    // Adds the counts of the wire; any thread may call it.
    void count(Stats& stats) const;

private:
    struct Frame {
        Steps steps;
        Backoff backoff;
        int losses = 0;  // Connections that were lost under it.
        LinkId link = kNoLink;
        std::size_t size = 0;  // Bytes as sent.
        Clock::time_point sent_at{};
    };
    using Frames = std::map<std::uint64_t, Frame>;

    bool on_message(LinkId link, std::string_view message) override;
    void on_lost(LinkId link) override;

    void send_outgoing();
    void send(Frame frame, LinkId link);
    bool is_out_of_turn(const Frame& frame);
    void keep_in_turn(Frame frame, Milliseconds wait);
    void release_delayed();
    void send_again(Frame frame, Milliseconds wait);
    void take_refusal(LinkId link, const Failure& failure);
    bool fits(const ReplyMessage& reply, const Frame& frame) const;
    void take(const ReplyMessage& reply, Frame frame);
    bool is_worth_repeating(const StepPtr& step, const Failure& failure, Milliseconds wait);
    void sweep();
    void give_up_late_steps(Frame& frame);
    void look_at(std::uint64_t id, Frame& frame, std::vector<std::uint64_t>& ended);
    Failure late(const Step& step) const;
    void finish(const StepPtr& step, Outcome outcome);

    const Options& options_;
    Desk& desk_;
    Random random_;
    Transport transport_;
    Signer signer_;
    std::deque<Frame> outgoing_;                           // Wait for a connection with room.
    std::multimap<Clock::time_point, Frame> delayed_;      // Wait for their time.
    Frames in_flight_;                                     // Wait for their replies.
    std::size_t in_turn_ = 0;                              // Steps that are sent one behind another, not finished.
    std::uint64_t last_request_id_ = 0;
    Clock::time_point next_sweep_{};
    std::atomic<std::uint64_t> resent_{0};
    std::atomic<std::uint64_t> malformed_{0};
    std::atomic<std::uint64_t> late_replies_{0};
};

}  // namespace sparring
