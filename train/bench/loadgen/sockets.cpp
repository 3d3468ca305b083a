#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "http.h"

namespace loadgen {
namespace {

constexpr int kTries = 200;     // Connections until the kernel has certainly picked the wanted replica once.
constexpr int kTimeoutS = 10;  // Of the answer that tells which replica it is.

int open_socket(const Options& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(options.port));
  if (inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1)
    throw std::runtime_error("--host is " + options.host + "; allowed is an IPv4 address");
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  std::string why = std::strerror(errno);
  close(fd);
  throw std::runtime_error("cannot connect to " + options.host + ":" + std::to_string(options.port) + ": " + why);
}

// Returns the process id that the replica behind a connection tells.
int pid_behind(int fd) {
  timeval limit{kTimeoutS, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const std::string ask = "GET /status HTTP/1.1\r\nHost: replica\r\n\r\n";
  if (write(fd, ask.data(), ask.size()) != static_cast<ssize_t>(ask.size()))
    throw std::runtime_error("cannot ask for /status");
  std::string in;
  char part[4096];
  while (read_http(in).size == 0) {
    ssize_t count = read(fd, part, sizeof part);
    if (count <= 0) throw std::runtime_error("no answer to /status");
    in.append(part, static_cast<std::size_t>(count));
  }
  std::size_t at = in.find("\"pid\":");
  if (at == std::string::npos) throw std::runtime_error("/status tells no pid: " + in.substr(0, 300));
  return std::atoi(in.c_str() + at + 6);
}

}  // namespace

int connect_to(const Options& options) {
  for (int i = 0; i < kTries; ++i) {
    int fd = open_socket(options);
    if (options.only_pid == 0 || pid_behind(fd) == options.only_pid) {
      fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      return fd;
    }
    close(fd);
  }
  throw std::runtime_error("no connection reaches process " + std::to_string(options.only_pid));
}

}  // namespace loadgen
