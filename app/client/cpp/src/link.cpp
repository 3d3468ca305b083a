#include "link.h"

#include "messages.h"

namespace sparring {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kReadsAtOnce = 16;                   // Then the other links have their turn.
constexpr std::size_t kKeptBytes = 1024 * 1024;  // A buffer that grew beyond is given back when it is empty.

void clear(std::string& buffer) {
    buffer.clear();
    if (buffer.capacity() > kKeptBytes) buffer.shrink_to_fit();
}

}  // namespace

void Link::on_writable() {
    if (state_ == State::connecting) {
        const int error = net::connect_result(socket_);
        if (error != 0) return cut(net::error_text(error));
        state_ = State::open;
        last_read_ = Clock::now();
    }
    flush();
}

void Link::on_readable(Receiver& receiver) {
    char chunk[kReadBytes];
    for (int at = 0; at < kReadsAtOnce && state_ == State::open; ++at) {
        const long size = socket_.receive(chunk, sizeof chunk);
        if (size == 0) return cut("closed by the service");
        if (size < 0) {
            if (!net::would_block(net::last_error())) cut(net::error_text(net::last_error()));
            return;
        }
        last_read_ = Clock::now();
        in_.append(chunk, static_cast<std::size_t>(size));
        if (!take_frames(receiver) || static_cast<std::size_t>(size) < sizeof chunk) return;
    }
}

bool Link::take_frames(Receiver& receiver) {
    std::size_t at = 0;
    while (in_.size() - at >= kFrameHead) {
        const std::string_view rest = std::string_view(in_).substr(at);
        const std::uint32_t size = frame_size(rest);
        if (size == 0 || size > kFrameMax) {
            cut("a frame of " + std::to_string(size) + " bytes; allowed are 1 to " + std::to_string(kFrameMax));
            return false;
        }
        if (rest.size() - kFrameHead < size) break;
        if (!receiver.on_message(id_, rest.substr(kFrameHead, size))) {
            cut("a reply that is not the protocol's");
            return false;
        }
        if (state_ == State::broken) return false;
        has_replied = true;
        at += kFrameHead + size;
    }
    in_.erase(0, at);
    if (in_.empty()) clear(in_);
    return true;
}

void Link::send(std::string_view frame) {
    const bool was_idle = out_.empty();
    out_.append(frame);
    if (was_idle && state_ == State::open) flush();
}

void Link::flush() {
    while (sent_ < out_.size()) {
        const long size = socket_.send(out_.data() + sent_, out_.size() - sent_);
        if (size < 0) {
            if (!net::would_block(net::last_error())) return cut(net::error_text(net::last_error()));
            if (sent_ > kKeptBytes) out_.erase(0, std::exchange(sent_, 0));
            return;
        }
        sent_ += static_cast<std::size_t>(size);
    }
    clear(out_);
    sent_ = 0;
}

void Link::cut(std::string reason) {
    if (state_ == State::broken) return;
    state_ = State::broken;
    error_ = std::move(reason);
    socket_ = net::Socket();
}

}  // namespace sparring
