// Vectors of FIPS 180-4's examples, RFC 4231 and Python's hmac.
#include "check.h"
#include "sha256.h"

using namespace sparring;

TEST(sha256_of_the_published_messages) {
    CHECK_EQUAL(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_EQUAL(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_EQUAL(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK_EQUAL(hex(sha256(std::string(1000000, 'a'))),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(hmac_of_the_published_messages) {
    CHECK_EQUAL(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    CHECK_EQUAL(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK_EQUAL(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(padding_at_every_length_around_a_block) {
    std::string all;
    for (std::size_t size = 50; size < 70; ++size) all += hex(sha256(std::string(size, 'x')));
    CHECK_EQUAL(hex(sha256(all)), "994282ac383aa724d2f1df4d2de2b8d8d3f25dcdd79be19edf5d03b10bd7d14f");
}

TEST(a_token_signs_key_time_and_session) {
    CHECK_EQUAL(token_of("secret", "team", "1700000000", "game-agent-red"), "765a2745dae90a2f6a601e32f41245c3f81af8c6e1b3880cb9d30b7d3f9a59a3");
}
