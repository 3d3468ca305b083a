#include <algorithm>
#include <cstdio>

#include "load.h"

namespace loadgen {
namespace {

// Returns the text of a JSON string, quotes included.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    char escaped[8];
    if (c == '"' || c == '\\')
      out.append({'\\', c});
    else if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(c)), out.append(escaped);
    else
      out.push_back(c);
  }
  return out + '"';
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

double quantile_ms(const std::vector<float>& sorted, double at) {
  if (sorted.empty()) return 0;
  auto index = static_cast<std::size_t>(at * static_cast<double>(sorted.size() - 1) + 0.5);
  return 1e3 * static_cast<double>(sorted[index]);
}

}  // namespace

std::string json_of(const Options& options, Result& result) {
  std::vector<float>& sorted = result.latencies_s;
  std::sort(sorted.begin(), sorted.end());
  std::string watched;
  for (double cpu : result.watched_s) watched += (watched.empty() ? "" : ",") + number(cpu);
  return "{\"mode\":" + quoted(options.mode_name) + ",\"connections\":" + std::to_string(options.connections) +
         ",\"sessions\":" + std::to_string(options.sessions) + ",\"seconds\":" + number(result.seconds) +
         ",\"ticks\":" + std::to_string(result.ticks) +
         ",\"ticks_per_s\":" + number(static_cast<double>(result.ticks) / std::max(result.seconds, 1e-9)) +
         ",\"p50_ms\":" + number(quantile_ms(sorted, 0.5)) + ",\"p99_ms\":" + number(quantile_ms(sorted, 0.99)) +
         ",\"p999_ms\":" + number(quantile_ms(sorted, 0.999)) + ",\"max_ms\":" + number(quantile_ms(sorted, 1)) + ",\"errors\":" + std::to_string(result.errors) +
         ",\"first_error\":" + quoted(result.first_error) +
         ",\"cpu_share\":" + number(result.cpu_s / std::max(result.seconds, 1e-9)) + ",\"watched_cpu_s\":[" + watched +
         "]}";
}

}  // namespace loadgen
