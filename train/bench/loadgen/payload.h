// What ticks carry and what their answers must be.
#pragma once

#include <string>
#include <string_view>

#include "options.h"

namespace loadgen {

// The body of a connection's ticks: the same JSON each time, or bytes whose first ones differ from tick to tick.
class Payload {
 public:
  explicit Payload(const Options& options);

  // Makes the body of the next tick; the number is unlike that of any other tick.
  void stamp(std::uint64_t number);

  // Returns the body as it stands in a request.
  std::string_view body() const { return encoded_ ? base64_ : bytes_; }

  // Returns whether an answer is the one to this body.
  bool answered_by(std::string_view answer) const;

 private:
  std::string bytes_, base64_, expect_;
  bool fixed_, encoded_;
};

}  // namespace loadgen
