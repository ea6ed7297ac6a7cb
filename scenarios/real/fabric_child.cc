#include "scenarios/real/fabric_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace verbena::scenarios {
namespace {

struct Pipe {
  host::Descriptor read_end;
  host::Descriptor write_end;
};

bool open_pipe(Pipe& into) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  into.read_end = host::Descriptor(ends[0]);
  into.write_end = host::Descriptor(ends[1]);
  return true;
}

/// In the child: says on `ready` what went wrong, or nothing; serves until `lifeline` is closed.
int serve(const host::FabricOptions& options, int lifeline, host::Descriptor ready) {
  setpgid(0, 0);  // Ctrl-C is the runner's to deal with
  auto process = host::FabricProcess::open(options);
  if (!process) {
    const std::string& error = process.error();
    [[maybe_unused]] const ssize_t written = write(ready.get(), error.data(), error.size());
    return EXIT_FAILURE;
  }
  ready.reset();
  (*process)->run(lifeline);
  return EXIT_SUCCESS;
}

}  // namespace

Result<std::unique_ptr<FabricChild>, std::string> FabricChild::start(const host::FabricOptions& options) {
  Pipe lifeline;
  Pipe ready;
  if (!open_pipe(lifeline) || !open_pipe(ready)) return Failure{std::string("pipe: ") + std::strerror(errno)};
  std::unique_ptr<FabricChild> child(new FabricChild);
  child->name_ = options.fabric;
  child->process_ = fork();
  if (child->process_ < 0) return Failure{std::string("fork: ") + std::strerror(errno)};
  if (child->process_ == 0) {
    lifeline.write_end.reset();
    ready.read_end.reset();
    _exit(serve(options, lifeline.read_end.get(), std::move(ready.write_end)));
  }
  child->lifeline_ = std::move(lifeline.write_end);
  ready.write_end.reset();
  std::string error;
  std::array<char, 512> text;
  for (;;) {
    const ssize_t got = read(ready.read_end.get(), text.data(), text.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    error.append(text.data(), static_cast<std::size_t>(got));
  }
  if (!error.empty()) return Failure{std::move(error)};
  return child;
}

Result<std::string, std::string> FabricChild::ask(const std::vector<std::string>& words) const {
  auto answer = host::ask_fabric(name_, words);
  if (!answer) return Failure{answer.error().text};
  return std::move(*answer);
}

void FabricChild::end() {
  if (process_ <= 0) return;
  lifeline_.reset();
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

FabricChild::~FabricChild() {
  end();
}

}  // namespace verbena::scenarios
