#include <iostream>

#include "check.h"

int main() {
    int failures = 0;
    for (const Test& test : tests()) {
        try {
            test.run();
        } catch (const std::exception& error) {
            ++failures;
            std::cerr << "FAILED " << test.name << ": " << error.what() << "\n";
        }
    }
    std::cout << tests().size() << " tests, " << failures << " failed\n";
    return failures == 0 && !tests().empty() ? 0 : 1;
}
