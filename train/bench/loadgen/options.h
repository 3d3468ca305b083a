// What the command line asks for.
#pragma once

#include <string>
#include <vector>

namespace loadgen {

enum class Mode { kHttp, kSteps, kBray, kNative, kBatch };

struct Options {
  Mode mode = Mode::kHttp;
  std::string mode_name = "http";
  std::string host = "127.0.0.1";  // An IPv4 address.
  int port = 0;
  int connections = 8;
  int sessions = 1;  // On each connection: in turn, or all in one request where the mode sends batches.
  int body_bytes = 64;
  double seconds = 2;
  double warmup_s = 0.5;
  std::string prefix = "load";  // Of the session ids.
  std::string suffix;           // Of the session ids, such as -agent-echo.
  std::string body;             // Of a tick, JSON; empty: body_bytes bytes that differ from tick to tick.
  std::string expect;           // What each answer begins with; empty: the answer is the body.
  std::vector<int> pids;        // Processes whose CPU time is read at both ends of the window.
  int only_pid = 0;             // Connections to another replica than this one are closed and tried again.
  bool attach = false;          // The sessions are open already and stay so.
  bool seq = false;             // Steps carry a sequence number.

  // Whether one request holds a step of every session of its connection.
  bool batched() const { return mode == Mode::kSteps || mode == Mode::kBatch; }
};

// Returns the options; throws std::invalid_argument with what is allowed.
Options parse_options(int argc, char** argv);

}  // namespace loadgen
