// One object of every kind, and the names of all verbs: for tests of what is true of each of them.
//
// The names are those that stand in the shim's own source: a verb that is added and not tried fails the test that tries
// all.
#pragma once

#include <cerrno>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/shim/verbs_fixture.h"

// Exported, but not declared where applications look.
extern "C" {
int ibv_query_gid_type(ibv_context* context, std::uint8_t port_num, unsigned index, int* type);
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size);
}

namespace verbs_test {

inline constexpr int kBefore = EXFULL;  // an errno that no verb says

/// A context with one object of every kind, all of them usable.
struct OneOfEverything : Endpoint {
  OneOfEverything();
  ~OneOfEverything();
  ibv_ah* ah;
  ibv_mw* mw;
  ibv_dm* dm;
  ibv_mr* dm_region;
  ibv_xrcd* xrcd;
  ibv_srq* xrc_srq;
  ibv_qp* xrc_qp;
  ibv_wq* wq;
  ibv_rwq_ind_table* table;
  ibv_counters* counters;
  ibv_qp* raw;
  ibv_flow* flow;
  ibv_td* td;
  ibv_pd* parent;

 private:
  void make_ethernet_objects();
};

/// What can be made over and over: attributes that are right for the objects of a context.
ibv_qp_init_attr qp_attributes(ibv_cq* cq);
ibv_qp_init_attr_ex xrc_qp_attributes(ibv_xrcd* xrcd);
ibv_srq_init_attr_ex xrc_srq_attributes(ibv_pd* pd, ibv_cq* cq, ibv_xrcd* xrcd);
ibv_wq_init_attr wq_attributes(ibv_pd* pd, ibv_cq* cq);
ibv_flow_attr flow_attributes();

/// A verb's answer. `error`: the errno value that it says itself; 0: errno alone says it, or it has succeeded.
struct Answer {
  bool failed = false;
  int error = 0;
};
template <class Object>
Answer answer_of(Object* made) {
  return {.failed = made == nullptr};
}
inline Answer answer_of(int number) {
  return {.failed = number != 0, .error = number > 0 ? number : 0};
}

/// A verb as the shim's source names it, and a call of it.
struct Call {
  std::string verb;
  int error = 0;  // with which it must fail; 0: it must succeed
  std::string text;
  std::function<Answer()> call;
};
#define FAILS(verb, error, ...)                                        \
  verbs_test::Call {                                                   \
    #verb, error, #__VA_ARGS__, [&] { return answer_of(__VA_ARGS__); } \
  }
#define SUCCEEDS(verb, ...) FAILS(verb, 0, __VA_ARGS__)

/// Makes the calls, errno being kBefore, and checks the answer and errno.
void check(const std::vector<Call>& calls);

/// Every verb that the shim gives to C: all that go through its boundary, and what it exports beside them.
std::set<std::string> all_verbs();
/// Fails the test for a verb that is neither tried nor excused, and for an excuse that is none.
void check_all_tried(const std::vector<Call>& calls, const std::set<std::string>& excused);

/// Overwrites a field for as long as it lives.
template <class Field>
class Overwritten {
 public:
  Overwritten(Field& field, Field value) : field_(field), own_(field) { field_ = value; }
  ~Overwritten() { field_ = own_; }
  Overwritten(const Overwritten&) = delete;
  Overwritten& operator=(const Overwritten&) = delete;

 private:
  Field& field_;
  Field own_;
};

}  // namespace verbs_test
