// The client's connections: opened when requests wait, opened again when lost, replaced when their replica goes away.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backoff.h"
#include "link.h"
#include "socket.h"
#include "sparring/client.h"

namespace sparring {

// All methods but wake and the counts belong to the I/O thread.
class Transport {
public:
    // Throws std::runtime_error where the platform has no sockets.
    Transport(const Options& options, Random& random);

    // Ends a wait of the I/O thread, also the next one if there is none now. Any thread may call it.
    void wake();

    // Waits for sockets until `until` at most, and serves them. With `wanted` it opens connections that are missing.
    void run_once(Clock::time_point until, bool wanted, Receiver& receiver);

    // Returns a link that takes another request, kNoLink where none does now; requests of one `key` stay together.
    LinkId pick(std::size_t key) const;

    void send(LinkId link, std::string_view frame);
    // A request that was sent on the link is answered or given up.
    void release(LinkId link);
    // Takes no more requests to this link: its replica is going away.
    void retire(LinkId link);
    void cut(LinkId link, const std::string& reason);
    // Returns whether nothing has arrived on the link since then.
    bool silent_since(LinkId link, Clock::time_point then) const;

    // Returns whether a connection is open, and why the last one was not made or did not last.
    bool connected() const;
    const std::string& last_error() const { return last_error_; }

    std::atomic<std::uint64_t> connects{0};
    std::atomic<std::uint64_t> lost{0};

private:
    // One of the connections that the options ask for.
    struct Slot {
        std::unique_ptr<Link> link;
        Backoff backoff;
        Clock::time_point next_try{};
        std::vector<net::Address> addresses{};
        std::size_t address = 0;  // The next one to try.
    };

    void connect(Slot& slot);
    void connect_failed(Slot& slot, const std::string& reason);
    void replace_retiring(Slot& slot);
    int poll_ms(Clock::time_point until, bool wanted) const;
    void serve(std::size_t entry, Link& link, Receiver& receiver);
    void reap(Receiver& receiver);
    void reap(Slot& slot, Receiver& receiver);
    bool takes_requests(const Link* link) const;
    Link* find(LinkId id) const;
    std::vector<Link*> links() const;

    const Options& options_;
    Random& random_;
    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<Link>> retired_;  // With replies to come, or nothing in their place yet; one a slot.
    LinkId last_id_ = kNoLink;
    std::string last_error_ = "not tried yet";
    std::pair<net::Socket, net::Socket> bell_;  // Written by wake, read by the I/O thread.
    std::atomic<bool> rung_{false};
    std::vector<net::PollEntry> entries_;
};

}  // namespace sparring
