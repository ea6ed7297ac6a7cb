// atomic-chain: where all that changes a word are fetch-adds that are seen, each finds what another one left. Judged at
// the end of the stream: the values found and the values left are the same ones, but for the first and the last.
// Tested by: tests/captures/checkers/broken_test.cc
#include <algorithm>
#include <unordered_map>

#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

constexpr std::size_t kWordsMax = 1 << 16;

struct Word {
  wire::Gid host;
  std::uint64_t address = 0;
  bool operator==(const Word&) const = default;
};
struct WordHash {
  std::size_t operator()(const Word& word) const {
    return GidHash()(word.host) ^ static_cast<std::size_t>(word.address * 0x9e3779b97f4a7c15u);
  }
};

/// So that sums of different sets of values differ.
constexpr std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

struct Chain {
  Word word;
  std::uint64_t requests = 0;
  std::uint64_t answers = 0;
  std::uint64_t balance = 0;  // scrambled values left less scrambled values found
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  bool is_simple = true;  // fetch-adds without overflow only
};

class AtomicChain final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (!seen.options.all_atomics_visible) {
      misses_some_ = true;
      return not_concerned();
    }
    const wire::Operation operation = seen.info.operation;
    if (seen.info.has_atomic_eth && seen.message == nullptr) {
      Chain* chain = chain_of({seen.packet.destination(), seen.packet.atomic_eth().address});
      if (chain == nullptr) return unjudged();
      ++chain->requests;
      if (operation != wire::Operation::fetch_add) chain->is_simple = false;
      return not_concerned();
    }
    const Message* message = seen.message;
    if (!seen.info.has_atomic_ack_eth || message == nullptr || message->has_original || !message->is_atomic())
      return not_concerned();
    Chain* chain = chain_of({seen.packet.source(), message->address});
    if (chain == nullptr) return not_concerned();
    const std::uint64_t found = seen.packet.atomic_ack_eth().original;
    const std::uint64_t left = found + message->operand;
    if (left < found) chain->is_simple = false;
    ++chain->answers;
    chain->balance += scramble(left) - scramble(found);
    chain->least = std::min(chain->least, found);
    chain->most = std::max(chain->most, left);
    return not_concerned();
  }

  std::vector<RuleOutcome> finish() override {
    std::vector<RuleOutcome> outcomes;
    for (const Chain& chain : chains_) {
      if (misses_some_ || !chain.is_simple || chain.requests != chain.answers || chain.answers == 0) {
        outcomes.push_back(unjudged());
      } else if (chain.balance == scramble(chain.most) - scramble(chain.least)) {
        outcomes.push_back(holds());
      } else {
        outcomes.push_back(
            broken("the {} fetch-adds on va {:#x} do not form a chain from {:#x} to {:#x}: one was "
                   "executed twice, or not at all",
                   chain.answers, chain.word.address, chain.least, chain.most));
      }
    }
    return outcomes;
  }

 private:
  Chain* chain_of(const Word& word) {
    const auto found = index_.find(word);
    if (found != index_.end()) return &chains_[found->second];
    if (chains_.size() == kWordsMax) return nullptr;
    index_.emplace(word, chains_.size());
    return &chains_.emplace_back(Chain{word});
  }

  bool misses_some_ = false;  // atomics, from the start or from where a connection could no longer be followed
  std::vector<Chain> chains_;
  std::unordered_map<Word, std::size_t, WordHash> index_;
};

}  // namespace

std::unique_ptr<Rule> make_atomic_chain(const RegionTable&) {
  return std::make_unique<AtomicChain>();
}

}  // namespace verbena::checkers
