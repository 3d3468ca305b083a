#include "sha256.h"

namespace sparring {
namespace {

constexpr std::size_t kBlock = 64;  // Bytes that are hashed at a time.
constexpr std::size_t kLength = 8;  // Bytes of the message's length behind its padding.

// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

using State = std::array<std::uint32_t, 8>;

constexpr std::uint32_t rotated(std::uint32_t word, int bits) { return (word >> bits) | (word << (32 - bits)); }

std::uint32_t byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

std::array<std::uint32_t, 64> schedule(std::string_view block) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t t = 0; t < 16; ++t) {
        w[t] = byte_at(block, 4 * t) << 24 | byte_at(block, 4 * t + 1) << 16 | byte_at(block, 4 * t + 2) << 8 |
               byte_at(block, 4 * t + 3);
    }
    for (std::size_t t = 16; t < 64; ++t) {
        const std::uint32_t s0 = rotated(w[t - 15], 7) ^ rotated(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const std::uint32_t s1 = rotated(w[t - 2], 17) ^ rotated(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    return w;
}

void compress(State& state, std::string_view block) {
    const std::array<std::uint32_t, 64> w = schedule(block);
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t t = 0; t < 64; ++t) {
        const std::uint32_t s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
        const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRounds[t] + w[t];
        const std::uint32_t s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
        const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const State worked = {a, b, c, d, e, f, g, h};
    for (std::size_t at = 0; at < state.size(); ++at) state[at] += worked[at];
}

std::string padded_end(std::string_view rest, std::uint64_t message_size) {
    std::string end(rest);
    end.push_back(static_cast<char>(0x80));
    end.resize((end.size() + kLength + kBlock - 1) / kBlock * kBlock, '\0');
    const std::uint64_t bits = 8 * message_size;
    for (std::size_t at = 0; at < kLength; ++at) end[end.size() - 1 - at] = static_cast<char>((bits >> (8 * at)) & 0xFF);
    return end;
}

std::string_view view(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

}  // namespace

Digest sha256(std::string_view message) {
    // First 32 bits of the fractional parts of the square roots of the first 8 primes.
    State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const std::size_t whole = message.size() / kBlock * kBlock;
    for (std::size_t at = 0; at < whole; at += kBlock) compress(state, message.substr(at, kBlock));
    const std::string end = padded_end(message.substr(whole), message.size());
    for (std::size_t at = 0; at < end.size(); at += kBlock) compress(state, std::string_view(end).substr(at, kBlock));
    Digest digest{};
    for (std::size_t at = 0; at < digest.size(); ++at) {
        digest[at] = static_cast<std::uint8_t>(state[at / 4] >> (8 * (3 - at % 4)));
    }
    return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view message) {
    std::string inner(key.size() > kBlock ? view(sha256(key)) : key);
    inner.resize(kBlock, '\0');
    std::string outer = inner;
    for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
    for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5C);
    const Digest inside = sha256(inner.append(message));
    return sha256(outer.append(view(inside)));
}

std::string hex(const Digest& digest) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
    return text;
}

std::string token_of(std::string_view secret, std::string_view key, std::string_view time, std::string_view session) {
    std::string signed_text(key);
    signed_text.append("\n").append(time).append("\n").append(session);
    return hex(hmac_sha256(secret, signed_text));
}

}  // namespace sparring
