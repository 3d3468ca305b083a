// The smallest test frame: a TEST is a function, a CHECK that fails says where and what.
#pragma once

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Test {
    const char* name;
    std::function<void()> run;
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Registered {
    Registered(const char* name, std::function<void()> run) { tests().push_back({name, std::move(run)}); }
};

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

#define TEST(name)                                        \
    static void name();                                   \
    static const Registered registered_##name(#name, name); \
    static void name()

#define CHECK(claim) \
    if (!(claim)) fail(__FILE__, __LINE__, #claim)

#define CHECK_EQUAL(got, wanted)                                                \
    do {                                                                        \
        const auto got_ = (got);                                                \
        const auto wanted_ = (wanted);                                          \
        if (!(got_ == wanted_)) {                                               \
            std::ostringstream text_;                                           \
            text_ << #got << " is " << got_ << ", wanted " << wanted_;          \
            fail(__FILE__, __LINE__, text_.str());                              \
        }                                                                       \
    } while (false)

#define CHECK_THROWS(Class, expression)                                         \
    do {                                                                        \
        bool thrown_ = false;                                                   \
        try {                                                                   \
            (void)(expression);                                                 \
        } catch (const Class&) {                                                \
            thrown_ = true;                                                     \
        }                                                                       \
        if (!thrown_) fail(__FILE__, __LINE__, #expression " throws no " #Class); \
    } while (false)
