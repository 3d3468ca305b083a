// Closed-loop load for the game port: prints one line of JSON about one window.
#include <csignal>
#include <cstdio>
#include <exception>

#include "load.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // A closed connection is an error of that connection alone.
  try {
    loadgen::Options options = loadgen::parse_options(argc, argv);
    loadgen::Result result = loadgen::run_load(options);
    std::printf("%s\n", loadgen::json_of(options, result).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "loadgen: %s\n", error.what());
    return 1;
  }
}
