#include "load.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

#include "connection.h"
#include "processes.h"

namespace loadgen {
namespace {

constexpr int kEvents = 256;
constexpr double kGraceS = 10;   // Longest wait for starts, and for the last replies.
constexpr long kMaxErrors = 100;  // Then the run says nothing any more.
constexpr int kWaitMs = 50;

class Load {
 public:
  explicit Load(const Options& options) : options_(options), protocol_(make_protocol(options)) {
    epoll_ = epoll_create1(0);
    for (int i = 0; i < options.connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(options, *protocol_, i));
      watch(EPOLL_CTL_ADD, i, EPOLLIN);
    }
    open_ = options.connections;
  }

  ~Load() { close(epoll_); }

  Result run() {
    for (int i = 0; i < options_.connections; ++i) send(i);
    turn_until(kGraceS, [this] { return all_ticking(); });
    if (!all_ticking()) fail("the sessions did not start in time");
    turn_until(options_.warmup_s, [] { return false; });
    measure();
    for (auto& connection : connections_)
      if (connection) connection->stop();
    turn_until(kGraceS, [this] { return open_ == 0; });
    if (open_) fail("the last replies did not come in time");
    return std::move(result_);
  }

 private:
  void measure() {
    std::vector<double> before = cpu_s(options_.pids);
    double own = own_cpu_s(), start = now_s();
    measuring_ = true;
    turn_until(options_.seconds, [] { return false; });
    measuring_ = false;
    result_.seconds = now_s() - start;
    result_.cpu_s = own_cpu_s() - own;
    result_.watched_s = cpu_s(options_.pids);
    for (std::size_t i = 0; i < before.size(); ++i) result_.watched_s[i] -= before[i];
  }

  template <typename Done>
  void turn_until(double limit_s, Done done) {
    double end = now_s() + limit_s;
    while (open_ && result_.errors < kMaxErrors && now_s() < end && !done()) turn();
  }

  void turn() {
    epoll_event events[kEvents];
    int count = epoll_wait(epoll_, events, kEvents, kWaitMs);
    if (count < 0 && errno != EINTR) throw std::runtime_error("epoll_wait failed");
    for (int i = 0; i < count; ++i) {
      int at = static_cast<int>(events[i].data.u32);
      if (!connections_[at]) continue;
      try {
        if (events[i].events & EPOLLOUT && connections_[at]->flush()) watch(EPOLL_CTL_MOD, at, EPOLLIN);
        if (events[i].events & ~EPOLLOUT) receive(at);
      } catch (const std::runtime_error& error) {
        lose(at, error.what());
      }
    }
  }

  void receive(int at) {
    Outcome outcome = connections_[at]->receive();
    if (!outcome.replied) return;
    for (const std::string& error : outcome.errors) fail(error);
    if (measuring_ && outcome.ticks) {
      result_.ticks += outcome.steps;
      result_.latencies_s.push_back(static_cast<float>(outcome.latency_s));
    }
    send(at);
  }

  void send(int at) {
    Connection& connection = *connections_[at];
    if (!connection.finished()) connection.send_next();
    if (connection.finished())
      lose(at, "");
    else if (!connection.flush())
      watch(EPOLL_CTL_MOD, at, EPOLLIN | EPOLLOUT);
  }

  void lose(int at, const std::string& why) {
    if (!why.empty()) fail(why);
    connections_[at].reset();
    --open_;
  }

  void fail(const std::string& why) {
    if (result_.errors++ == 0) result_.first_error = why;
  }

  bool all_ticking() const {
    for (const auto& connection : connections_)
      if (connection && !connection->ticking()) return false;
    return true;
  }

  void watch(int operation, int at, unsigned events) {
    epoll_event event{};
    event.events = events;
    event.data.u32 = static_cast<unsigned>(at);
    epoll_ctl(epoll_, operation, connections_[at]->fd(), &event);
  }

  const Options& options_;
  std::unique_ptr<Protocol> protocol_;
  std::vector<std::unique_ptr<Connection>> connections_;
  int epoll_ = -1, open_ = 0;
  bool measuring_ = false;
  Result result_;
};

}  // namespace

std::unique_ptr<Protocol> make_protocol(const Options& options) {
  switch (options.mode) {
    case Mode::kBray: return make_bray(options);
    case Mode::kNative:
    case Mode::kBatch: return make_native(options);
    default: return make_http(options);
  }
}

Result run_load(const Options& options) { return Load(options).run(); }

}  // namespace loadgen
