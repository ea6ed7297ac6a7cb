// verbena personality, and `verbena exec --nic personality=..`: what they print, take and refuse.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "tests/cli/run_command.h"
#include "tests/support/places.h"

using verbena::test::Finished;

namespace {

Finished verbena_with(std::vector<std::string> words) {
  words.insert(words.begin(), VERBENA_COMMAND);
  return verbena::test::run_command(words);
}

/// What VERBENA_NIC and VERBENA_DEVICE_NAME are in a program.
Finished environment_with(const std::string& nic, std::vector<std::string> more = {}) {
  std::vector<std::string> words{"exec", "--fabric", "persona-test", "--quiet", "--nic", nic};
  words.insert(words.end(), more.begin(), more.end());
  for (const char* word : {"--", "sh", "-c", "echo $VERBENA_DEVICE_NAME; echo $VERBENA_NIC; echo $VERBENA_DEVICES"})
    words.emplace_back(word);
  return verbena_with(words);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void is_refused(const Finished& run, std::string_view part) {
  BOOST_TEST(run.status == 2);
  BOOST_TEST(run.out.empty(), run.out);
  BOOST_TEST(has(run.err, part), run.err);
  BOOST_TEST(std::count(run.err.begin(), run.err.end(), '\n') == 1, run.err);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_list_has_each_and_what_it_refuses) {
  const Finished list = verbena_with({"personality"});
  BOOST_TEST(list.status == 0);
  for (const char* words : {"connectx-7", "mlx5_%d", "mana_%d", "refuses uc:EINVAL", "thunderbolt-uc"})
    BOOST_TEST(has(list.out, words), words);
}

BOOST_AUTO_TEST_CASE(one_is_printed_as_its_file_is) {
  std::ifstream file(verbena::test::source_file("scenarios/personalities/mana.yaml"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  BOOST_TEST(verbena_with({"personality", "mana"}).out == text);
}

BOOST_AUTO_TEST_CASE(a_wrong_name_or_file_is_told_in_one_line) {
  is_refused(verbena_with({"personality", "manaa"}), "did you mean 'mana'");
  is_refused(verbena_with({"personality", "--from-devinfo", "/not/there"}), "cannot be read");
  is_refused(verbena_with({"personality", "--from-devinfo", "/dev/null"}), "/dev/null:1:1: no hca_id");
  is_refused(verbena_with({"personality", "mana", "--from-devinfo", "x"}), "exclude each other");
  is_refused(environment_with("personality=manaa"), "did you mean 'mana'");
  is_refused(environment_with("personality=mana,"), "there is no such personality");
  is_refused(environment_with("personality=connectx-7", {"--link", "udp"}), "a UDP socket cannot carry RoCE v1");
  is_refused(environment_with("personality=mana,rxe", {"--devices", "3"}), "personality has 2 names");
  is_refused(environment_with("personality=./not-there.yaml"), "cannot be read");
}

BOOST_AUTO_TEST_CASE(a_program_has_the_words_and_the_name) {
  const Finished run = environment_with("personality=connectx-7 max-qp=8");
  BOOST_TEST(run.status == 0);
  BOOST_TEST(run.out.starts_with("mlx5_%d\n"), run.out);
  BOOST_TEST(has(run.out, "part-id=4129"), run.out);
  BOOST_TEST(has(run.out, "max-qp=8"), run.out);
  BOOST_TEST(!has(run.out, "max-qp=16384"), run.out);
  BOOST_TEST(environment_with("personality=mana", {"--device-name", "x0"}).out.starts_with("x0\n"));
}

BOOST_AUTO_TEST_CASE(several_are_one_of_each_device) {
  const Finished run = environment_with("personality=connectx-7,mana,connectx-7");
  BOOST_TEST(run.status == 0);
  BOOST_TEST(run.out.starts_with("mlx5_0,mana_0,mlx5_1\n"), run.out);
  BOOST_TEST(run.out.ends_with("\n3\n"), run.out);
  BOOST_TEST(std::count(run.out.begin(), run.out.end(), '|') == 2, run.out);
}
