#include "scenarios/real/fabric_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "emulator/host/fabric_client/fabric_client.h"
#include "scenarios/real/real_checkers.h"

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

void write_all(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = write(to, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

std::string read_all(int from) {
  std::string all;
  std::array<char, 4096> text;
  for (;;) {
    const ssize_t got = read(from, text.data(), text.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return all;
    all.append(text.data(), static_cast<std::size_t>(got));
  }
}

/// In the child: says on `ready` what went wrong, or nothing; serves until `lifeline` is closed.
int serve(host::FabricOptions options, bool checks, int lifeline, host::Descriptor ready, int verdict) {
  setpgid(0, 0);                     // Ctrl-C is the runner's to deal with
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // who makes a network does not look at the lifeline
  RealCheckers checkers(options.topology);
  if (checks) options.observer = &checkers;
  {
    auto process = host::FabricProcess::open(options);
    if (!process) {
      write_all(ready.get(), process.error());
      return EXIT_FAILURE;
    }
    prctl(PR_SET_PDEATHSIG, 0);
    ready.reset();
    (*process)->run(lifeline);
  }
  if (checks) write_all(verdict, checkers.verdict());
  return EXIT_SUCCESS;
}

}  // namespace

Result<std::unique_ptr<FabricChild>, std::string> FabricChild::start(const host::FabricOptions& options, bool checks) {
  Pipe lifeline;
  Pipe ready;
  Pipe verdict;
  if (!open_pipe(lifeline) || !open_pipe(ready) || !open_pipe(verdict))
    return Failure{std::string("pipe: ") + std::strerror(errno)};
  std::unique_ptr<FabricChild> child(new FabricChild);
  child->name_ = options.fabric;
  child->process_ = fork();
  if (child->process_ < 0) return Failure{std::string("fork: ") + std::strerror(errno)};
  if (child->process_ == 0) {
    lifeline.write_end.reset();
    ready.read_end.reset();
    verdict.read_end.reset();
    _exit(serve(options, checks, lifeline.read_end.get(), std::move(ready.write_end), verdict.write_end.get()));
  }
  child->lifeline_ = std::move(lifeline.write_end);
  child->verdict_ = std::move(verdict.read_end);
  ready.write_end.reset();
  std::string error = read_all(ready.read_end.get());
  if (!error.empty()) return Failure{std::move(error)};
  return child;
}

host::FabricAnswer FabricChild::ask(const host::FabricRequest& request) const {
  auto answer = host::ask_fabric(name_, request);
  if (!answer) return Failure{answer.error().text};
  return std::move(*answer);
}

std::string FabricChild::end() {
  if (process_ <= 0) return {};
  lifeline_.reset();
  std::string verdict = read_all(verdict_.get());
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return verdict;
}

FabricChild::~FabricChild() {
  end();
}

}  // namespace verbena::scenarios
