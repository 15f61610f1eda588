#include "text/bpe.h"

#include <algorithm>
#include <string>

#include "base/format.h"

namespace sluice {
namespace {

constexpr uint64_t kMaxMerges = 1u << 22;  // the largest known lists have half a million

uint64_t pair_hash(TokenId left, TokenId right) {
  return hash_mix(
      0, static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right));
}

}  // namespace

Result<BpeEncoder> BpeEncoder::from_gguf(const Gguf& gguf, const Vocab& vocabulary,
                                         const PreTokenizer& pre_tokenizer) {
  const MetadataValue* merges = gguf.find("tokenizer.ggml.merges");
  if (merges == nullptr || !merges->is_array() ||
      (merges->element != ValueType::string && merges->count > 0)) {
    return fail(Code::bad_file, "tokenizer.ggml.merges is ",
                merges == nullptr ? "missing" : "no array of strings",
                ": a gpt2 vocabulary needs its list of merges");
  }
  if (merges->count > kMaxMerges) {
    return fail(Code::bad_file, "tokenizer.ggml.merges has ", merges->count, " entries; at most ",
                kMaxMerges, " are expected");
  }
  BpeEncoder out;
  out.pre_tokenizer_ = pre_tokenizer;
  out.merges_.reserve(static_cast<size_t>(merges->count));
  out.table_.reset(static_cast<size_t>(merges->count));
  for (uint64_t i = 0; i < merges->count; ++i) {
    if (!out.add_merge(merges->text(i), vocabulary)) ++out.skipped_;
  }
  return out;
}

// False: the text isn't "left right", or the vocabulary lacks one of the two or the merged token.
bool BpeEncoder::add_merge(std::string_view merge, const Vocab& vocabulary) {
  const size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos) return false;
  std::string joined(merge.substr(0, space));
  joined.append(merge.substr(space + 1));
  const TokenId left = vocabulary.find(merge.substr(0, space));
  const TokenId right = vocabulary.find(merge.substr(space + 1));
  const TokenId merged = vocabulary.find(joined);
  if (left == kNoToken || right == kNoToken || merged == kNoToken) return false;
  longest_merged_ = std::max(longest_merged_, joined.size());
  // A pair that is listed twice keeps its first rank.
  const auto rank = static_cast<uint32_t>(merges_.size());
  table_.insert(pair_hash(left, right), rank, [&](uint32_t other) {
    return merges_[other].left == left && merges_[other].right == right;
  });
  merges_.push_back({left, right, merged});
  return true;
}

uint32_t BpeEncoder::find_merge(TokenId left, TokenId right) const {
  if (left == kNoToken || right == kNoToken) return IndexTable::kNone;
  return table_.find(pair_hash(left, right), [&](uint32_t rank) {
    return merges_[rank].left == left && merges_[rank].right == right;
  });
}

TokenId BpeEncoder::whole_word(const Vocab& vocabulary, std::string_view word) const {
  if (word.size() > vocabulary.longest_text()) return kNoToken;
  std::string coded;
  for (const char c : word) coded.append(byte_character(static_cast<uint8_t>(c)));
  const TokenId id = vocabulary.find_plain(coded);
  // User-defined tokens are not coded in the vocabulary, so an equal text can stand for other
  // bytes.
  return id != kNoToken && vocabulary.piece(id) == word ? id : kNoToken;
}

uint32_t BpeEncoder::find_crossing(const Vocab& vocabulary, std::string_view word,
                                   const Symbol& symbol, size_t end) const {
  uint32_t best = kNoPriority;
  if (end - symbol.begin >= longest_merged_ || symbol.token == kNoToken) return best;
  const size_t first = symbol.begin + symbol.size;
  std::string right;
  for (size_t at = first; at < word.size(); ++at) {
    const auto byte = static_cast<uint8_t>(word[at]);
    right.append(byte_character(byte));
    if (symbol.size + right.size() > longest_merged_) break;
    if (at < end) continue;
    const TokenId id = at == first ? vocabulary.byte_token(byte) : vocabulary.find(right);
    best = std::min(best, find_merge(symbol.token, id));
  }
  return best;
}

// Encodes `part` bytes of a word or fewer, and returns how many.
size_t BpeEncoder::encode_part(const Vocab& vocabulary, std::string_view word, size_t part,
                               MergeList& list, std::vector<TokenId>& out) const {
  const bool whole = word.size() <= part || longest_merged_ > kMaxCutToken;
  const size_t end = whole ? word.size() : part;
  list.symbols.clear();
  for (size_t i = 0; i < end; ++i) {
    list.add(static_cast<uint32_t>(i), 1, vocabulary.byte_token(static_cast<uint8_t>(word[i])));
  }
  const auto find_pair = [&](const Symbol& left, const Symbol& right) -> PairMerge {
    const uint32_t rank = find_merge(left.token, right.token);
    if (rank == IndexTable::kNone) return {};
    return {merges_[rank].merged, rank};
  };
  const size_t size = whole ? merge_symbols(list, find_pair)
                            : merge_part(list, find_pair, [&](const Symbol& symbol, size_t at) {
                                return find_crossing(vocabulary, word, symbol, at);
                              });
  for (int32_t i = size > 0 ? 0 : -1; i >= 0; i = list.symbols[static_cast<size_t>(i)].next) {
    const TokenId id = list.symbols[static_cast<size_t>(i)].token;
    if (id != kNoToken) out.push_back(id);
  }
  return size;
}

bool BpeEncoder::encode(const Vocab& vocabulary, PlainText& plain, size_t& budget, MergeList& list,
                        std::vector<TokenId>& out) const {
  while (budget > 0) {
    if (plain.word.empty()) {
      plain.word = plain.words.next();
      if (plain.word.empty()) return false;
      plain.part = plain.first_part;
      const TokenId id = pre_tokenizer_.whole_words ? whole_word(vocabulary, plain.word) : kNoToken;
      if (id != kNoToken) {
        out.push_back(id);
        budget -= std::min(budget, plain.word.size());
        plain.word = {};
        continue;
      }
    }
    const size_t size = encode_part(vocabulary, plain.word, plain.part, list, out);
    budget -= std::min(budget, std::min(plain.part, plain.word.size()));
    if (size <= plain.part / 2) plain.part *= 2;
    plain.word.remove_prefix(size);
  }
  return true;
}

}  // namespace sluice
