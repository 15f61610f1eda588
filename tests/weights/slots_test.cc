// Weights by themselves: pieces of tensors, slots that take turns in their places, and single rows.
#include <cstring>
#include <optional>

#include "support/engine_fixture.h"
#include "weights/weights.h"

namespace sluice {
namespace {

// A file with a fused matrix [32, 48], experts [32, 16, 3] and a fused vector [48], all F32. The
// numbers in each tensor are 0, 1, 2 and so on.
struct Fused {
  std::string bytes;
  Gguf header;

  Fused() {
    GgufBuilder file;
    file.kv_string("general.architecture", "none");
    const auto counting = [](size_t n) {
      std::vector<float> numbers(n);
      for (size_t i = 0; i < n; ++i) numbers[i] = static_cast<float>(i);
      return bytes_of(numbers);
    };
    file.tensor("qkv", Type::F32, {32, 48}, counting(32 * 48));
    file.tensor("experts", Type::F32, {32, 16, 3}, counting(32 * 16 * 3));
    file.tensor("bias", Type::F32, {48}, counting(48));
    bytes = file.build();
    auto parsed = parse_gguf(as_bytes(bytes), bytes.size());
    EXPECT_TRUE(parsed.has_value());
    if (parsed.has_value()) header = std::move(*parsed);
  }

  void serve(Weights& weights) const {
    for (const Want& want : weights.wants(UINT64_MAX)) {
      std::memcpy(want.place.data(), bytes.data() + want.offset, want.place.size());
      ASSERT_TRUE(weights.filled(want.offset, want.place.size()).has_value());
    }
  }
};

std::vector<float> row_of(const Matrix& matrix, int64_t row) {
  std::vector<float> values(static_cast<size_t>(matrix.cols));
  read_row(matrix, row, values.data());
  return values;
}

TEST(Pieces, AreRowsOfFusedTensorsAndExperts) {
  const Fused file;
  TensorManifest manifest(2);
  const auto k = manifest.add_rows(file.header, "qkv", 0, 48, 32, 16, 20);
  const auto bias = manifest.add_vector_part(file.header, "bias", 0, 48, 16, 20);
  const auto expert = manifest.add_expert(file.header, "experts", 1, 3, 16, 32, 2, 0, 16);
  ASSERT_TRUE(k.has_value() && bias.has_value() && expert.has_value());
  EXPECT_TRUE(manifest.check_no_others(file.header, "none").has_value());
  Weights weights(manifest);
  ASSERT_TRUE(weights.allocate().has_value());
  file.serve(weights);
  ASSERT_TRUE(weights.all_resident());
  for (const int64_t row : {0, 15, 16, 19})
    EXPECT_EQ(row_of(weights.matrix(*k), row)[3], static_cast<float>((16 + row) * 32 + 3));
  EXPECT_EQ(weights.vector(*bias)[19], 35.0f);
  EXPECT_EQ(row_of(weights.matrix(*expert), 5)[31], static_cast<float>((2 * 16 + 5) * 32 + 31));
}

TEST(Pieces, OfOtherShapesAreRefused) {
  const Fused file;
  TensorManifest manifest(1);
  const auto code = [](const Result<int>& result) {
    return result.has_value() ? "" : code_name(result.error().code);
  };
  EXPECT_EQ(code(manifest.add_rows(file.header, "qkv", 0, 47, 32, 0, 16)), "bad_file");
  EXPECT_EQ(code(manifest.add_matrix(file.header, "experts", 0, 16, 32)), "bad_file");
  EXPECT_EQ(code(manifest.add_expert(file.header, "experts", 0, 2, 16, 32, 0, 0, 16)), "bad_file");
  EXPECT_EQ(code(manifest.add_vector_part(file.header, "bias", 0, 49, 0, 16)), "bad_file");
  EXPECT_EQ(code(manifest.add_vector(file.header, "nothing", 0, 48)), "bad_file");
  EXPECT_EQ(manifest.pieces().size(), 0u);
  EXPECT_EQ(code_name(manifest.check_no_others(file.header, "none").error().code),
            "unsupported_model");
}

// The error names the tensor of which there is none.
TEST(Pieces, AreOfEveryTensor) {
  const Fused file;
  TensorManifest manifest(1);
  ASSERT_TRUE(manifest.add_vector(file.header, "bias", 0, 48).has_value());
  ASSERT_TRUE(manifest.add_expert(file.header, "experts", 0, 3, 16, 32, 1, 0, 16).has_value());
  const Status missing = manifest.check_no_others(file.header, "none");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(std::get<std::string>(missing.error().facts.back().value), "qkv");
  ASSERT_TRUE(manifest.add_rows(file.header, "qkv", 0, 48, 32, 16, 20).has_value());
  EXPECT_TRUE(manifest.check_no_others(file.header, "none").has_value());
  for (const Piece& piece : manifest.pieces())
    EXPECT_EQ(file.header.tensors[piece.tensor_index].name, piece.tensor);
}

// Four slots of one tensor each; the two in the middle share one place.
struct FourSlots {
  Fused file;
  TensorManifest manifest{4};
  int handles[3] = {};
  std::optional<Weights> weights;

