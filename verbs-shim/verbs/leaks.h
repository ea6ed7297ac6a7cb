// Leaks: which objects of verbs nobody has destroyed by the end of the process, and who made them.
//
// Solely responsible for remembering where each object was made, and for the report at the end, which goes to the file
// that VERBENA_LEAKS names (`verbena exec --leaks`). Without it there is nobody to ask: an object costs a look at null
// when it is made and when it goes.
// Tested by: tests/programs/leaks.py
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace verbena::shim {

class Leaks {
 public:
  /// Null: nobody wants to know. Else the same one as long as the process lives.
  static Leaks* watch();

  /// `kind` stays as long as the process: "QP". The caller's callers have made the object.
  void born(const void* object, std::string_view kind);
  void gone(const void* object);
  /// The process ends: appends its report to the file, once. A process that has made no object says nothing.
  void report();

 private:
  struct Birth {
    std::string_view kind;
    std::uint64_t order;
    pid_t process;  // a child of fork() knows its parent's
    std::vector<void*> callers;
  };
  explicit Leaks(std::string path) : path_(std::move(path)) {}
  std::vector<Birth> left();
  std::string text();

  const std::string path_;
  std::mutex mutex_;
  std::unordered_map<const void*, Birth> births_;
  std::uint64_t made_ = 0;
  pid_t made_by_ = 0;  // who counted made_
  bool is_reported_ = false;
};

}  // namespace verbena::shim
