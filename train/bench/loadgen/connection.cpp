#include "connection.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <unistd.h>

#include "sockets.h"

namespace loadgen {
namespace {

constexpr std::size_t kRead = 256 * 1024;  // Bytes asked for at a time.
constexpr std::uint64_t kNumbers = 1'000'000'000'000;  // Ticks of one connection that are told apart.

}  // namespace

double now_s() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Connection::Connection(const Options& options, Protocol& protocol, int number)
    : options_(options), protocol_(protocol), number_(number) {
  fd_ = connect_to(options);
  for (int i = 0; i < options.sessions; ++i) {
    sessions_.push_back(options.prefix + "-" + std::to_string(number) + "-" + std::to_string(i) + options.suffix);
    payloads_.emplace_back(options);
  }
  seqs_.resize(sessions_.size());
  if (options.attach) phase_ = Kind::kTick;
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

std::size_t Connection::per_request() const { return options_.batched() ? sessions_.size() : 1; }

void Connection::send_next() {
  if (phase_ == Kind::kTick && stopping_ && next_ == 0) {
    phase_ = Kind::kStop;
    if ((finished_ = options_.attach)) return;
  }
  steps_.clear();
  for (std::size_t i = next_; i < next_ + per_request(); ++i) {
    std::uint64_t seq = phase_ == Kind::kStart ? 0 : ++seqs_[i];
    if (phase_ == Kind::kTick) payloads_[i].stamp(number_ * kNumbers + ++ticks_);
    steps_.push_back({&sessions_[i], phase_, phase_ == Kind::kTick ? payloads_[i].body() : std::string_view(), seq});
  }
  out_.clear();
  written_ = 0;
  protocol_.encode(steps_, out_);
  sent_s_ = now_s();
  flush();
}

bool Connection::flush() {
  while (written_ < out_.size()) {
    ssize_t count = write(fd_, out_.data() + written_, out_.size() - written_);
    if (count < 0 && errno == EAGAIN) return false;
    if (count < 0 && errno != EINTR) throw std::runtime_error(std::string("cannot write: ") + std::strerror(errno));
    if (count > 0) written_ += static_cast<std::size_t>(count);
  }
  return true;
}

Outcome Connection::receive() {
  static char part[kRead];  // Shared: it is empty between two calls.
  ssize_t count = read(fd_, part, kRead);
  if (count > 0) in_.append(part, static_cast<std::size_t>(count));
  if (count == 0) throw std::runtime_error("the service has closed a connection");
  if (count < 0 && errno != EAGAIN && errno != EINTR)
    throw std::runtime_error(std::string("cannot read: ") + std::strerror(errno));
  Outcome outcome;
  answers_.clear();
  std::size_t size = protocol_.decode(in_, answers_);
  if (size == 0) return outcome;
  outcome.replied = true;
  outcome.latency_s = now_s() - sent_s_;
  outcome.ticks = phase_ == Kind::kTick;
  if (answers_.size() != steps_.size())
    outcome.errors.push_back(std::to_string(answers_.size()) + " answers to " + std::to_string(steps_.size()) +
                             " steps" + (answers_.empty() ? "" : ": " + answers_[0].error));
  else
    for (std::size_t i = 0; i < steps_.size(); ++i) judge(next_ + i, answers_[i], outcome);
  if (in_.size() > size) throw std::runtime_error("a second reply to one request");
  in_.clear();
  advance();
  return outcome;
}

void Connection::judge(std::size_t at, const Answer& answer, Outcome& outcome) {
  if (!answer.error.empty())
    outcome.errors.push_back(answer.error);
  else if (phase_ == Kind::kTick && !payloads_[at].answered_by(answer.body))
    outcome.errors.push_back("a wrong answer: " + std::string(answer.body.substr(0, 200)));
  else
    ++outcome.steps;
}

void Connection::advance() {
  next_ += per_request();
  if (next_ < sessions_.size()) return;
  next_ = 0;
  if (phase_ == Kind::kStart)
    phase_ = Kind::kTick;
  else if (phase_ == Kind::kStop)
    finished_ = true;
}

void Connection::stop() { stopping_ = true; }

}  // namespace loadgen
