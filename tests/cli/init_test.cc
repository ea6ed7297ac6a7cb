// verbena init: what it writes runs, nothing is overwritten, and verbena demo.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/demo/programs.h"
#include "tests/cli/run_command.h"

using namespace verbena;
using test::run_command;

namespace {

namespace fs = std::filesystem;

[[maybe_unused]] constexpr std::chrono::seconds kPatience(240);  // beside many others that compute

class Project {
 public:
  Project() {
    char name[] = "/tmp/verbena-init.XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Project() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

 private:
  std::string path_;
};

test::Finished init(std::vector<std::string> words, const test::Environment& environment = {}) {
  words.insert(words.begin(), {VERBENA_COMMAND, "init"});
  return run_command(words, environment);
}

}  // namespace

BOOST_AUTO_TEST_CASE(init_writes_scenario_and_workflow_and_a_second_call_nothing) {
  const Project project;
  const test::Finished first = init({project.path()});
  BOOST_TEST(first.status == 0);
  BOOST_TEST((first.out.find("written verbena/first.yaml") != std::string::npos));
  // The package is Debian 12's, and the runner is not: the steps run in a container of it, as root.
  const std::string workflow = project.read(".github/workflows/verbena.yml");
  BOOST_TEST((workflow.find("\n    container: debian:12 ") != std::string::npos), workflow);
  BOOST_TEST((workflow.find("sudo") == std::string::npos), workflow);
  project.write("verbena/first.yaml", "mine\n");
  const test::Finished second = init({project.path()});
  BOOST_TEST(second.status == 0);
  BOOST_TEST((second.out.find("exists  verbena/first.yaml") != std::string::npos));
  BOOST_TEST(project.read("verbena/first.yaml") == "mine\n");
  const auto json = nlohmann::json::parse(init({"--json", project.path()}).out);
  BOOST_TEST(json.at("written").empty());
  BOOST_TEST(json.at("existing").size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_project_of_gitlab_gets_a_job_and_keeps_its_file) {
  const Project project;
  project.write(".gitlab-ci.yml", "mine: {}\n");
  const test::Finished finished = init({project.path()});
  BOOST_TEST(finished.status == 0);
  BOOST_TEST(project.read(".gitlab-ci.yml") == "mine: {}\n");
  BOOST_TEST((finished.out.find("- local: verbena/ci/gitlab.yml") != std::string::npos));
  BOOST_TEST((project.read("verbena/ci/gitlab.yml").find("verbena run verbena/*.yaml") != std::string::npos));
  BOOST_TEST(!fs::exists(project.file(".github")));
  const Project another;
  BOOST_TEST(init({"--ci", "gitlab", another.path()}).status == 0);
  BOOST_TEST((another.read(".gitlab-ci.yml").find("verbena/ci/gitlab.yml") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_in_one_line) {
  const Project project;
  project.write("file", "");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"/nonexistent"},
                                                {"--ci", "jenkins", project.path()},
                                                {project.file("file")},
                                                {"--json", "--quiet", project.path()}}) {
    const test::Finished refused = init(words);
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  }
  BOOST_TEST(!fs::exists(project.file("verbena")));
  project.write("verbena", "a file where a folder should be");
  const test::Finished blocked = init({project.path()});
  BOOST_TEST(blocked.status == 2);
  BOOST_TEST((blocked.err.find("/verbena") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(demo_without_programs_names_packages_and_shows_a_scenario) {
  const Project project;
  const test::Finished shown = run_command({VERBENA_COMMAND, "demo"}, {{"PATH", project.path()}});
  BOOST_TEST(shown.status == 0);
  BOOST_TEST((shown.err.find("ib_write_bw (package perftest)") != std::string::npos));
  BOOST_TEST((shown.out.find("fc62ed81c532b203") != std::string::npos));  // the trace that docs/usage.md shows
  BOOST_TEST(run_command({VERBENA_COMMAND, "demo", "--virtual", "--out", "x"}).status == 2);
  const test::Finished nowhere = run_command({VERBENA_COMMAND, "demo", "--out", "/proc/nowhere"});
  BOOST_TEST(nowhere.status == 2);
  BOOST_TEST(nowhere.out == "");
}

BOOST_AUTO_TEST_CASE(the_row_of_results_is_the_last_row_of_numbers) {
  const auto row = cli::demo::result_row(" #bytes #iterations\n 1 2 3 4\n 65536 5000 10.5 9.5 0.1\nok 1 2 3 4\n");
  BOOST_REQUIRE(row.ok());
  BOOST_TEST(row->at(3) == "9.5");
  BOOST_TEST(!cli::demo::result_row("nothing\n").ok());
  BOOST_TEST(cli::demo::has_damage("invalid data in page 3"));
}

#if defined(VERBENA_HAS_LIBRARIES)
namespace {

/// A PATH with one of the programs alone.
test::Environment path_with(const Project& project, const char* program) {
  fs::create_directories(project.file("bin"));
  fs::create_symlink(std::string("/usr/bin/") + program, project.file(std::string("bin/") + program));
  return {{"PATH", project.file("bin")}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(written_scenario_holds_with_either_program) {
  for (const char* program : {"ibv_rc_pingpong", "ib_write_bw"}) {
    const Project project;
    const test::Environment environment = path_with(project, program);
    BOOST_TEST(init({project.path()}, environment).status == 0);
    BOOST_TEST((project.read("verbena/first.yaml").find(program) != std::string::npos));
    const test::Finished ran =
        run_command({VERBENA_COMMAND, "run", project.file("verbena/first.yaml")}, environment, kPatience);
    BOOST_TEST(ran.status == 0, program << ": " << ran.out << ran.err);
  }
}

BOOST_AUTO_TEST_CASE(demo_compares_programs_and_leaves_captures_where_told) {
  const Project project;
  const test::Finished shown = run_command({VERBENA_COMMAND, "demo", "--out", project.file("captures")}, {}, kPatience);
  BOOST_TEST(shown.status == 0, shown.out << shown.err);
  for (const char* part : {"ib_write_bw, 5000 x 64 KiB", "bandwidth, average", "timeouts", "data intact", "Capture: "})
    BOOST_TEST((shown.out.find(part) != std::string::npos), part);
  BOOST_TEST(fs::file_size(project.file("captures/pingpong-client.pcapng")) > 1'000'000u);
}
#endif
