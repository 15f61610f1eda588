#include "files/vocabulary/sentencepiece.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "base/format.h"

namespace sluice {
namespace {

constexpr size_t kMaxPieces = 1u << 22;  // as in text/vocab.cc

// A field of a message: a varint (type 0), 4 or 8 bytes (5, 1) or a text or message (2).
struct Field {
  uint64_t number = 0;
  uint32_t type = 0;
  uint64_t value = 0;     // of a varint
  std::string_view text;  // the bytes of the others
};

// Goes through the fields of one message. Messages within it are texts here, so there is no
// recursion.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : left_(bytes) {}

  bool damaged() const { return damaged_; }

  // The next field; nothing at the end, or if the bytes are damaged.
  std::optional<Field> next() {
    if (left_.empty()) return std::nullopt;
    Field out;
    const uint64_t key = varint();
    out.number = key >> 3;
    out.type = static_cast<uint32_t>(key & 7);
    switch (out.type) {
      case 0:
        out.value = varint();
        break;
      case 1:
        out.text = take(8);
        break;
      case 2:
        out.text = take(varint());
        break;
      case 5:
        out.text = take(4);
        break;
      default:  // groups, which nobody writes
        damaged_ = true;
    }
    if (damaged_ || out.number == 0) {
      damaged_ = true;
      return std::nullopt;
    }
    return out;
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<uint8_t>(left_.front());
      left_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    damaged_ = true;
    return 0;
  }

  std::string_view take(uint64_t size) {
    if (size > left_.size()) {
      damaged_ = true;
      return {};
    }
    const std::string_view out = left_.substr(0, static_cast<size_t>(size));
    left_.remove_prefix(out.size());
    return out;
  }

  std::string_view left_;
  bool damaged_ = false;
};

// SentencePiece's numbers of types are GGUF's.
bool read_piece(std::string_view message, SentencePiece& out) {
  MessageReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 1 && field->type == 2) out.text = field->text;
    if (field->number == 2 && field->type == 5) {
      std::memcpy(&out.score, field->text.data(), sizeof out.score);
      if (!std::isfinite(out.score)) return false;
    }
    if (field->number == 3 && field->type == 0) {
      if (field->value < 1 || field->value > static_cast<uint64_t>(TokenType::byte)) return false;
      out.type = static_cast<TokenType>(field->value);
    }
  }
  return !reader.damaged();
}

// TrainerSpec.model_type: 1 unigram, 2 BPE, 3 words, 4 characters.
bool read_trainer(std::string_view message, bool& merges) {
  MessageReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == 3 && field->type == 0) merges = field->value == 2;
  }
  return !reader.damaged();
}

}  // namespace

Result<SentencePieces> read_sentencepiece(std::string_view bytes) {
  SentencePieces out;
  MessageReader reader(bytes);
  while (const auto field = reader.next()) {
    if (field->type != 2) continue;
    if (field->number == 1) {
      if (out.pieces.size() == kMaxPieces) {
        return fail(Code::bad_file, "tokenizer.model has more than ", kMaxPieces, " pieces");
      }
      out.pieces.emplace_back();
      if (!read_piece(field->text, out.pieces.back())) {
        return fail(Code::bad_file, "piece ", out.pieces.size() - 1,
                    " of tokenizer.model is damaged. Download the file again");
      }
    } else if (field->number == 2 && !read_trainer(field->text, out.merges)) {
      return fail(Code::bad_file,
                  "the settings in tokenizer.model are damaged. Download the file again");
    }
  }
  if (reader.damaged()) {
    return fail(Code::bad_file, "tokenizer.model is damaged behind its piece ", out.pieces.size(),
                ". Download the file again");
  }
  return out;
}

}  // namespace sluice
