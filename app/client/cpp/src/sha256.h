// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for tokens.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sparring {

using Digest = std::array<std::uint8_t, 32>;

Digest sha256(std::string_view message);
Digest hmac_sha256(std::string_view key, std::string_view message);

// Returns the bytes as lower-case hexadecimal digits.
std::string hex(const Digest& digest);

// Returns the token that the service expects: what the secret makes of key, time (Unix seconds) and session.
std::string token_of(std::string_view secret, std::string_view key, std::string_view time, std::string_view session);

}  // namespace sparring
