#include "text/bpe.h"

#include <string>

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
  const Value* merges = gguf.find("tokenizer.ggml.merges");
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
  for (size_t rank = 0; rank < merges->count; ++rank) {
    SLUICE_TRY(out.add_merge(merges->text(rank), rank, vocabulary));
  }
  return out;
}

Status BpeEncoder::add_merge(std::string_view merge, size_t rank, const Vocab& vocabulary) {
  const size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == merge.size()) {
    return fail(Code::bad_file, "tokenizer.ggml.merges[", rank, "] is '", printable(merge),
                "'; two tokens with a space between them are expected");
  }
  std::string joined(merge.substr(0, space));
  joined.append(merge.substr(space + 1));
  const TokenId left = vocabulary.find(merge.substr(0, space));
  const TokenId right = vocabulary.find(merge.substr(space + 1));
  const TokenId merged = vocabulary.find(joined);
  if (left == kNoToken || right == kNoToken || merged == kNoToken) {
    return fail(Code::bad_file, "tokenizer.ggml.merges[", rank, "] is '", printable(merge),
                "', but the vocabulary has no such token: each part and the two joined must be "
                "there");
  }
  // A pair that stands there twice keeps its first rank.
  table_.insert(pair_hash(left, right), static_cast<uint32_t>(rank), [&](uint32_t other) {
    return merges_[other].left == left && merges_[other].right == right;
  });
  merges_.push_back({left, right, merged});
  return {};
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
  // User-defined tokens stand uncoded in the vocabulary, so an equal text can mean other bytes.
  return id != kNoToken && vocabulary.piece(id) == word ? id : kNoToken;
}

void BpeEncoder::encode(const Vocab& vocabulary, std::string_view text, MergeList& list,
                        std::vector<TokenId>& out) const {
  WordSplitter words(pre_tokenizer_.splitter, text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (pre_tokenizer_.whole_words) {
      if (const TokenId id = whole_word(vocabulary, word); id != kNoToken) {
        out.push_back(id);
        continue;
      }
    }
    list.symbols.clear();
    for (size_t i = 0; i < word.size(); ++i) {
      list.add(static_cast<uint32_t>(i), 1, vocabulary.byte_token(static_cast<uint8_t>(word[i])));
    }
    merge_symbols(list, [&](const Symbol& left, const Symbol& right) -> PairMerge {
      const uint32_t rank = find_merge(left.token, right.token);
      if (rank == IndexTable::kNone) return {};
      return {merges_[rank].merged, rank};
    });
    for (int32_t i = 0; i >= 0; i = list.symbols[static_cast<size_t>(i)].next) {
      const TokenId id = list.symbols[static_cast<size_t>(i)].token;
      if (id != kNoToken) out.push_back(id);
    }
  }
}

}  // namespace sluice
