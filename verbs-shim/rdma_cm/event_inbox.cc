#include "verbs-shim/rdma_cm/event_inbox.h"

#include <utility>

namespace verbena::shim::rdma_cm {
namespace {

// Set while this thread holds the lock: it finds the inbox itself before it lets go.
thread_local bool holds_lock = false;

}  // namespace

void EventInbox::lock() {
  mutex_.lock();
  holds_lock = true;
}

void EventInbox::unlock() {
  // What arrives between the last look and the unlocking finds the lock held, and is looked for once more.
  for (;;) {
    empty();
    holds_lock = false;
    mutex_.unlock();
    {
      const std::scoped_lock guard(inbox_mutex_);
      if (inbox_.empty()) return;
    }
    if (!mutex_.try_lock()) return;
    holds_lock = true;
  }
}

void EventInbox::empty() {
  for (;;) {
    std::deque<Waiting> waiting;
    {
      const std::scoped_lock guard(inbox_mutex_);
      waiting.swap(inbox_);
    }
    if (waiting.empty()) return;
    for (const Waiting& one : waiting) {
      if (const auto* const told = std::get_if<OfPort>(&one)) endpoints_.take(*told->from, told->port, told->event);
      if (const auto* const news = std::get_if<SaSession::News>(&one)) endpoints_.take(*news);
    }
  }
}

void EventInbox::put(const Device& from, std::uint32_t port, const cm::Event& event) {
  put(Waiting(OfPort{&from, port, event}));
}

void EventInbox::put(const SaSession::News& news) {
  put(Waiting(news));
}

void EventInbox::put(Waiting waiting) {
  {
    const std::scoped_lock guard(inbox_mutex_);
    inbox_.push_back(std::move(waiting));
  }
  if (holds_lock || !mutex_.try_lock()) return;
  holds_lock = true;
  unlock();
}

bool EventInbox::is_held_here() {
  return holds_lock;
}

void EventInbox::before_fork() {
  lock();
  inbox_mutex_.lock();
}

void EventInbox::after_fork(bool in_child) {
  if (in_child) inbox_.clear();
  inbox_mutex_.unlock();
  holds_lock = false;
  mutex_.unlock();
}

}  // namespace verbena::shim::rdma_cm