  FourSlots() {
    for (int slot = 0; slot < 3; ++slot)
      handles[slot] =
          manifest.add_expert(file.header, "experts", slot, 3, 16, 32, slot, 0, 16).value_or(-1);
    EXPECT_TRUE(manifest.add_vector(file.header, "bias", 3, 48).has_value());
    weights.emplace(manifest, SharedPlaces{.slots = {1, 2}, .places = 1});
    EXPECT_TRUE(weights->allocate().has_value());
  }
  void serve() { file.serve(*weights); }
  SlotState state(int slot) const { return weights->state(slot); }
  float first_number(int slot) const { return row_of(weights->matrix(handles[slot]), 0)[0]; }
};

TEST(Slots, TakeTurnsInTheirPlaces) {
  FourSlots four;
  Weights& weights = *four.weights;
  EXPECT_EQ(weights.bytes(), 2u * 16 * 32 * 4 + 48 * 4);
  Weights::Cursor cursor(weights);
  EXPECT_FALSE(cursor.move_to(1));
  EXPECT_FALSE(weights.ready());
  four.serve();
  EXPECT_TRUE(weights.ready());
  EXPECT_EQ(four.state(1), SlotState::resident);
  EXPECT_EQ(four.state(2), SlotState::absent);  // no place is free
  EXPECT_EQ(weights.refilled_bytes(), 0u);
  for (const int slot : {1, 2, 1, 2}) {
    if (!cursor.move_to(slot)) four.serve();
    ASSERT_TRUE(cursor.move_to(slot));
    // While a cursor holds it, no other slot gets its place.
    EXPECT_TRUE(weights.wants(UINT64_MAX).empty());
    EXPECT_EQ(four.first_number(slot), static_cast<float>(slot * 16 * 32));
  }
  EXPECT_EQ(weights.view(1).fills, 2u);
  EXPECT_EQ(weights.refilled_bytes(), 2u * 16 * 32 * 4);
  // The slot that a cursor has left gives its place to the next one at once.
  EXPECT_TRUE(cursor.move_to(3));
  const std::vector<Want> next = weights.wants(UINT64_MAX);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].offset, four.manifest.piece(four.handles[1]).begin);
  EXPECT_EQ(four.state(0), SlotState::resident);  // it has a place of its own
}

TEST(Slots, StayForRunsThatCanGoOnToThem) {
  FourSlots four;
  Weights& weights = *four.weights;
  std::optional<Weights::Cursor> first(weights), second(weights);
  first->move_to(1);
  four.serve();
  ASSERT_TRUE(first->move_to(1) && second->move_to(1));
  EXPECT_FALSE(first->move_to(2));
  EXPECT_TRUE(weights.wants(UINT64_MAX).empty());  // the second hasn't run it yet
  EXPECT_EQ(four.state(1), SlotState::resident);
  EXPECT_FALSE(second->move_to(2));
  four.serve();
  EXPECT_TRUE(first->move_to(2) && second->move_to(2));
  // One that begins while others are under way waits until they leave the only place.
  std::optional<Weights::Cursor> third(weights);
  EXPECT_FALSE(third->move_to(1));
  EXPECT_TRUE(weights.wants(UINT64_MAX).empty());
  EXPECT_TRUE(first->move_to(3) && second->move_to(3));
  four.serve();
  EXPECT_TRUE(third->move_to(1));
  // One that ends doesn't hold the others up.
  EXPECT_FALSE(first->move_to(2));
  third.reset();
  second.reset();
  four.serve();
  EXPECT_TRUE(first->move_to(2));
}

