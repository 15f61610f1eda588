// Our own exp, tanh, log, sin, cos and pow. They use only + - * /, so every machine gives the same
// bits; those of libm differ. The vector exp in kernels/body.inl does the same operations as
// exp_f32.
#pragma once

namespace sluice {

// e^x for f32; 0 below -87.3, +infinity above 88.37; NaN stays NaN. Relative error below 2e-7.
float exp_f32(float x);
// NaN stays NaN. The error is below 0.51 of the result's last place.
float tanh_f32(float x);
float sigmoid_f32(float x);   // 1 / (1 + e^-x)
float softplus_f32(float x);  // log(1 + e^x), x above 20; error below 2e-7 of it, or 1e-15

// Natural logarithm. 0 gives -infinity, a negative x gives NaN. Relative error below 1e-14.
double log_f64(double x);
double exp_f64(double x);
// base^exponent for base > 0.
double pow_f64(double base, double exponent);
// For |x| up to 1e6. Absolute error below 1e-15.
double sin_f64(double x);
double cos_f64(double x);

}  // namespace sluice
