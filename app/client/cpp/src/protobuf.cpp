#include "protobuf.h"

namespace sparring::protobuf {
namespace {

constexpr int kVarintBytes = 10;                     // What 64 bits need, 7 a byte.
constexpr std::uint32_t kFieldNumberMax = (1u << 29) - 1;
constexpr std::uint64_t kLastByteMax = 1;            // The tenth byte holds the 64th bit.

void put_tag(std::string& out, std::uint32_t number, WireType type) {
    put_varint(out, (static_cast<std::uint64_t>(number) << 3) | static_cast<std::uint64_t>(type));
}

// Returns how many bytes follow the first one of a UTF-8 sequence, and its bounds for the second; -1 if it is none.
int utf8_following(unsigned char first, unsigned char& low, unsigned char& high) {
    low = 0x80, high = 0xBF;
    if (first < 0x80) return 0;
    if (first >= 0xC2 && first <= 0xDF) return 1;
    if (first == 0xE0) low = 0xA0;   // Nothing overlong,
    if (first == 0xED) high = 0x9F;  // no surrogates,
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;  // nothing beyond U+10FFFF.
    if (first >= 0xE0 && first <= 0xEF) return 2;
    if (first >= 0xF0 && first <= 0xF4) return 3;
    return -1;
}

}  // namespace

bool Reader::next(Field& field) {
    if (rest_.empty()) return false;
    const std::uint64_t tag = varint();
    const std::uint64_t number = tag >> 3;
    if (number == 0 || number > kFieldNumberMax) throw ParseError("field number " + std::to_string(number));
    field = Field{static_cast<std::uint32_t>(number), static_cast<WireType>(tag & 7)};
    switch (field.type) {
        case WireType::varint: field.value = varint(); return true;
        case WireType::fixed64: field.value = fixed(8); return true;
        case WireType::fixed32: field.value = fixed(4); return true;
        case WireType::bytes: field.bytes = take(varint()); return true;
    }
    throw ParseError("wire type " + std::to_string(tag & 7) + " of field " + std::to_string(number));
}

std::uint64_t Reader::varint() {
    std::uint64_t value = 0;
    for (int at = 0; at < kVarintBytes; ++at) {
        const auto byte = static_cast<unsigned char>(take(1)[0]);
        if (at == kVarintBytes - 1 && byte > kLastByteMax) break;
        value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * at);
        if (byte < 0x80) return value;
    }
    throw ParseError("a varint of more than 64 bits");
}

std::uint64_t Reader::fixed(std::size_t size) {
    const std::string_view bytes = take(size);
    std::uint64_t value = 0;
    for (std::size_t at = 0; at < size; ++at) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at])) << (8 * at);
    }
    return value;
}

std::string_view Reader::take(std::uint64_t size) {
    if (size > rest_.size()) {
        throw ParseError(std::to_string(size) + " bytes wanted, " + std::to_string(rest_.size()) + " left");
    }
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
}

void put_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(0x80 | (value & 0x7F)));
    out.push_back(static_cast<char>(value));
}

void put(std::string& out, std::uint32_t number, std::uint64_t value) {
    if (value != 0) put_always(out, number, value);
}

void put(std::string& out, std::uint32_t number, std::string_view bytes) {
    if (!bytes.empty()) put_always(out, number, bytes);
}

void put_always(std::string& out, std::uint32_t number, std::uint64_t value) {
    put_tag(out, number, WireType::varint);
    put_varint(out, value);
}

void put_always(std::string& out, std::uint32_t number, std::string_view bytes) {
    put_tag(out, number, WireType::bytes);
    put_varint(out, bytes.size());
    out.append(bytes);
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        unsigned char low = 0, high = 0;
        int following = utf8_following(static_cast<unsigned char>(text[at++]), low, high);
        if (following < 0) return false;
        for (; following > 0; --following, low = 0x80, high = 0xBF) {
            if (at == text.size()) return false;
            const auto byte = static_cast<unsigned char>(text[at++]);
            if (byte < low || byte > high) return false;
        }
    }
    return true;
}

}  // namespace sparring::protobuf
