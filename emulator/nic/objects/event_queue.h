// EventQueue: a first-in first-out queue that keeps its storage, so that steady traffic does not allocate.
// Tested by: tests/nic/queue_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace verbena::nic {

template <class T>
class EventQueue {
 public:
  bool empty() const { return head_ == events_.size(); }
  void push(const T& event) { events_.push_back(event); }
  std::optional<T> pop() {
    if (empty()) return std::nullopt;
    const T event = events_[head_++];
    if (empty()) {
      events_.clear();
      head_ = 0;
    }
    return event;
  }
  template <class Predicate>
  void remove_if(Predicate&& predicate) {
    std::erase_if(events_,
                  [&, i = std::size_t{0}](const T& event) mutable { return i++ >= head_ && predicate(event); });
  }

 private:
  std::vector<T> events_;
  std::size_t head_ = 0;
};

}  // namespace verbena::nic
