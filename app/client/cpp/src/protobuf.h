// Protobuf's wire format: fields out of bytes and into bytes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sparring::protobuf {

// The bytes are not protobuf.
class ParseError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
    std::uint32_t number = 0;
    WireType type = WireType::varint;
    std::uint64_t value = 0;   // Of a varint, fixed64 or fixed32.
    std::string_view bytes{};  // Of bytes; a part of what is read.

    bool is(std::uint32_t wanted, WireType wanted_type) const { return number == wanted && type == wanted_type; }
};

// Reads a message field by field; whoever does not know one goes on to the next.
class Reader {
public:
    explicit Reader(std::string_view data) : rest_(data) {}

    // Returns whether there was another field. Throws ParseError where the bytes are none: they end too early, a
    // varint has more than 64 bits, a field has no number, or a group, which proto3 does not have.
    bool next(Field& field);

private:
    std::uint64_t varint();
    std::uint64_t fixed(std::size_t size);
    std::string_view take(std::uint64_t size);

    std::string_view rest_;
};

void put_varint(std::string& out, std::uint64_t value);

// Append a field. A zero or an empty text is proto3's default, and left out, where the name does not say otherwise.
void put(std::string& out, std::uint32_t number, std::uint64_t value);
void put(std::string& out, std::uint32_t number, std::string_view bytes);
void put_always(std::string& out, std::uint32_t number, std::uint64_t value);
void put_always(std::string& out, std::uint32_t number, std::string_view bytes);

// Returns whether protobuf's readers take the text for a string.
bool is_utf8(std::string_view text);

}  // namespace sparring::protobuf
