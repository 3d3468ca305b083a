// What all sessions of a client share: the lock, the I/O thread, and the way from callers to the exchange and back.
#pragma once

#include <mutex>
#include <thread>

#include "exchange.h"

namespace sparring {

class Engine : private Desk {
public:
    // Returns a running engine. Throws Misuse for options out of bounds, std::runtime_error where there are no sockets.
    static std::shared_ptr<Engine> open(Options options);
    ~Engine() = default;

    const Options& options() const { return options_; }

    // Sends steps as one request; their `done` get the outcomes. Throws as Session says, and then sends none.
    void submit(Steps steps);

    std::string id_of(const SessionState& session);
    Stats stats();

    // Throws Misuse in a callback, where waiting would never end.
    void check_may_wait() const;

    void close();

private:
    explicit Engine(Options options);

    void run();
    void take_submitted();
    void deliver();
    void admit(const Steps& steps);
    Steps due(const Steps& steps);
    void finish(const StepPtr& step, Outcome outcome) override;
    bool is_first(const StepPtr& step) override;
    bool is_its_turn(const StepPtr& step) override;

    const Options options_;
    Exchange exchange_;

    std::mutex mutex_;  // Guards the sessions and what follows.
    std::vector<Steps> submitted_;
    std::size_t unanswered_ = 0;
    bool closing_ = false;

    Steps delivered_;  // The I/O thread's: have their outcomes, and their callbacks not yet called.
    std::atomic<std::uint64_t> answered_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::mutex join_mutex_;
    std::thread thread_;
    std::atomic<std::thread::id> thread_id_{};
};

}  // namespace sparring
