// Completion queues and channels: creating, resizing, destroying, polling, arming.
// Tested by: tests/shim/verbs/queues_test.cc, tests/shim/verbs/events_test.cc
#include <algorithm>
#include <cstddef>
#include <ctime>
#include <new>

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/domain_memory.h"
#include "verbs-shim/verbs/events.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {
namespace {

constexpr std::size_t kPollAtOnce = 32;

struct CqInit {
  std::uint32_t entries = 0;
  void* user_context = nullptr;
  ibv_comp_channel* channel = nullptr;
  std::uint32_t vector = 0;
  bool single_threaded = false;
  bool wall_clock = false;
  bool ignore_overrun = false;
  ibv_pd* domain = nullptr;  // a parent domain
};

/// What to add to the engine's time to get nanoseconds since 1970.
std::int64_t wall_clock_offset_ns(host::Engine& engine) {
  return engine.run([](nic::Nic&, Time now) {
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    return std::int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec - now.ns;
  });
}

Cq* create(ibv_context* context, const CqInit& init) {
  host::Engine* const engine = working_engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  if (init.entries == 0 || init.entries > engine->nic_config().limits.max_cqe) return fail(EINVAL);
  if (init.vector >= static_cast<std::uint32_t>(context->num_comp_vectors)) return fail(EINVAL);
  if (init.channel != nullptr && !is_live_of(context, init.channel)) return fail(ENOENT);
  auto* const cq = make_on<Cq>(init.domain);
  if (cq == nullptr) return fail(ENOMEM);
  cq->context = context;
  cq->channel = init.channel;
  cq->cq_context = init.user_context;
  cq->single_threaded = init.single_threaded;
  pthread_mutex_init(&cq->mutex, nullptr);
  pthread_cond_init(&cq->cond, nullptr);
  fill_reading(*cq);
  cq->id = Process::instance().enlist(Kind::cq, cq, context);
  const auto made = engine->run([&](nic::Nic& nic, Time) {
    std::uint32_t& cqs_made = device_of(context->device)->cqs_made;
    auto handle = nic.create_cq(init.entries, cq->id, init.ignore_overrun, cqs_made);
    if (handle) {
      cq->cqe = static_cast<int>(nic.query_cq(*handle)->entries);
      ++cqs_made;
    }
    return handle;
  });
  if (!made) {
    Process::instance().withdraw(Kind::cq, cq);
    release(context_of(context));
    release_made(cq);
    return fail(errno_of(made));
  }
  cq->nic = *made;
  cq->handle = made->index;
  if (init.wall_clock) cq->wall_clock_offset_ns = wall_clock_offset_ns(*engine);
  if (init.channel != nullptr) {
    pthread_mutex_lock(&context->mutex);
    ++init.channel->refcnt;
    pthread_mutex_unlock(&context->mutex);
  }
  return cq;
}

}  // namespace

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  constexpr std::uint64_t kFlagsKnown = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                        IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_CVLAN |
                                        IBV_WC_EX_WITH_FLOW_TAG;
  constexpr std::uint32_t kMaskKnown = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if ((attributes->wc_flags & ~kFlagsKnown) != 0 || (attributes->comp_mask & ~kMaskKnown) != 0) return fail(EOPNOTSUPP);
  CqInit init{.entries = attributes->cqe,
              .user_context = attributes->cq_context,
              .channel = attributes->channel,
              .vector = attributes->comp_vector,
              .wall_clock = (attributes->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0};
  if ((attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0) {
    constexpr std::uint32_t kAttributes = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    if ((attributes->flags & ~kAttributes) != 0) return fail(EOPNOTSUPP);
    init.ignore_overrun = (attributes->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0;
    init.single_threaded = (attributes->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  }
  if ((attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
    init.domain = attributes->parent_domain;
    if (const int error = missing_in(context, init.domain); error != 0) return fail(error);
    if (parent_domain_of(init.domain) == nullptr) return fail(EINVAL);
  }
  return create(context, init);
}

int poll_cq(ibv_cq* cq, int entries, ibv_wc* into) {
  host::Engine* const engine = engine_of(cq->context);
  if (engine == nullptr || entries < 0) {
    errno = engine == nullptr ? kNoDevice : EINVAL;
    return -1;
  }
  // Room without construction: the NIC fills what it returns, and an empty poll must cost nothing.
  alignas(nic::Completion) std::byte room[kPollAtOnce * sizeof(nic::Completion)];
  auto* const completions = reinterpret_cast<nic::Completion*>(room);
  const nic::CqHandle handle = cq_of(cq)->nic;
  int taken = 0;
  while (taken < entries) {
    const std::size_t wanted = std::min(static_cast<std::size_t>(entries - taken), kPollAtOnce);
    const std::size_t got = engine->poll_cq(handle, {completions, wanted});
    for (std::size_t i = 0; i < got; ++i) completion_to(completions[i], into[taken++]);
    if (got < wanted) break;
  }
  return taken;
}

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes) {
  const auto found = live_engine(cq);
  if (!found) return found.error();
  host::Engine* const engine = *found;
  if (attributes->attr_mask == 0) return EINVAL;
  if (attributes->attr_mask != IBV_CQ_ATTR_MODERATE) return EOPNOTSUPP;
  return errno_of(engine->run([cq, attributes](nic::Nic& nic, Time) {
    return nic.moderate_cq(cq_of(cq)->nic, attributes->moderate.cq_count, microseconds(attributes->moderate.cq_period));
  }));
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  host::Engine* const engine = engine_of(cq->context);
  if (engine == nullptr) return kNoDevice;
  return errno_of(engine->run([cq, solicited_only](nic::Nic& nic, Time) {
    return nic.request_notification(cq_of(cq)->nic, solicited_only != 0);
  }));
}

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  if (working_engine_of(context) == nullptr) return fail(kNoDevice);
  auto* const channel = new (std::nothrow) Channel();
  if (channel == nullptr) return fail(ENOMEM);
  if (const int error = channel->events.open(); error != 0) {
    delete channel;
    return fail(error);
  }
  channel->context = context;
  channel->fd = channel->events.descriptor();
  Process::instance().enlist(Kind::channel, channel, context);
  return channel;
}

int destroy_comp_channel(ibv_comp_channel* channel) {
  auto* const object = static_cast<Channel*>(channel);
  Process& process = Process::instance();
  if (!is_live(channel)) return missing(channel);
  ibv_context* const context = channel->context;
  pthread_mutex_lock(&context->mutex);
  const bool busy = channel->refcnt != 0;
  pthread_mutex_unlock(&context->mutex);
  if (busy) return EBUSY;
  process.withdraw(Kind::channel, object);
  delete object;
  release(context_of(context));
  return 0;
}

ibv_cq* create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector) {
  if (cqe < 0 || comp_vector < 0) return fail(EINVAL);
  Cq* const cq = create(context, {.entries = static_cast<std::uint32_t>(cqe),
                                  .user_context = cq_context,
                                  .channel = channel,
                                  .vector = static_cast<std::uint32_t>(comp_vector)});
  return cq == nullptr ? nullptr : cq_base(cq);
}

int resize_cq(ibv_cq* cq, int cqe) {
  const auto found = live_engine(cq);
  if (!found) return found.error();
  verbena::host::Engine* const engine = *found;
  if (cqe < 1 || static_cast<std::uint32_t>(cqe) > engine->nic_config().limits.max_cqe) return EINVAL;
  return errno_of(engine->run([cq, cqe](verbena::nic::Nic& nic, verbena::Time) {
    const auto resized = nic.resize_cq(cq_of(cq)->nic, static_cast<std::uint32_t>(cqe));
    if (resized) cq->cqe = static_cast<int>(nic.query_cq(cq_of(cq)->nic)->entries);
    return resized;
  }));
}

int destroy_cq(ibv_cq* cq) {
  Cq* const object = cq_of(cq);
  Process& process = Process::instance();
  if (!is_live(cq)) return missing(cq);
  ibv_context* const context = cq->context;
  const bool connected = engine_of(context) != nullptr;
  if (verbena::host::Engine* const engine = engine_of(context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.destroy_cq(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::cq, object);
  Acknowledged owed(cq->mutex, cq->cond);
  owed.add(context_of(context)->async_events.cancel(object->async_events), cq->async_events_completed);
  if (cq->channel != nullptr) {
    auto& events = static_cast<Channel*>(cq->channel)->events;
    owed.add(events.cancel(object->completion_events), cq->comp_events_completed);
  }
  if (connected) owed.wait();
  if (cq->channel != nullptr) {
    pthread_mutex_lock(&context->mutex);
    --cq->channel->refcnt;
    pthread_mutex_unlock(&context->mutex);
  }
  pthread_mutex_destroy(&cq->mutex);
  pthread_cond_destroy(&cq->cond);
  release_made(object);
  release(context_of(context));
  return 0;
}

}  // namespace verbena::shim
