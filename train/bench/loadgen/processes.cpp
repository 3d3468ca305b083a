#include "processes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace loadgen {
namespace {

constexpr int kBeforeUser = 11;  // Fields of /proc/PID/stat between the program's name and the user time.

double cpu_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::size_t name = text.rfind(')');  // The name may hold spaces.
  if (name == std::string::npos) throw std::runtime_error("process " + std::to_string(pid) + " is gone");
  std::istringstream fields(text.substr(name + 1));
  std::string skipped;
  for (int i = 0; i < kBeforeUser; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::vector<double> cpu_s(const std::vector<int>& pids) {
  std::vector<double> found;
  for (int pid : pids) found.push_back(cpu_of(pid));
  return found;
}

double own_cpu_s() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace loadgen
