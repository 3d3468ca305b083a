#include "json.h"

#include <stdexcept>

namespace loadgen {
namespace {

// Walks over JSON text without looking into values.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    if (at_ < text_.size() && text_[at_] == wanted) return ++at_, true;
    return false;
  }

  void expect(char wanted) {
    if (!take(wanted))
      throw std::runtime_error(std::string("no ") + wanted + " in JSON at: " + std::string(text_.substr(at_, 80)));
  }

  // Returns the inside of a string, escapes as they stand.
  std::string_view string() {
    expect('"');
    std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    std::string_view found = text_.substr(start, at_ - start);
    expect('"');
    return found;
  }

  // Returns any value as it stands.
  std::string_view value() {
    std::size_t start = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '"') {
        string();
      } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
        break;
      } else {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        ++at_;
      }
    }
    return text_.substr(start, at_ - start);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Answer decode_item(Scanner& scanner) {
  Answer answer;
  scanner.expect('{');
  do {
    std::string_view name = scanner.string();
    scanner.expect(':');
    std::string_view value = scanner.value();
    if (name == "body_b64" && value.size() >= 2) answer.body = value.substr(1, value.size() - 2);
    if (name == "body") answer.body = value;
    if (name == "error") answer.error = value;
  } while (scanner.take(','));
  scanner.expect('}');
  return answer;
}

}  // namespace

void encode_steps(const std::vector<Step>& steps, bool json, bool seq, std::string& out) {
  static const char* const kKinds[] = {"tick", "start", "stop"};
  out.push_back('[');
  for (const Step& step : steps) {
    if (out.back() != '[') out.push_back(',');
    out.append("{\"session\":\"").append(*step.session).append("\",\"kind\":\"");
    out.append(kKinds[static_cast<int>(step.kind)]).push_back('"');
    if (seq) out.append(",\"seq\":").append(std::to_string(step.seq));
    if (step.kind == Kind::kTick && json) out.append(",\"body\":").append(step.body);
    if (step.kind == Kind::kTick && !json) out.append(",\"body_b64\":\"").append(step.body).push_back('"');
    out.push_back('}');
  }
  out.push_back(']');
}

void decode_steps(std::string_view in, std::vector<Answer>& answers) {
  Scanner scanner(in);
  scanner.expect('[');
  if (scanner.take(']')) return;
  do answers.push_back(decode_item(scanner));
  while (scanner.take(','));
  scanner.expect(']');
}

void encode_base64(std::string_view in, std::string& out) {
  static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t at = 0; at < in.size(); at += 3) {
    std::size_t left = in.size() - at;
    auto byte = [&](std::size_t i) { return i < left ? static_cast<unsigned char>(in[at + i]) : 0u; };
    unsigned word = byte(0) << 16 | byte(1) << 8 | byte(2);
    out.push_back(kDigits[word >> 18]);
    out.push_back(kDigits[word >> 12 & 63]);
    out.push_back(left > 1 ? kDigits[word >> 6 & 63] : '=');
    out.push_back(left > 2 ? kDigits[word & 63] : '=');
  }
}

}  // namespace loadgen
