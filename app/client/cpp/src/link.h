// One connection to the service: frames out, frames in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backoff.h"
#include "socket.h"

namespace sparring {

using LinkId = std::uint64_t;
inline constexpr LinkId kNoLink = 0;

// Takes what a link receives.
class Receiver {
public:
    // Returns whether the frame's content is the protocol's; the link is cut if not.
    virtual bool on_message(LinkId link, std::string_view message) = 0;
    // The link is gone; what was sent on it and not answered never will be.
    virtual void on_lost(LinkId link) = 0;

protected:
    ~Receiver() = default;
};

class Link {
public:
    enum class State { connecting, open, broken };

    // Begins to connect. Throws std::runtime_error.
    Link(LinkId id, const net::Address& address, Clock::time_point connect_by)
        : id_(id), socket_(net::connect_to(address)), connect_by_(connect_by) {}

    LinkId id() const { return id_; }
    net::Handle handle() const { return socket_.handle(); }
    State state() const { return state_; }
    Clock::time_point connect_by() const { return connect_by_; }
    Clock::time_point last_read() const { return last_read_; }
    const std::string& error() const { return error_; }
    bool wants_write() const { return state_ == State::connecting || !out_.empty(); }
    std::size_t unsent() const { return out_.size() - sent_; }

    // What poll said of the socket.
    void on_writable();
    void on_readable(Receiver& receiver);

    // Sends a frame, now or when the socket takes it.
    void send(std::string_view frame);

    // Gives the connection up.
    void cut(std::string reason);

    std::size_t in_flight = 0;  // Requests whose replies are awaited here.
    bool retiring = false;      // Takes no more requests: its replica is going away.
    bool has_replied = false;

private:
    void flush();
    bool take_frames(Receiver& receiver);

    LinkId id_;
    net::Socket socket_;
    Clock::time_point connect_by_;
    Clock::time_point last_read_{};
    State state_ = State::connecting;
    std::string error_;
    std::string out_;
    std::size_t sent_ = 0;  // Bytes of `out_` that are gone.
    std::string in_;
};

}  // namespace sparring
