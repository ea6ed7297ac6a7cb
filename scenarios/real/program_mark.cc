#include "scenarios/real/program_mark.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>

#include "scenarios/real/process_environment.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kVariable = "VERBENA_PROGRAM";

std::vector<pid_t> processes_with(const std::function<bool(const ProcessEnvironment& environment)>& is_wanted) {
  std::vector<pid_t> found = all_processes();
  std::erase_if(found, [&](pid_t process) { return !is_wanted(ProcessEnvironment(process)); });
  return found;
}

}  // namespace

ProgramMark::ProgramMark() {
  static std::atomic<unsigned> number{0};
  // A process number comes again, but not within a nanosecond.
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  entry_ = std::string(kVariable) + "=" + std::to_string(getpid()) + "." + std::to_string(number++) + "." +
           std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec);
}

void ProgramMark::put_on() const {
  setenv(std::string(kVariable).c_str(), entry_.c_str() + kVariable.size() + 1, 1);
}

bool ProgramMark::is_on(const ProcessEnvironment& environment) const {
  const char* const value = environment.find(kVariable);
  return value != nullptr && std::string_view(value) == std::string_view(entry_).substr(kVariable.size() + 1);
}

std::vector<pid_t> ProgramMark::wearers() const {
  return processes_with([this](const ProcessEnvironment& environment) { return is_on(environment); });
}

std::vector<pid_t> ProgramMark::wearers_on(const wire::Gid& node) const {
  return processes_with(
      [&](const ProcessEnvironment& environment) { return is_on(environment) && environment.stands_on(node); });
}

}  // namespace verbena::scenarios
