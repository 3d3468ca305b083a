#include "bytes.h"
#include "check.h"
#include "protobuf.h"

using namespace sparring::protobuf;

static int fields_of(const std::string& bytes) {
    Field field;
    int count = 0;
    for (Reader reader(bytes); reader.next(field);) ++count;
    return count;
}

TEST(numbers_of_all_sizes_come_back) {
    for (const std::uint64_t value : {1ull, 127ull, 128ull, 300ull, 1ull << 32, 1ull << 63, ~0ull}) {
        std::string bytes;
        put(bytes, 5, value);
        Field field;
        Reader reader(bytes);
        CHECK(reader.next(field));
        CHECK(field.is(5, WireType::varint));
        CHECK_EQUAL(field.value, value);
        CHECK(!reader.next(field));
    }
}

TEST(defaults_are_left_out_unless_asked_for) {
    std::string bytes;
    put(bytes, 1, std::uint64_t{0});
    put(bytes, 1, "");
    CHECK(bytes.empty());
    put_always(bytes, 1, std::uint64_t{0});
    put_always(bytes, 2, "");
    CHECK_EQUAL(fields_of(bytes), 2);
}

TEST(fields_of_all_types_are_read) {
    // 1: varint 3, 2: fixed64 1, 3: fixed32 2, 536870911: bytes "a".
    CHECK_EQUAL(fields_of(unhex("0803" "110100000000000000" "1d02000000" "faffffff0f0161")), 4);
}

TEST(what_is_not_protobuf_is_refused) {
    for (const char* digits : {
             "08",                        // A field without its value,
             "0a05616263",                // bytes that end too early,
             "0affffffffffffffffff01",    // bytes of 2^64 - 1,
             "08ffffffffffffffffffff01",  // a varint of eleven bytes,
             "08ffffffffffffffffff02",    // or of 65 bits,
             "0001",                      // no field number,
             "80808080100a",              // one of 2^29,
             "0b0c",                      // a group,
             "0e", "0f",                  // no wire type,
             "1100000000000000", "1d000000",
         }) {
        CHECK_THROWS(ParseError, fields_of(unhex(digits)));
    }
}

TEST(strings_are_utf8_and_nothing_else) {
    for (const char* text : {"", "game-1", "\xC3\xA9", "\xE6\xB8\xB8\xE6\x88\x8F", "\xF0\x9F\x8E\xAE"}) CHECK(is_utf8(text));
    for (const char* text : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\xE6\xB8"}) {
        CHECK(!is_utf8(text));
    }
}
