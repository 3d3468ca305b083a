// Connects to the service.
#pragma once

#include "options.h"

namespace loadgen {

// Returns a connected socket that does not block, to the replica that the options name where they name one.
// Throws std::runtime_error where that fails.
int connect_to(const Options& options);

}  // namespace loadgen
