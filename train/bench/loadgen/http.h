// HTTP/1.1 replies with a Content-Length.
#pragma once

#include <string>
#include <string_view>

namespace loadgen {

struct HttpReply {
  int status = 0;
  std::string_view body;
  std::size_t size = 0;  // Of head and body; 0: not whole yet.
};

// Returns the reply at the start of the bytes; throws std::runtime_error where there is none.
HttpReply read_http(std::string_view in);

}  // namespace loadgen