// A cursor that nobody uses doesn't hold up the others, wherever it stands, and loses its slot.
TEST(Slots, OfPausedRunsGiveUpTheirPlaces) {
  FourSlots four;
  Weights& weights = *four.weights;
  Weights::Cursor paused(weights), other(weights);
  EXPECT_FALSE(paused.move_to(1));
  four.serve();
  ASSERT_TRUE(paused.move_to(1));
  EXPECT_FALSE(other.move_to(2));
  EXPECT_TRUE(weights.wants(UINT64_MAX).empty());  // the first may be about to be used
  EXPECT_FALSE(other.move_to(2));
  four.serve();
  EXPECT_TRUE(other.move_to(2));
  // It counts again as soon as it is used: the slot comes again.
  EXPECT_FALSE(paused.move_to(1));
  EXPECT_TRUE(other.move_to(3));
  four.serve();
  EXPECT_TRUE(paused.move_to(1));
  EXPECT_EQ(four.first_number(1), 16.0f * 32);
}

// What an idle reading has brought in advance gives its place to what is needed.
TEST(Slots, ThatNobodyIsAtMakeRoom) {
  FourSlots four;
  Weights& weights = *four.weights;
  four.serve();
  EXPECT_EQ(four.state(1), SlotState::resident);
  Weights::Cursor cursor(weights);
  EXPECT_FALSE(cursor.move_to(2));
  four.serve();
  EXPECT_TRUE(cursor.move_to(2));
  EXPECT_EQ(four.state(1), SlotState::absent);
}

// A table of which two rows are held, and its last rows once more as a piece: a part of a tied
// head.
struct RowsAndPart {
  Fused file;
  TensorManifest manifest{1};
  int table = -1, part = -1;
  std::optional<Weights> weights;

  explicit RowsAndPart(int64_t first) {
    table = manifest.add_rows(file.header, "qkv", 0, 48, 32, 0, 48).value_or(-1);
    part = manifest.add_rows(file.header, "qkv", 0, 48, 32, first, 48 - first).value_or(-1);
    weights.emplace(manifest, SharedPlaces{}, SingleRows{.tables = {table}, .places = 2});
    EXPECT_TRUE(weights->allocate().has_value());
  }
  uint64_t offset(uint64_t row) const { return manifest.piece(table).begin + row * 32 * 4; }
  Status bring(const Want& want) {
    std::memcpy(want.place.data(), file.bytes.data() + want.offset, want.place.size());
    return weights->rows_filled(want.offset, want.place.size());
  }
  float last_of(int64_t row) const {
    std::vector<float> values(32);
    weights->read_row(table, row, values.data());
    return values[31];
  }
};

TEST(SingleRows, AreWantedByThemselvesAndTakeThePlaceOfThoseThatNobodyNeeds) {
  RowsAndPart one(40);
  Weights& weights = *one.weights;
  EXPECT_EQ(weights.bytes(), (8u + 2) * 32 * 4);
  Weights::Cursor cursor(weights);
  const int32_t first[] = {7, 41, 7};
  EXPECT_FALSE(cursor.reach_rows(first));
  const std::vector<Want> rows = weights.row_wants();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].offset, one.offset(7));
  EXPECT_EQ(rows[1].offset, one.offset(41));
  EXPECT_TRUE(weights.row_wants().empty());  // each once
  // The piece that has row 41, too, is wanted all the same.
  EXPECT_EQ(weights.wants(UINT64_MAX).size(), 1u);
  ASSERT_TRUE(one.bring(rows[0]).has_value() && one.bring(rows[1]).has_value());
  EXPECT_TRUE(one.bring(rows[1]).has_value());  // nobody waits for it any more
  EXPECT_TRUE(cursor.reach_rows(first));
  EXPECT_EQ(one.last_of(7), 7.0f * 32 + 31);
  EXPECT_EQ(one.last_of(41), 41.0f * 32 + 31);

  // Another cursor waits until these rows are used.
  Weights::Cursor other(weights);
  const int32_t second[] = {3};
  EXPECT_FALSE(other.reach_rows(second));
  EXPECT_TRUE(weights.row_wants().empty());
  cursor.rows_used();
  EXPECT_FALSE(other.reach_rows(second));
  const std::vector<Want> third = weights.row_wants();
  ASSERT_EQ(third.size(), 1u);
  EXPECT_EQ(third[0].offset, one.offset(3));
  ASSERT_TRUE(one.bring(third[0]).has_value());
  EXPECT_TRUE(other.reach_rows(second));
  EXPECT_EQ(one.last_of(3), 3.0f * 32 + 31);
  EXPECT_FALSE(weights.all_resident());  // rows before 40 are in no piece
}

