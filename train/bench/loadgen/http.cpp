#include "http.h"

#include <strings.h>

#include <cstdlib>
#include <stdexcept>

#include "json.h"
#include "protocol.h"

namespace loadgen {
namespace {

constexpr std::string_view kLength = "content-length:";
constexpr std::size_t kShown = 300;  // Bytes of a reply in an error's text.

const char* name_of(Kind kind) { return kind == Kind::kTick ? "tick" : kind == Kind::kStart ? "start" : "stop"; }

// Returns the declared length of a body, -1 where none is.
long content_length(std::string_view head) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2);
    if (line.size() > kLength.size() && !strncasecmp(line.data(), kLength.data(), kLength.size()))
      return std::atol(std::string(line.substr(kLength.size(), 20)).c_str());
  }
  return -1;
}

class Http : public Protocol {
 public:
  explicit Http(const Options& options)
      : batched_(options.batched()),
        seq_(options.seq),
        json_(!options.body.empty()),
        host_(options.host + ":" + std::to_string(options.port)) {}

  void encode(const std::vector<Step>& steps, std::string& out) override {
    if (batched_) {
      batch_.clear();
      encode_steps(steps, json_, seq_, batch_);
      head("/steps", "application/json", out);
      finish(batch_, out);
      return;
    }
    const Step& step = steps.front();
    head("/step", "application/octet-stream", out);
    out.append("step_kind: ").append(name_of(step.kind)).append("\r\nsession: ").append(*step.session).append("\r\n");
    if (seq_) out.append("seq: ").append(std::to_string(step.seq)).append("\r\n");
    finish(step.body, out);
  }

  std::size_t decode(std::string_view in, std::vector<Answer>& answers) override {
    HttpReply reply = read_http(in);
    if (!reply.size) return 0;
    if (reply.status != 200)
      answers.push_back({{}, std::string(in.substr(0, std::min(reply.size, kShown)))});
    else if (batched_)
      decode_steps(reply.body, answers);
    else
      answers.push_back({reply.body, {}});
    return reply.size;
  }

 private:
  void head(const char* path, const char* type, std::string& out) const {
    out.append("POST ").append(path).append(" HTTP/1.1\r\nHost: ").append(host_);
    out.append("\r\nContent-Type: ").append(type).append("\r\n");
  }

  static void finish(std::string_view body, std::string& out) {
    out.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  }

  bool batched_, seq_, json_;
  std::string host_, batch_;
};

}  // namespace

HttpReply read_http(std::string_view in) {
  std::size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) return {};
  if (in.substr(0, 9) != "HTTP/1.1 ") throw std::runtime_error("no HTTP reply: " + std::string(in.substr(0, 80)));
  long length = content_length(in.substr(0, end));
  if (length < 0) throw std::runtime_error("a reply without Content-Length: " + std::string(in.substr(0, end)));
  std::size_t size = end + 4 + static_cast<std::size_t>(length);
  if (in.size() < size) return {};
  return {std::atoi(std::string(in.substr(9, 3)).c_str()), in.substr(end + 4, length), size};
}

std::unique_ptr<Protocol> make_http(const Options& options) { return std::make_unique<Http>(options); }

}  // namespace loadgen
