#include "text/spm.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/utf8.h"

namespace sluice {
namespace {

constexpr size_t kMaxUtf8Bytes = 4;  // of a character

size_t longest_merged(const Vocab& vocabulary) {
  return std::min(vocabulary.longest_plain(), kMaxMerged);
}

// The higher the score, the lower the priority's number. -0 equals 0.
uint32_t score_priority(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.f);
  return bits >> 31 != 0 ? bits : ~bits & 0x7fffffffu;
}

}  // namespace

SpmEncoder::PlainText SpmEncoder::begin(std::string_view text, bool prefix_space, size_t part) {
  return {text, part, part, std::string(prefix_space ? kSpaceSign : "")};
}

// Moves text to the run: a part, and as much after it as find_crossing needs.
void SpmEncoder::fill_run(const Vocab& vocabulary, PlainText& plain) {
  // A U+2581 of the text must not become a space. It becomes byte tokens, if the vocabulary has
  // them.
  bool sign_as_bytes = true;
  for (const char c : kSpaceSign) {
    const TokenId id = vocabulary.byte_token(static_cast<uint8_t>(c));
    sign_as_bytes = sign_as_bytes && id != kNoToken;
  }
  const size_t wanted = plain.part + longest_merged(vocabulary) + kMaxUtf8Bytes;
  while (plain.at < plain.text.size() && plain.run.size() < wanted && !plain.run_ends) {
    if (plain.text[plain.at] == ' ') {
      plain.run.append(kSpaceSign);
      ++plain.at;
    } else if (sign_as_bytes && plain.text.substr(plain.at).starts_with(kSpaceSign)) {
      plain.run_ends = true;
      plain.at += kSpaceSign.size();
    } else {
      plain.run.push_back(plain.text[plain.at]);
      ++plain.at;
    }
  }
}

bool SpmEncoder::encode(const Vocab& vocabulary, PlainText& plain, size_t& budget, MergeList& list,
                        std::vector<TokenId>& out) const {
  while (budget > 0) {
    fill_run(vocabulary, plain);
    if (!plain.run.empty()) {
      const size_t size = encode_part(vocabulary, plain, list, out);
      budget -= std::min(budget, std::min(plain.part, plain.run.size()));
      if (size <= plain.part / 2) plain.part *= 2;
      plain.run.erase(0, size);
      continue;
    }
    if (!plain.run_ends) return false;
    append_bytes(vocabulary, kSpaceSign, out);
    budget -= std::min(budget, kSpaceSign.size());
    plain.run_ends = false;
    plain.part = plain.first_part;
  }
  return true;
}

// Encodes the beginning of the run and returns how many bytes of it.
size_t SpmEncoder::encode_part(const Vocab& vocabulary, const PlainText& plain, MergeList& list,
                               std::vector<TokenId>& out) const {
  const std::string_view run = plain.run;
  const bool all = plain.run_ends || plain.at == plain.text.size();
  const bool whole = all || plain.part >= kMaxPart;
  const size_t end = all ? run.size() : plain.part;
  list.symbols.clear();
  for (size_t at = 0; at < end;) {
    const uint8_t length = utf8_decode(run.substr(at)).length;
    list.add(static_cast<uint32_t>(at), length, kNoToken);
    at += length;
  }
  const auto find_pair = [&](const Symbol& left, const Symbol& right) -> PairMerge {
    if (left.size + right.size > kMaxMerged) return {};
    const TokenId id = vocabulary.find_plain(run.substr(left.begin, left.size + right.size));
    if (id == kNoToken) return {};
    return {id, score_priority(vocabulary.score(id))};
  };
  const auto find_crossing = [&](const Symbol& symbol, size_t border) {
    uint32_t best = kNoPriority;
    const size_t last = std::min(run.size(), symbol.begin + longest_merged(vocabulary));
    for (size_t at = border + 1; at <= last; ++at) {
      const TokenId id = vocabulary.find_plain(run.substr(symbol.begin, at - symbol.begin));
      if (id != kNoToken) best = std::min(best, score_priority(vocabulary.score(id)));
    }
    return best;
  };
  const size_t size =
      whole ? merge_symbols(list, find_pair) : merge_part(list, find_pair, find_crossing);
  for (int32_t i = size > 0 ? 0 : -1; i >= 0;) {
    const Symbol& symbol = list.symbols[static_cast<size_t>(i)];
    const std::string_view text = run.substr(symbol.begin, symbol.size);
    const TokenId id = symbol.token != kNoToken ? symbol.token : vocabulary.find_plain(text);
    if (id != kNoToken) {
      out.push_back(id);
    } else {
      append_bytes(vocabulary, text == kSpaceSign ? " " : text, out);
    }
    i = symbol.next;
  }
  return size;
}

void SpmEncoder::append_bytes(const Vocab& vocabulary, std::string_view bytes,
                              std::vector<TokenId>& out) const {
  for (const char c : bytes) {
    const TokenId id = vocabulary.byte_token(static_cast<uint8_t>(c));
    if (id != kNoToken) {
      out.push_back(id);
    } else if (unknown_ != kNoToken) {
      out.push_back(unknown_);
    }
  }
}

}  // namespace sluice