// A run that is paused while it waits for rows doesn't keep their places.
TEST(SingleRows, OfPausedRunsGiveUpTheirPlaces) {
  RowsAndPart one(40);
  Weights& weights = *one.weights;
  Weights::Cursor paused(weights), other(weights);
  const int32_t first[] = {7, 8}, second[] = {9, 10};
  EXPECT_FALSE(paused.reach_rows(first));
  for (const Want& row : weights.row_wants()) ASSERT_TRUE(one.bring(row).has_value());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(other.reach_rows(second));
  for (const Want& row : weights.row_wants()) ASSERT_TRUE(one.bring(row).has_value());
  ASSERT_TRUE(other.reach_rows(second));
  EXPECT_EQ(one.last_of(10), 10.0f * 32 + 31);
  EXPECT_FALSE(paused.reach_rows(first));
}

// What a run expects is read meanwhile; nobody waits for it, and it is pinned for nobody.
TEST(SingleRows, ThatAreExpectedAreWantedAtOnce) {
  RowsAndPart one(40);
  Weights& weights = *one.weights;
  Weights::Cursor cursor(weights), other(weights);
  const int32_t next[] = {7}, others[] = {3};
  EXPECT_FALSE(cursor.expect_rows(next));
  const std::vector<Want> wants = weights.row_wants();
  ASSERT_EQ(wants.size(), 1u);
  EXPECT_EQ(wants[0].offset, one.offset(7));
  ASSERT_TRUE(one.bring(wants[0]).has_value());
  EXPECT_TRUE(cursor.expect_rows(next));
  EXPECT_FALSE(other.reach_rows(others));
  ASSERT_EQ(weights.row_wants().size(), 1u);  // for the other, though the first comes again
  // While one has the places, nothing is expected beside it.
  EXPECT_TRUE(cursor.expect_rows(others));
  EXPECT_TRUE(weights.row_wants().empty());
  other.rows_used();
  EXPECT_TRUE(cursor.reach_rows(next));
  EXPECT_EQ(one.last_of(7), 7.0f * 32 + 31);
}

// Two tables of 48 rows, of 32 and of 16 numbers; the second is whole in a slot as well if `late`.
struct TwoTables {
  std::string bytes;
  Gguf header;
  TensorManifest manifest{1};
  int tables[2] = {-1, -1};
  std::optional<Weights> weights;

  explicit TwoTables(bool late) {
    GgufBuilder file;
    file.kv_string("general.architecture", "none");
    for (const int64_t cols : {32, 16}) {
      std::vector<float> numbers(static_cast<size_t>(cols * 48));
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>(1000 * cols) + static_cast<float>(i);
      file.tensor("table" + std::to_string(cols), Type::F32, {static_cast<uint64_t>(cols), 48},
                  bytes_of(numbers));
    }
    file.tensor("bias", Type::F32, {16}, std::string(64, '\0'));
    bytes = file.build();
    header = std::move(*parse_gguf(as_bytes(bytes), bytes.size()));
    tables[0] = manifest.add_matrix(header, "table32", 0, 48, 32).value_or(-1);
    EXPECT_TRUE(manifest.add_vector(header, "bias", 0, 16).has_value());
    tables[1] = manifest.add_matrix(header, "table16", 0, 48, 16).value_or(-1);
    if (late) {
      EXPECT_TRUE(manifest.add_matrix(header, "table16", 0, 48, 16).has_value());
    }
    weights.emplace(manifest, SharedPlaces{}, rows());
    EXPECT_TRUE(weights->allocate().has_value());
  }
  SingleRows rows() const { return {.tables = {tables[0], tables[1]}, .places = 2}; }
  void bring(const std::vector<Want>& wants, bool rows) {
    for (const Want& want : wants) {
      std::memcpy(want.place.data(), bytes.data() + want.offset, want.place.size());
      const Status status = rows ? weights->rows_filled(want.offset, want.place.size())
                                 : weights->filled(want.offset, want.place.size());
      EXPECT_TRUE(status.has_value()) << status.error().message;
    }
  }
  float first_of(int table, int64_t row) const {
    float values[32];
    weights->read_row(tables[table], row, values);
    return values[0];
  }
};

