// All of quantize_rows() for one kind of machine. Included in a namespace without name, after
// kLanes, the number of lanes of a vector.

#include "files/quantize/quantize_lanes.inl"
//
#include "files/quantize/scale_search.inl"
//
#include "files/quantize/quantize_iq4.inl"
#include "files/quantize/quantize_k.inl"
#include "files/quantize/quantize_plain.inl"

inline bool all_finite(const float* values, int64_t n) {
  I bad = {};
  const auto check = [&bad](const float* from) {
    bad |= ((I)load(from) & 0x7fffffff) >= 0x7f800000;
  };
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) check(values + i);
  float rest[kLanes] = {};
  memcpy(rest, values + whole, 4 * static_cast<size_t>(n - whole));
  check(rest);
  return !any(bad);
}

inline bool quantize(Type type, const QuantizeJob& job) {
  switch (type) {
    case Type::F32:
      memcpy(job.out, job.values, 4 * static_cast<size_t>(job.n_rows * job.n));
      break;
    case Type::F16:
      convert_to_16_bits(job, to_half);
      break;
    case Type::BF16:
      convert_to_16_bits(job, to_bf16);
      break;
    case Type::Q4_0:
      quantize_symmetric<18, 8>(job);
      break;
    case Type::Q5_0:
      quantize_symmetric<22, 16>(job);
      break;
    case Type::Q4_1:
      quantize_offset<20, 15>(job);
      break;
    case Type::Q5_1:
      quantize_offset<24, 31>(job);
      break;
    case Type::Q8_0:
      quantize_q8_0(job);
      break;
    case Type::Q2_K:
      quantize_q2_k(job);
      break;
    case Type::Q3_K:
      quantize_q3_k(job);
      break;
    case Type::Q4_K:
      quantize_q4_k(job);
      break;
    case Type::Q5_K:
      quantize_q5_k(job);
      break;
    case Type::Q6_K:
      quantize_q6_k(job);
      break;
    case Type::IQ4_NL:
      quantize_iq4_nl(job);
      break;
    case Type::IQ4_XS:
      quantize_iq4_xs(job);
      break;
    case Type::MXFP4:
      quantize_mxfp4(job);
      break;
    case Type::TQ1_0:
      quantize_tq1_0(job);
      break;
    case Type::TQ2_0:
      quantize_tq2_0(job);
      break;
    case Type::Q1_0:
      quantize_q1_0(job);
      break;
    case Type::Q2_0:
      quantize_q2_0(job);
      break;
    default:
      return false;
  }
  return true;
}
