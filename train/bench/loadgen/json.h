// The JSON of /steps, written and read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol.h"

namespace loadgen {

// Appends a batch; bodies stand as they are where they are JSON, else they are base64 already.
void encode_steps(const std::vector<Step>& steps, bool json, bool seq, std::string& out);

// Appends the answers of a batch; throws std::runtime_error where the bytes are no list of objects.
void decode_steps(std::string_view in, std::vector<Answer>& answers);

// Appends the base64 of the bytes.
void encode_base64(std::string_view in, std::string& out);

}  // namespace loadgen
