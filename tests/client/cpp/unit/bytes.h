#pragma once

#include <string>
#include <string_view>

// Returns the bytes that hexadecimal digits stand for.
inline std::string unhex(std::string_view digits) {
    std::string bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
        bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(at, 2)), nullptr, 16)));
    }
    return bytes;
}
