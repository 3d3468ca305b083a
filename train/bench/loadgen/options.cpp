#include "options.h"

#include <functional>
#include <map>
#include <stdexcept>

namespace loadgen {
namespace {

using Setter = std::function<void(const std::string&)>;

const std::map<std::string, Mode> kModes = {{"http", Mode::kHttp},
                                            {"steps", Mode::kSteps},
                                            {"bray", Mode::kBray},
                                            {"native", Mode::kNative},
                                            {"batch", Mode::kBatch}};

Mode mode_of(const std::string& name) {
  auto found = kModes.find(name);
  if (found == kModes.end())
    throw std::invalid_argument("--mode is " + name + "; allowed are http, steps, bray, native and batch");
  return found->second;
}

std::map<std::string, Setter> setters(Options& o) {
  return {
      {"--mode", [&o](const std::string& v) { o.mode = mode_of(o.mode_name = v); }},
      {"--host", [&o](const std::string& v) { o.host = v; }},
      {"--port", [&o](const std::string& v) { o.port = std::stoi(v); }},
      {"--connections", [&o](const std::string& v) { o.connections = std::stoi(v); }},
      {"--sessions", [&o](const std::string& v) { o.sessions = std::stoi(v); }},
      {"--body-bytes", [&o](const std::string& v) { o.body_bytes = std::stoi(v); }},
      {"--seconds", [&o](const std::string& v) { o.seconds = std::stod(v); }},
      {"--warmup", [&o](const std::string& v) { o.warmup_s = std::stod(v); }},
      {"--prefix", [&o](const std::string& v) { o.prefix = v; }},
      {"--suffix", [&o](const std::string& v) { o.suffix = v; }},
      {"--body", [&o](const std::string& v) { o.body = v; }},
      {"--expect", [&o](const std::string& v) { o.expect = v; }},
      {"--pid", [&o](const std::string& v) { o.pids.push_back(std::stoi(v)); }},
      {"--only-pid", [&o](const std::string& v) { o.only_pid = std::stoi(v); }},
      {"--attach", [&o](const std::string& v) { o.attach = v == "1"; }},
      {"--seq", [&o](const std::string& v) { o.seq = v == "1"; }},
  };
}

void check(const Options& o) {
  if (o.port < 1 || o.port > 65535) throw std::invalid_argument("--port is needed, from 1 to 65535");
  if (o.connections < 1 || o.sessions < 1) throw std::invalid_argument("--connections and --sessions start at 1");
  if (o.body_bytes < 0) throw std::invalid_argument("--body-bytes starts at 0");
  if (o.seconds <= 0 || o.warmup_s < 0) throw std::invalid_argument("--seconds is above 0, --warmup from 0");
  if (!o.body.empty() && o.expect.empty()) throw std::invalid_argument("--body needs --expect");
  if (o.only_pid && o.mode != Mode::kHttp) throw std::invalid_argument("--only-pid needs --mode http");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  auto known = setters(options);
  for (int i = 1; i < argc; i += 2) {
    auto found = known.find(argv[i]);
    if (found == known.end()) throw std::invalid_argument(std::string("no such option: ") + argv[i]);
    if (i + 1 == argc) throw std::invalid_argument(std::string(argv[i]) + " needs a value");
    try {
      found->second(argv[i + 1]);
    } catch (const std::logic_error& error) {  // Also what stoi and stod throw.
      throw std::invalid_argument(std::string(argv[i]) + " " + argv[i + 1] + ": " + error.what());
    }
  }
  check(options);
  return options;
}

}  // namespace loadgen
