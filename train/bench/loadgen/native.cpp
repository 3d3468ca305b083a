// Native frames: a big-endian u32 length and one message of app/wire/messages.proto, encoded by hand.
#include <stdexcept>

#include "protocol.h"

namespace loadgen {
namespace {

constexpr std::size_t kLargest = 128u << 20;  // Bytes of a frame.
enum Wire : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_varint(std::uint64_t value, std::string& out) {
  for (; value > 127; value >>= 7) out.push_back(static_cast<char>(value | 128));
  out.push_back(static_cast<char>(value));
}

void put_number(unsigned field, std::uint64_t value, std::string& out) {
  put_varint(field << 3 | kVarint, out);
  put_varint(value, out);
}

void put_bytes(unsigned field, std::string_view value, std::string& out) {
  put_varint(field << 3 | kBytes, out);
  put_varint(value.size(), out);
  out.append(value);
}

// One field after another of a message.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  // Returns whether there is another field; then number, and value or bytes, are its.
  bool next() {
    if (in_.empty()) return false;
    std::uint64_t key = varint();
    number = static_cast<unsigned>(key >> 3);
    bytes = {};
    switch (key & 7) {
      case kVarint: value = varint(); break;
      case kBytes: bytes = take(varint()); break;
      case kFixed64: take(8); break;
      case kFixed32: take(4); break;
      default: throw std::runtime_error("no protobuf message");
    }
    return true;
  }

  unsigned number = 0;
  std::uint64_t value = 0;
  std::string_view bytes;

 private:
  std::uint64_t varint() {
    std::uint64_t found = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      unsigned char byte = static_cast<unsigned char>(take(1)[0]);
      found |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return found;
    }
    throw std::runtime_error("a protobuf number of more than 64 bits");
  }

  std::string_view take(std::size_t size) {
    if (size > in_.size()) throw std::runtime_error("a protobuf message that ends too early");
    std::string_view taken = in_.substr(0, size);
    in_.remove_prefix(size);
    return taken;
  }

  std::string_view in_;
};

std::string error_of(std::string_view message) {
  std::string text;
  for (Reader error(message); error.next();)
    if (error.number <= 2) text.append(text.empty() ? "" : ": ").append(error.bytes);
  return text.empty() ? "an error without a code" : text;
}

Answer answer_of(std::string_view message) {
  Answer answer;
  for (Reader field(message); field.next();) {
    if (field.number == 3) answer.body = field.bytes;
    if (field.number == 8) answer.error = error_of(field.bytes);
  }
  return answer;
}

class Native : public Protocol {
 public:
  explicit Native(const Options& options) : batched_(options.batched()), seq_(options.seq) {}

  void encode(const std::vector<Step>& steps, std::string& out) override {
    content_.clear();
    for (const Step& step : steps) {
      encode_step(step);
      if (batched_)
        put_bytes(1, step_, content_);
      else
        content_ = step_;
    }
    request_.clear();
    put_bytes(batched_ ? 2 : 1, content_, request_);
    put_number(3, ++sent_, request_);
    put_number(4, 1, request_);
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(request_.size() >> shift));
    out.append(request_);
  }

  std::size_t decode(std::string_view in, std::vector<Answer>& answers) override {
    if (in.size() < 4) return 0;
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(in[i]);
    if (size == 0 || size > kLargest) throw std::runtime_error("no native reply: size " + std::to_string(size));
    if (in.size() < 4 + size) return 0;
    for (Reader reply(in.substr(4, size)); reply.next();) {
      if (reply.number == 1) answers.push_back(answer_of(reply.bytes));
      if (reply.number == 3) answers.push_back({{}, error_of(reply.bytes)});
      if (reply.number != 2) continue;
      for (Reader batch(reply.bytes); batch.next();) answers.push_back(answer_of(batch.bytes));
    }
    return 4 + size;
  }

 private:
  void encode_step(const Step& step) {
    step_.clear();
    put_bytes(1, *step.session, step_);
    if (step.kind != Kind::kTick) put_number(2, static_cast<unsigned>(step.kind), step_);
    if (seq_) put_number(3, step.seq, step_);
    if (!step.body.empty()) put_bytes(4, step.body, step_);
  }

  bool batched_, seq_;
  std::uint64_t sent_ = 0;
  std::string step_, content_, request_;
};

}  // namespace

std::unique_ptr<Protocol> make_native(const Options& options) { return std::make_unique<Native>(options); }

}  // namespace loadgen
