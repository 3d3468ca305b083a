// CPU time of processes.
#pragma once

#include <vector>

namespace loadgen {

// Returns the CPU seconds of each process until now; throws std::runtime_error where one is gone.
std::vector<double> cpu_s(const std::vector<int>& pids);

// Returns the CPU seconds of this process.
double own_cpu_s();

}  // namespace loadgen
