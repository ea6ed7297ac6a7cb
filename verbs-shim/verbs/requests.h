// Posting lists of work requests: one run of the engine for the whole list, no allocation.
// Tested by: tests/shim/verbs/data_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <span>

#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {

/// The scatter/gather list as the NIC has it: the layouts are the same (uabi_asserts.cc).
inline std::span<const nic::Sge> sges_of(const ibv_sge* list, int count) {
  return {reinterpret_cast<const nic::Sge*>(list), static_cast<std::size_t>(count)};
}

/// Posts the requests in order by `post(nic, request)`; at the first refusal *bad_request is that one, and those before
/// it stay posted.
template <class Post>
int post_receive_list(host::Engine* engine, ibv_recv_wr* request, ibv_recv_wr** bad_request, Post&& post) {
  if (engine == nullptr) {
    *bad_request = request;
    return kNoDevice;
  }
  return engine->run([&](nic::Nic& nic) {
    for (; request != nullptr; request = request->next) {
      int error = EINVAL;
      if (request->num_sge >= 0)
        error = errno_of(post(
            nic, nic::ReceiveRequest{.wr_id = request->wr_id, .sges = sges_of(request->sg_list, request->num_sge)}));
      if (error != 0) {
        *bad_request = request;
        return error;
      }
    }
    return 0;
  });
}

}  // namespace verbena::shim
