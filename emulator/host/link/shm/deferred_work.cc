#include "emulator/host/link/shm/deferred_work.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace verbena::host {
namespace {
constexpr std::size_t kItemsAtOnce = 16;
constexpr std::size_t kItemsExpected = 64;  // room made beforehand; more is only slower once
}  // namespace

DeferredWork::DeferredWork() {
  items_.reserve(kItemsExpected);
}

void DeferredWork::add(Item item) {
  if (item.makes_ways()) making_ways_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard guard(lock_);
  items_.push_back(std::move(item));
  has_items_.store(true, std::memory_order_release);
}

bool DeferredWork::run_all(Runner& runner) {
  bool makes_ways = false;
  while (has_items_.load(std::memory_order_acquire)) {
    std::array<Item, kItemsAtOnce> batch;
    std::size_t count = 0;
    {
      const std::lock_guard guard(lock_);
      count = std::min(items_.size(), batch.size());
      const auto end = items_.begin() + static_cast<std::ptrdiff_t>(count);
      std::move(items_.begin(), end, batch.begin());
      items_.erase(items_.begin(), end);
      has_items_.store(!items_.empty(), std::memory_order_release);
    }
    for (std::size_t i = 0; i < count; ++i) {
      runner.run(batch[i]);
      if (!batch[i].makes_ways()) continue;
      makes_ways = true;
      making_ways_.fetch_sub(1, std::memory_order_release);
    }
  }
  // What another thread is about may be what the caller's frames wait for.
  for (; making_ways_.load(std::memory_order_acquire) != 0; sched_yield()) makes_ways = true;
  return makes_ways;
}

void DeferredWork::abandon() {
  making_ways_.store(0, std::memory_order_relaxed);
  items_.clear();
}

}  // namespace verbena::host
