// The window that is measured.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace loadgen {

struct Result {
  double seconds = 0;             // Length of the window.
  long ticks = 0;                 // Right answers to ticks in it.
  std::vector<float> latencies_s;  // Of each request in it.
  long errors = 0;                // Over the whole run, starts and stops included.
  std::string first_error;
  double cpu_s = 0;              // Of the load generator in the window.
  std::vector<double> watched_s;  // CPU seconds of each watched process in the window.
};

// Starts the sessions, warms up, measures, and stops them again.
// Throws std::runtime_error where the service cannot be reached.
Result run_load(const Options& options);

// Returns the result as one line of JSON.
std::string json_of(const Options& options, Result& result);

}  // namespace loadgen
