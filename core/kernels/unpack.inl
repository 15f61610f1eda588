// Packed strips to panels; a part of body.inl.

template <typename Source>
[[gnu::noinline]] void unpack_blocks(const uint8_t* strip, int64_t cols, Panel& panel) {
  constexpr int kWords = Source::kGroup / 4;
  uint8_t* codes = panel.codes;
  float* scales = panel.scales;
  float* mins = panel.mins;
  Source source(strip, 0);
  for (int64_t b = 0; b < cols / block_columns<Source>; ++b) {
    for (int v = 0; v < kVectors; ++v) {
      const auto head = source.head(v);
      for_groups<Source>([&](const auto& at) {
        // All of it is read before any is written: to the compiler the two might overlap.
        U words[kWords];
        SLUICE_UNROLL
        for (int w = 0; w < kWords; ++w) words[w] = source.codes(v, w, at);
        const F scale = source.scale(v, at, head);
        if constexpr (Source::kMin) {
          store(mins + 16 * at.group + v * kLanes, source.min(v, at, head));
        }
        store(scales + 16 * at.group + v * kLanes, scale);
        SLUICE_UNROLL
        for (int w = 0; w < kWords; ++w) {
          store(codes + 64 * (at.group * kWords + w) + v * kVectorBytes, words[w]);
        }
      });
    }
    codes += 16 * block_columns<Source>;
    scales += 16 * block_groups<Source>;
    if constexpr (Source::kMin) mins += 16 * block_groups<Source>;
    source.next();
  }
}

void unpack(Type type, const uint8_t* strip, int64_t cols, Panel& panel) {
  describe_panel(type, panel);
  for_packed_type(type, [&]<typename Source>() { unpack_blocks<Source>(strip, cols, panel); });
}
