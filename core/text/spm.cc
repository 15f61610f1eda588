#include "text/spm.h"

#include <bit>
#include <string>

#include "base/utf8.h"

namespace sluice {
namespace {

// Ascending where scores descend (-0 counts as 0).
uint32_t score_priority(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.f);
  return bits >> 31 != 0 ? bits : ~bits & 0x7fffffffu;
}

}  // namespace

void SpmEncoder::encode(const Vocab& vocabulary, std::string_view text, bool prefix_space,
                        MergeList& list, std::vector<TokenId>& out) const {
  // The text's own U+2581 must not become a space: it is written in byte tokens, where there are.
  bool sign_as_bytes = true;
  for (const char c : kSpaceSign) {
    const TokenId id = vocabulary.byte_token(static_cast<uint8_t>(c));
    sign_as_bytes = sign_as_bytes && id != kNoToken;
  }
  std::string run;
  run.reserve(text.size() + text.size() / 2 + kSpaceSign.size());
  if (prefix_space) run.append(kSpaceSign);
  for (size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      run.append(kSpaceSign);
      ++at;
    } else if (sign_as_bytes && text.substr(at).starts_with(kSpaceSign)) {
      encode_run(vocabulary, run, list, out);
      run.clear();
      append_bytes(vocabulary, kSpaceSign, out);
      at += kSpaceSign.size();
    } else {
      run.push_back(text[at]);
      ++at;
    }
  }
  encode_run(vocabulary, run, list, out);
}

void SpmEncoder::encode_run(const Vocab& vocabulary, std::string_view run, MergeList& list,
                            std::vector<TokenId>& out) const {
  if (run.empty()) return;
  list.symbols.clear();
  for (size_t at = 0; at < run.size();) {
    const uint8_t length = utf8_decode(run.substr(at)).length;
    list.add(static_cast<uint32_t>(at), length, kNoToken);
    at += length;
  }
  merge_symbols(list, [&](const Symbol& left, const Symbol& right) -> PairMerge {
    const TokenId id = vocabulary.find_plain(run.substr(left.begin, left.size + right.size));
    if (id == kNoToken) return {};
    return {id, score_priority(vocabulary.score(id))};
  });
  for (int32_t i = 0; i >= 0;) {
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
