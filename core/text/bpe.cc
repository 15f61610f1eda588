#include "text/bpe.h"

#include <algorithm>
#include <string>

#include "base/format.h"
#include "base/utf8.h"

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
                ": a vocabulary of this kind needs its list of merges");
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
  if (joined.size() > kMaxMerged) return true;
  longest_merged_ = std::max(longest_merged_, joined.size());
  // A pair that is listed twice keeps its first rank.
  const auto rank = static_cast<uint32_t>(merges_.size());
  table_.insert(pair_hash(left, right), rank, [&](uint32_t other) {
    return merges_[other].left == left && merges_[other].right == right;
  });
  merges_.push_back({left, right, merged});
  return true;
}

void BpeEncoder::forget_merges_to_special(const Vocab& vocabulary) {
  for (Merge& merge : merges_)
    if (!vocabulary.is_plain(merge.merged) && vocabulary.type(merge.merged) != TokenType::byte)
      merge.merged = kNoToken;
}

uint32_t BpeEncoder::find_merge(TokenId left, TokenId right) const {
  if (left == kNoToken || right == kNoToken) return IndexTable::kNone;
  return table_.find(pair_hash(left, right), [&](uint32_t rank) {
    return merges_[rank].left == left && merges_[rank].right == right;
  });
}

// The token that is the word, if words that are one aren't merged.
TokenId BpeEncoder::whole_word(const Vocab& vocabulary, std::string_view word) const {
  if (word.size() > vocabulary.longest_text()) return kNoToken;
  if (pre_tokenizer_.raw) return word[0] == '\n' ? vocabulary.find_plain(word) : kNoToken;
  if (!pre_tokenizer_.whole_words) return kNoToken;
  std::string coded;
  for (const char c : word) coded.append(byte_character(static_cast<uint8_t>(c)));
  const TokenId id = vocabulary.find_plain(coded);
  // User-defined tokens are not coded in the vocabulary, so an equal text can stand for other
  // bytes.
  return id != kNoToken && vocabulary.piece(id) == word ? id : kNoToken;
}

// What begins at byte `at` of a word before any merge.
Symbol BpeEncoder::symbol_at(const Vocab& vocabulary, std::string_view word, size_t at) const {
  Symbol symbol{static_cast<uint32_t>(at), 1, -1, -1, kNoToken, kNoToken, 0};
  if (pre_tokenizer_.raw) {
    symbol.size = utf8_decode(word.substr(at)).length;
    symbol.token = vocabulary.find_plain(word.substr(at, symbol.size));
  } else {
    symbol.token = vocabulary.byte_token(static_cast<uint8_t>(word[at]));
  }
  return symbol;
}

uint32_t BpeEncoder::find_crossing(const Vocab& vocabulary, std::string_view word,
                                   const Symbol& symbol, size_t end) const {
  uint32_t best = kNoPriority;
  if (end - symbol.begin >= longest_merged_ || symbol.token == kNoToken) return best;
  const size_t first = symbol.begin + symbol.size;
  std::string right;
  for (size_t at = first; at < word.size(); ++at) {
    if (pre_tokenizer_.raw) {
      right.push_back(word[at]);
    } else {
      right.append(byte_character(static_cast<uint8_t>(word[at])));
    }
    if (symbol.size + right.size() > longest_merged_) break;
    if (at < end) continue;
    best = std::min(best, find_merge(symbol.token, vocabulary.find(right)));
  }
  return best;
}

// Encodes `part` bytes of a word or fewer, and returns how many.
size_t BpeEncoder::encode_part(const Vocab& vocabulary, std::string_view word, size_t part,
                               MergeList& list, std::vector<TokenId>& out) const {
  const bool whole = word.size() <= part || part >= kMaxPart;
  const size_t end = std::min(word.size(), part);
  list.symbols.clear();
  for (size_t at = 0; at < end;) {
    const Symbol symbol = symbol_at(vocabulary, word, at);
    list.add(symbol.begin, symbol.size, symbol.token);
    at += symbol.size;
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
    const Symbol& symbol = list.symbols[static_cast<size_t>(i)];
    if (symbol.token != kNoToken) out.push_back(symbol.token);
    if (symbol.token != kNoToken || !pre_tokenizer_.raw) continue;
    for (const char c : word.substr(symbol.begin, symbol.size)) {
      const TokenId id = vocabulary.byte_token(static_cast<uint8_t>(c));
      if (id != kNoToken) out.push_back(id);
    }
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
      const TokenId id = whole_word(vocabulary, plain.word);
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
