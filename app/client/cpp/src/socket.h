// Non-blocking TCP sockets; the only place that knows the platform.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace sparring::net {

#ifdef _WIN32
using Handle = SOCKET;
inline constexpr Handle kNoHandle = INVALID_SOCKET;
using PollEntry = WSAPOLLFD;
using Size = int;

inline void start_up() {
    static const int failed = [] {
        WSADATA data;
        return WSAStartup(MAKEWORD(2, 2), &data);
    }();
    if (failed) throw std::runtime_error("Windows has no sockets: error " + std::to_string(failed));
}
inline int last_error() { return WSAGetLastError(); }
inline std::string error_text(int error) { return "Windows sockets error " + std::to_string(error); }
inline bool would_block(int error) { return error == WSAEWOULDBLOCK; }
inline bool is_connecting(int error) { return error == WSAEWOULDBLOCK || error == WSAEINPROGRESS; }
inline void close_handle(Handle handle) { closesocket(handle); }
inline bool set_non_blocking(Handle handle) {
    u_long on = 1;
    return ioctlsocket(handle, FIONBIO, &on) == 0;
}
inline int poll_entries(std::vector<PollEntry>& entries, int timeout_ms) {
    return WSAPoll(entries.data(), static_cast<ULONG>(entries.size()), timeout_ms);
}
inline constexpr int kSendFlags = 0;
#else
using Handle = int;
inline constexpr Handle kNoHandle = -1;
using PollEntry = pollfd;
using Size = std::size_t;

inline void start_up() {}
inline int last_error() { return errno; }
inline std::string error_text(int error) { return std::strerror(error); }
inline bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }
inline bool is_connecting(int error) { return error == EINPROGRESS; }
inline void close_handle(Handle handle) { ::close(handle); }
inline bool set_non_blocking(Handle handle) {
    const int flags = fcntl(handle, F_GETFL);
    return flags >= 0 && fcntl(handle, F_SETFL, flags | O_NONBLOCK) == 0 && fcntl(handle, F_SETFD, FD_CLOEXEC) == 0;
}
inline int poll_entries(std::vector<PollEntry>& entries, int timeout_ms) {
    return ::poll(entries.data(), static_cast<nfds_t>(entries.size()), timeout_ms);
}
#ifdef MSG_NOSIGNAL
inline constexpr int kSendFlags = MSG_NOSIGNAL;  // A lost peer is an error, not a signal.
#else
inline constexpr int kSendFlags = 0;
#endif
#endif

// Owns a socket.
class Socket {
public:
    Socket() = default;
    explicit Socket(Handle handle) : handle_(handle) {}
    Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, kNoHandle)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Socket() {
        if (handle_ != kNoHandle) close_handle(handle_);
    }

    Handle handle() const { return handle_; }

    // Return bytes moved; -1 with last_error() otherwise. 0 of a receive: the peer has closed.
    long send(const char* data, std::size_t size) {
        return static_cast<long>(::send(handle_, data, static_cast<Size>(size), kSendFlags));
    }
    long receive(char* data, std::size_t size) {
        return static_cast<long>(::recv(handle_, data, static_cast<Size>(size), 0));
    }

private:
    Handle handle_ = kNoHandle;
};

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

// Returns the addresses of a host, which may be a number. Throws std::runtime_error where there are none.
inline std::vector<Address> resolve(const std::string& host, std::uint16_t port) {
    start_up();
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0) throw std::runtime_error("no address of " + host + ": error " + std::to_string(error));
    std::vector<Address> addresses;
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        Address address;
        address.size = static_cast<socklen_t>(at->ai_addrlen);
        std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
        addresses.push_back(address);
    }
    freeaddrinfo(found);
    return addresses;
}

// Begins a connection; it is made, or has failed, once the socket can be written to. Throws std::runtime_error.
inline Socket connect_to(const Address& address) {
    Socket socket(::socket(address.storage.ss_family, SOCK_STREAM, 0));
    if (socket.handle() == kNoHandle) throw std::runtime_error(error_text(last_error()));
    if (!set_non_blocking(socket.handle())) throw std::runtime_error(error_text(last_error()));
    const int on = 1;  // Ticks are small and wait for their answers.
    setsockopt(socket.handle(), IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&on), sizeof on);
#ifdef SO_NOSIGPIPE
    setsockopt(socket.handle(), SOL_SOCKET, SO_NOSIGPIPE, reinterpret_cast<const char*>(&on), sizeof on);
#endif
    if (::connect(socket.handle(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) {
        if (!is_connecting(last_error())) throw std::runtime_error(error_text(last_error()));
    }
    return socket;
}

// Returns how a connection that was begun has ended: 0, or an error.
inline int connect_result(const Socket& socket) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(socket.handle(), SOL_SOCKET, SO_ERROR, reinterpret_cast<char*>(&error), &size) != 0) {
        return last_error();
    }
    return error;
}

// Returns two sockets joined to each other, so that a thread in poll can be woken. Throws std::runtime_error.
inline std::pair<Socket, Socket> joined_sockets() {
#ifdef _WIN32
    start_up();
    const Socket listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int size = sizeof here;
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    if (::bind(listener.handle(), address, size) != 0 || ::listen(listener.handle(), 1) != 0 ||
        ::getsockname(listener.handle(), address, &size) != 0) {
        throw std::runtime_error(error_text(last_error()));
    }
    Socket one(::socket(AF_INET, SOCK_STREAM, 0));
    if (::connect(one.handle(), address, size) != 0) throw std::runtime_error(error_text(last_error()));
    Socket other(::accept(listener.handle(), nullptr, nullptr));
#else
    int handles[2] = {kNoHandle, kNoHandle};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, handles) != 0) throw std::runtime_error(error_text(last_error()));
    Socket one(handles[0]), other(handles[1]);
#endif
    if (!set_non_blocking(one.handle()) || !set_non_blocking(other.handle())) {
        throw std::runtime_error(error_text(last_error()));
    }
    return {std::move(one), std::move(other)};
}

}  // namespace sparring::net
