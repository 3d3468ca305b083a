// How long to wait before the next try.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace sparring {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using Random = std::mt19937_64;

// Waits that double from try to try up to a bound, each drawn between zero and that.
class Backoff {
public:
    Backoff(Milliseconds first, Milliseconds longest) : first_(first), longest_(longest), bound_(first) {}

    Milliseconds next(Random& random) {
        const auto drawn = std::uniform_int_distribution<Milliseconds::rep>(0, bound_.count())(random);
        bound_ = std::min(2 * bound_, longest_);
        return Milliseconds(drawn);
    }
    void reset() { bound_ = first_; }

private:
    Milliseconds first_;
    Milliseconds longest_;
    Milliseconds bound_;
};

}  // namespace sparring
