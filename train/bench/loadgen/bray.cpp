// Bray's TCP framing: six and three big-endian int64, then the strings that they measure.
#include <stdexcept>

#include "protocol.h"

namespace loadgen {
namespace {

constexpr std::size_t kHead = 24;                 // Sizes of session and body, and the time.
constexpr std::uint64_t kLargest = 128ull << 20;  // Bytes; a larger size means that the framing is lost.
constexpr std::uint64_t kTime = 12345;            // Echoed by the service.

void put(std::uint64_t value, std::string& out) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint64_t get(std::string_view in) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<unsigned char>(in[i]);
  return value;
}

class Bray : public Protocol {
 public:
  void encode(const std::vector<Step>& steps, std::string& out) override {
    static const std::string kKinds[] = {"tick", "start", "stop"};
    const Step& step = steps.front();
    const std::string& kind = kKinds[static_cast<int>(step.kind)];
    for (std::uint64_t size : {step.session->size(), kind.size(), std::size_t{0}, std::size_t{0}, step.body.size()})
      put(size, out);
    put(kTime, out);
    out.append(*step.session).append(kind).append(step.body);
  }

  std::size_t decode(std::string_view in, std::vector<Answer>& answers) override {
    if (in.size() < kHead) return 0;
    std::uint64_t session = get(in), body = get(in.substr(8));
    if (session > kLargest || body > kLargest || get(in.substr(16)) != kTime)
      throw std::runtime_error("no Bray reply: sizes " + std::to_string(session) + " and " + std::to_string(body));
    std::size_t size = kHead + session + body;
    if (in.size() < size) return 0;
    answers.push_back({in.substr(kHead + session, body), {}});
    return size;
  }
};

}  // namespace

std::unique_ptr<Protocol> make_bray(const Options&) { return std::make_unique<Bray>(); }

}  // namespace loadgen