TEST(SingleRows, OfSeveralTablesComeTogether) {
  TwoTables two(false);
  Weights& weights = *two.weights;
  EXPECT_EQ(weights.bytes(), 2u * 32 * 4 + 2u * 16 * 4 + 64);
  EXPECT_EQ(weights.row_tables(), two.rows().tables);
  EXPECT_TRUE(weights.by_rows(two.tables[1]));
  EXPECT_FALSE(weights.by_rows(two.tables[0] + 1));
  Weights::Cursor cursor(weights);
  for (const std::vector<int32_t>& rows :
       {std::vector<int32_t>{5, 47}, std::vector<int32_t>{0}, std::vector<int32_t>{46, 0}}) {
    EXPECT_FALSE(cursor.reach_rows(rows));
    std::vector<Want> wants = weights.row_wants();
    ASSERT_FALSE(wants.empty());
    const std::vector<Want> last(wants.end() - 1, wants.end());
    wants.pop_back();
    two.bring(wants, true);
    EXPECT_FALSE(cursor.reach_rows(rows));  // of one table a row is missing
    two.bring(last, true);
    ASSERT_TRUE(cursor.reach_rows(rows));
    for (const int32_t row : rows) {
      EXPECT_EQ(two.first_of(0, row), 32000.0f + 32.0f * static_cast<float>(row));
      EXPECT_EQ(two.first_of(1, row), 16000.0f + 16.0f * static_cast<float>(row));
    }
    cursor.rows_used();
  }
  two.bring(weights.wants(UINT64_MAX), false);
  EXPECT_FALSE(weights.all_resident());
}

// A table that is whole in a slot is read there; the other one's rows still come by themselves.
TEST(SingleRows, OfATableThatIsHereAreNotWanted) {
  TwoTables two(true);
  Weights& weights = *two.weights;
  two.bring(weights.wants(UINT64_MAX), false);
  EXPECT_FALSE(weights.all_resident());
  Weights::Cursor cursor(weights);
  const int32_t rows[] = {9, 30};
  EXPECT_FALSE(cursor.reach_rows(rows));
  const std::vector<Want> wants = weights.row_wants();
  ASSERT_EQ(wants.size(), 2u);
  EXPECT_EQ(wants[0].place.size(), 32u * 4);
  two.bring(wants, true);
  ASSERT_TRUE(cursor.reach_rows(rows));
  EXPECT_EQ(two.first_of(0, 30), 32000.0f + 32 * 30);
  EXPECT_EQ(two.first_of(1, 30), 16000.0f + 16 * 30);
}

TEST(SingleRows, OfSeveralTablesAreOfTheSameTokens) {
  const Fused file;
  TensorManifest manifest(1);
  const int one = manifest.add_rows(file.header, "qkv", 0, 48, 32, 0, 48).value_or(-1);
  const int other =
      manifest.add_expert(file.header, "experts", 0, 3, 16, 32, 1, 0, 16).value_or(-1);
  Weights weights(manifest, SharedPlaces{}, SingleRows{.tables = {one, other}, .places = 2});
  const Status status = weights.allocate();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(code_name(status.error().code), code_name(Code::invalid_argument));
}

TEST(SingleRows, AreReadInThePieceOnceItIsThere) {
  RowsAndPart one(0);
  Weights& weights = *one.weights;
  Weights::Cursor cursor(weights);
  const int32_t rows[] = {5, 17};
  EXPECT_FALSE(cursor.reach_rows(rows));
  EXPECT_EQ(weights.row_wants().size(), 2u);
  one.file.serve(weights);
  EXPECT_TRUE(weights.all_resident());
  EXPECT_TRUE(cursor.reach_rows(rows));
  EXPECT_EQ(one.last_of(5), 5.0f * 32 + 31);
  EXPECT_EQ(one.last_of(17), 17.0f * 32 + 31);
}

}  // namespace
}  // namespace sluice
