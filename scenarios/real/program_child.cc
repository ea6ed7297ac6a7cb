#include "scenarios/real/program_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <utility>

#include "scenarios/real/listeners.h"

namespace verbena::scenarios {
namespace {

constexpr Duration kSpeechIsEnough = milliseconds(500);
constexpr std::size_t kOutputBytesMax = std::size_t{16} << 20;  // that is looked at
constexpr std::size_t kTailBytesMax = 16'384;
constexpr std::ptrdiff_t kTailLines = 8;
constexpr std::size_t kLineBytesMax = 300;
constexpr int kEndSteps = 200;  // of kEndStepNs: the patience after SIGTERM
constexpr long kEndStepNs = 10'000'000;
constexpr int kStatusNotStarted = 127;

host::Descriptor open_output(const std::string& path, const char* ending) {
  if (path.empty()) return host::Descriptor(memfd_create("verbena-output", MFD_CLOEXEC));
  return host::Descriptor(open((path + ending).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
}

std::string content_of(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || status.st_size <= 0) return {};
  std::string text(std::min(static_cast<std::size_t>(status.st_size), kOutputBytesMax), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// In the child. Comes back only if the program cannot be run.
void become(const ProgramChild::Options& options, const ProgramMark& mark, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  host::set_environment(options.environment, options.library_directory);
  mark.put_on();
  std::vector<char*> arguments;
  for (const std::string& argument : options.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
}

}  // namespace

Result<ProgramChild, std::string> ProgramChild::start(const Options& options, Time now) {
  ProgramChild child;
  child.started_ = now;
  child.out_ = open_output(options.output_path, ".out");
  child.err_ = open_output(options.output_path, ".err");
  if (!child.out_ || !child.err_) return Failure{"cannot keep the output: " + std::string(std::strerror(errno))};
  child.process_ = fork();
  if (child.process_ < 0) return Failure{std::string("fork: ") + std::strerror(errno)};
  if (child.process_ == 0) {
    become(options, child.mark_, child.out_.get(), child.err_.get());
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", options.arguments[0].c_str(), std::strerror(errno));
    _exit(kStatusNotStarted);
  }
  setpgid(child.process_, child.process_);  // whoever is first; the child's own may come too late for a signal
  return child;
}

ProgramChild::ProgramChild(ProgramChild&& other) noexcept {
  *this = std::move(other);
}

ProgramChild& ProgramChild::operator=(ProgramChild&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(mark_, other.mark_);
  std::swap(ended_, other.ended_);
  std::swap(was_asked_, other.was_asked_);
  std::swap(status_, other.status_);
  std::swap(started_, other.started_);
  std::swap(out_, other.out_);
  std::swap(err_, other.err_);
  return *this;
}

ProgramChild::~ProgramChild() {
  end();
}

bool ProgramChild::ended() {
  if (process_ <= 0 || ended_) return true;
  int status = 0;
  if (waitpid(process_, &status, WNOHANG) != process_) return false;
  ended_ = true;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

void ProgramChild::send_signal(int number) const {
  if (process_ <= 0) return;
  // Once it has been waited for, its number may be a stranger's.
  if (!ended_) kill(-process_, number);
  std::set<pid_t> told;
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (const pid_t one : mark_.wearers()) {
      if (!told.insert(one).second) continue;
      is_more = true;
      if (ended_ || getpgid(one) != process_) kill(one, number);
    }
  }
}

void ProgramChild::send_signal_on(const wire::Gid& node, int number) const {
  if (process_ <= 0) return;
  std::set<pid_t> told;
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (const pid_t one : mark_.wearers_on(node))
      if (told.insert(one).second) {
        is_more = true;
        kill(one, number);
      }
  }
}

void ProgramChild::ask_to_end() {
  if (process_ <= 0 || ended()) return;
  was_asked_ = true;
  send_signal(SIGCONT);      // a frozen one would not hear
  kill(-process_, SIGTERM);  // the others are its to end
}

void ProgramChild::end() {
  if (process_ <= 0) return;
  const timespec step{0, kEndStepNs};
  if (!was_asked_) {
    ask_to_end();
    for (int i = 0; i < kEndSteps && !ended(); ++i) nanosleep(&step, nullptr);
  }
  send_signal(SIGKILL);  // it, or what it has left
  // Those that are not children of ours cannot be waited for, but looked for.
  while (!ended()) nanosleep(&step, nullptr);
  for (int i = 0; i < kEndSteps && !mark_.wearers().empty(); ++i) nanosleep(&step, nullptr);
  process_ = -1;
}

std::uint64_t ProgramChild::output_bytes() const {
  std::uint64_t bytes = 0;
  struct stat status{};
  for (const int file : {out_.get(), err_.get()})
    if (fstat(file, &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
  return bytes;
}

bool ProgramChild::has_spoken() const {
  return output_bytes() > 0;
}

bool ProgramChild::listens() const {
  return has_listener(sockets_of([this](pid_t process) { return getpgid(process) == process_; }));
}

bool ProgramChild::is_ready(Time now) const {
  if (ended_ || listens()) return true;
  return now - started_ > kSpeechIsEnough && has_spoken();
}

std::string ProgramChild::output() const {
  return output_of(Stream::out) + output_of(Stream::err);
}

std::string ProgramChild::output_of(Stream stream) const {
  return content_of(stream == Stream::out ? out_.get() : err_.get());
}

std::vector<std::string> ProgramChild::last_lines(Stream stream) const {
  const int file = stream == Stream::out ? out_.get() : err_.get();
  struct stat status{};
  if (fstat(file, &status) != 0 || status.st_size <= 0) return {};
  const std::size_t bytes = std::min(static_cast<std::size_t>(status.st_size), kTailBytesMax);
  std::string text(bytes, '\0');
  const ssize_t got = pread(file, text.data(), bytes, status.st_size - static_cast<off_t>(bytes));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::vector<std::string> lines;
  std::istringstream stream_of(text);
  for (std::string line; std::getline(stream_of, line);)
    if (line.find_first_not_of(" \t\r") != line.npos) lines.push_back(line.substr(0, kLineBytesMax));
  if (lines.size() > kTailLines) lines.erase(lines.begin(), lines.end() - kTailLines);
  return lines;
}

}  // namespace verbena::scenarios
