// What a transport turns steps into, and how it reads answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace loadgen {

enum class Kind { kTick = 0, kStart = 1, kStop = 2 };  // The numbers are those of messages.proto.

struct Step {
  const std::string* session;
  Kind kind;
  std::string_view body;
  std::uint64_t seq;
};

struct Answer {
  std::string_view body;  // As it was received: base64 in JSON batches.
  std::string error;      // Empty where the step was answered.
};

// One transport. Both functions throw std::runtime_error on what the transport cannot mean.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Appends one request that holds these steps; more than one only where the mode sends batches.
  virtual void encode(const std::vector<Step>& steps, std::string& out) = 0;

  // Returns how many bytes the first reply takes, 0 where it is not whole yet, and appends its answers.
  virtual std::size_t decode(std::string_view in, std::vector<Answer>& answers) = 0;
};

std::unique_ptr<Protocol> make_http(const Options& options);
std::unique_ptr<Protocol> make_bray(const Options& options);
std::unique_ptr<Protocol> make_native(const Options& options);

// Returns the transport that the options name.
std::unique_ptr<Protocol> make_protocol(const Options& options);

}  // namespace loadgen
