// One connection: a closed loop of requests and replies.
#pragma once

#include <string>
#include <vector>

#include "payload.h"
#include "protocol.h"

namespace loadgen {

double now_s();

// What came of one reply.
struct Outcome {
  bool replied = false;
  bool ticks = false;     // Whether it answered ticks, and not starts or stops.
  int steps = 0;          // Steps that it answered rightly.
  double latency_s = 0;
  std::vector<std::string> errors;
};

class Connection {
 public:
  // Connects; throws std::runtime_error where that fails.
  Connection(const Options& options, Protocol& protocol, int number);
  ~Connection();
  Connection(const Connection&) = delete;

  // Sends the next request: starts, then ticks for as long as it is not told to stop, then stops.
  void send_next();

  // Writes what is left; returns whether everything is written.
  bool flush();

  // Reads what is there and returns the outcome of the reply that it completes.
  // Throws std::runtime_error where the connection is lost or the bytes are no reply.
  Outcome receive();

  // Makes the next request the first of the stops.
  void stop();

  // Returns whether all starts are answered.
  bool ticking() const { return phase_ != Kind::kStart; }
  // Returns whether the last reply has come.
  bool finished() const { return finished_; }
  int fd() const { return fd_; }

 private:
  std::size_t per_request() const;
  void advance();
  void judge(std::size_t at, const Answer& answer, Outcome& outcome);

  const Options& options_;
  Protocol& protocol_;
  int fd_ = -1;
  Kind phase_ = Kind::kStart;
  std::size_t next_ = 0;  // Session that the next single request is for.
  bool stopping_ = false, finished_ = false;
  std::uint64_t ticks_ = 0, number_;
  double sent_s_ = 0;
  std::vector<std::string> sessions_;
  std::vector<std::uint64_t> seqs_;
  std::vector<Payload> payloads_;
  std::vector<Step> steps_;
  std::vector<Answer> answers_;
  std::string out_, in_;
  std::size_t written_ = 0;
};

}  // namespace loadgen
