#include "payload.h"

#include <algorithm>

#include "json.h"

namespace loadgen {
namespace {

constexpr std::size_t kStamp = 24;  // Bytes that differ; a multiple of 3, so that base64 repeats the rest.

}  // namespace

Payload::Payload(const Options& options)
    : bytes_(options.body.empty() ? std::string(options.body_bytes, 'x') : options.body),
      expect_(options.expect),
      fixed_(!options.body.empty()),
      encoded_(!fixed_ && options.mode == Mode::kSteps) {
  if (encoded_) encode_base64(bytes_, base64_);
}

void Payload::stamp(std::uint64_t number) {
  if (fixed_) return;
  std::size_t size = std::min(kStamp, bytes_.size());
  for (std::size_t i = 0; i < size; ++i, number /= 10) bytes_[i] = static_cast<char>('0' + number % 10);
  if (!encoded_) return;
  std::string start;
  encode_base64(std::string_view(bytes_).substr(0, size), start);
  base64_.replace(0, start.size(), start);
}

bool Payload::answered_by(std::string_view answer) const {
  return fixed_ ? answer.substr(0, expect_.size()) == expect_ : answer == body();
}

}  // namespace loadgen
