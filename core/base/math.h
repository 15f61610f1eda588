// Our own exp, log, sin, cos, pow: + - * / and sqrt only, so every machine gives the same bits
// (libm's differ). Scalar forms; the vector exp in kernels/body.inl follows exp_f32 operation by
// operation.
#pragma once

namespace sluice {

// e^x for f32; 0 below -87.3, +infinity above 88.37; NaN stays NaN. Relative error below 2e-7.
float exp_f32(float x);

// Natural logarithm, x > 0 (0 gives -infinity, negative gives NaN). Error below 1e-14 relative.
double log_f64(double x);
double exp_f64(double x);
// base^exponent for base > 0.
double pow_f64(double base, double exponent);
// |x| up to 1e6 (reduced with a three-part pi/2); absolute error below 1e-15.
double sin_f64(double x);
double cos_f64(double x);

}  // namespace sluice
