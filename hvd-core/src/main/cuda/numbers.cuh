// What io.hvd.tensor.HalfFloat and io.hvd.kernel.Converter do to single elements, on bit patterns and with the same
// results. The GPU's compiler and the host's both take this file: what a test finds on the host holds for the GPU, as
// long as both multiply and convert as IEEE 754 says (no flushing of subnormals, no fused multiply-add).
//
// Halves are converted by integers and not by the GPU's own instructions, which forget what a NaN carries. A NaN keeps
// its sign and its upper bits here and turns quiet in arithmetic, and an invalid product gives the NaN that an x86-64
// CPU gives; the GPU's own product would be one fixed NaN.
//
// Each conversion exists twice. The exact one takes every pattern. The quick one is for the great majority whose result
// is finite; it reports a magnitude by which its caller tells whether that was so.
#pragma once
#include <stdint.h>
#include <string.h>

#define HVD_INLINE static __device__ __forceinline__

/** A factor, as both types that a product is computed in. */
struct Scale {
    double wide;
    float narrow;
    /** Multiplying by 1 would turn NaNs quiet where Converter only copies them. */
    bool isOne;
};

HVD_INLINE float asFloat(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

HVD_INLINE uint32_t bitsOf(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

HVD_INLINE double asDouble(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

HVD_INLINE uint64_t bitsOf(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static const uint32_t FLOAT_INFINITY = 0x7f800000u;
static const uint32_t FLOAT_QUIET = 0x00400000u;
static const uint32_t FLOAT_INVALID = 0xffc00000u;
static const uint64_t DOUBLE_INFINITY = 0x7ff0000000000000ull;
static const uint64_t DOUBLE_QUIET = 0x0008000000000000ull;
static const uint64_t DOUBLE_INVALID = 0xfff8000000000000ull;
/** 2^-126 as a double's bits: below it floats are subnormal. */
static const uint64_t FLOAT_NORMAL = 897ull << 52;

HVD_INLINE uint32_t magnitudeOf(uint32_t bits) { return bits & 0x7fffffffu; }

HVD_INLINE uint64_t magnitudeOf(uint64_t bits) { return bits & ~(1ull << 63); }

HVD_INLINE bool isNan(uint32_t bits) { return magnitudeOf(bits) > FLOAT_INFINITY; }

HVD_INLINE bool isNan(uint64_t bits) { return magnitudeOf(bits) > DOUBLE_INFINITY; }

// ---- products ----

HVD_INLINE uint32_t quickTimes(uint32_t bits, Scale scale) { return bitsOf(asFloat(bits) * scale.narrow); }

HVD_INLINE uint64_t quickTimes(uint64_t bits, Scale scale) { return bitsOf(asDouble(bits) * scale.wide); }

HVD_INLINE uint32_t exactTimes(uint32_t bits, Scale scale) {
    uint32_t product = quickTimes(bits, scale);
    if (!isNan(product)) {
        return product;
    }
    if (isNan(bits)) {
        return scale.isOne ? bits : bits | FLOAT_QUIET;
    }
    uint32_t factor = bitsOf(scale.narrow);
    return isNan(factor) ? factor | FLOAT_QUIET : FLOAT_INVALID;
}

HVD_INLINE uint64_t exactTimes(uint64_t bits, Scale scale) {
    uint64_t product = quickTimes(bits, scale);
    if (!isNan(product)) {
        return product;
    }
    if (isNan(bits)) {
        return scale.isOne ? bits : bits | DOUBLE_QUIET;
    }
    uint64_t factor = bitsOf(scale.wide);
    return isNan(factor) ? factor | DOUBLE_QUIET : DOUBLE_INVALID;
}

// ---- between float and double ----

/** A float as a double; exact, but for a NaN, which turns quiet. */
HVD_INLINE uint64_t exactDouble(uint32_t bits) {
    if (isNan(bits)) {
        uint64_t sign = (uint64_t) (bits & 0x80000000u) << 32;
        return sign | DOUBLE_INFINITY | DOUBLE_QUIET | (uint64_t) (bits & 0x7fffffu) << 29;
    }
    return bitsOf((double) asFloat(bits));
}

/** Float bits of a double between float's smallest normal and its largest, or 0: see exactOdd. */
HVD_INLINE uint32_t quickOdd(uint64_t bits) {
    uint64_t magnitude = magnitudeOf(bits);
    uint32_t sign = (uint32_t) (bits >> 32) & 0x80000000u;
    uint32_t odd = (magnitude & 0x1fffffffu) != 0;
    uint32_t normal = (uint32_t) ((magnitude - (896ull << 52)) >> 29) | odd;
    return sign | (magnitude < FLOAT_NORMAL ? 0 : normal);
}

/**
 * A double as float bits, rounded to odd: cut off, and where something was cut off, the last bit is set. Rounding that
 * to a half rounds the double once.
 */
HVD_INLINE uint32_t exactOdd(uint64_t bits) {
    uint32_t sign = (uint32_t) (bits >> 32) & 0x80000000u;
    uint64_t magnitude = magnitudeOf(bits);
    if (magnitude >= DOUBLE_INFINITY) {
        uint32_t carried = (uint32_t) (magnitude >> 29) & 0x7fffffu;
        return sign | FLOAT_INFINITY | (isNan(bits) ? FLOAT_QUIET | carried | 1 : 0);
    }
    if (magnitude >= 1151ull << 52) {
        return sign | (FLOAT_INFINITY - 1); // the largest float, which is odd
    }
    if (magnitude >= FLOAT_NORMAL || magnitude == 0) {
        return quickOdd(bits);
    }
    uint32_t cutOff = 29 + 897 - (uint32_t) (magnitude >> 52);
    if (cutOff > 52) {
        return sign | 1;
    }
    uint64_t significand = (magnitude & ((1ull << 52) - 1)) | (1ull << 52);
    uint32_t odd = (significand & ((1ull << cutOff) - 1)) != 0;
    return sign | (uint32_t) (significand >> cutOff) | odd;
}

// ---- the floating types ----

struct Float32 {
    typedef uint32_t Bits;
    /** Float bits from which on the element is not finite. */
    static const uint32_t OVERFLOW_AT = FLOAT_INFINITY;

    HVD_INLINE uint32_t toFloat(uint32_t bits) { return bits; }
    HVD_INLINE uint32_t quickToFloat(uint32_t bits) { return bits; }
    HVD_INLINE uint32_t fromFloat(uint32_t bits) { return bits; }
    HVD_INLINE uint32_t quickFromFloat(uint32_t bits) { return bits; }
    HVD_INLINE bool isFinite(uint32_t bits) { return (bits & FLOAT_INFINITY) != FLOAT_INFINITY; }
};

struct Float16 {
    typedef uint16_t Bits;
    /** 65520, the middle between the largest half and 65536. */
    static const uint32_t OVERFLOW_AT = 0x477ff000u;
    /** 2^-14: below it halves are subnormal. */
    static const uint32_t SMALLEST_NORMAL = 0x38800000u;

    HVD_INLINE uint32_t toFloat(uint16_t half) {
        bool finite = isFinite(half);
        return finite ? quickToFloat(half) : FLOAT_INFINITY | (uint32_t) (half & 0x8000) << 16 | (half & 0x3ff) << 13;
    }

    /** As a float the pattern is 2^112 times too small; the product is exact, for subnormal halves too. */
    HVD_INLINE uint32_t quickToFloat(uint16_t half) {
        uint32_t pattern = (uint32_t) ((int32_t) ((uint32_t) half << 16) >> 3) & 0x8fffe000u;
        return bitsOf(asFloat(pattern) * 0x1p112f);
    }

    HVD_INLINE uint16_t fromFloat(uint32_t bits) {
        if (magnitudeOf(bits) < OVERFLOW_AT) {
            return quickFromFloat(bits);
        }
        uint32_t carried = isNan(bits) ? 0x200u | ((bits >> 13) & 0x3ffu) : 0;
        return (uint16_t) (((bits >> 16) & 0x8000u) | 0x7c00u | carried);
    }

    HVD_INLINE uint16_t quickFromFloat(uint32_t bits) {
        uint32_t magnitude = magnitudeOf(bits);
        uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
        // Between 0.5 and 1 a float counts in steps of 2^-24, as subnormal halves do.
        uint32_t subnormal = bitsOf(asFloat(magnitude) + 0.5f) - 0x3f000000u;
        return (uint16_t) (((bits >> 16) & 0x8000u) | (magnitude < SMALLEST_NORMAL ? subnormal : normal));
    }

    HVD_INLINE bool isFinite(uint16_t half) { return (half & 0x7c00) != 0x7c00; }
};

struct Bfloat16 {
    typedef uint16_t Bits;
    /** The middle between the largest bfloat16 and 2^128. */
    static const uint32_t OVERFLOW_AT = 0x7f7f8000u;

    HVD_INLINE uint32_t toFloat(uint16_t brain) { return (uint32_t) brain << 16; }

    HVD_INLINE uint32_t quickToFloat(uint16_t brain) { return (uint32_t) brain << 16; }

    HVD_INLINE uint16_t fromFloat(uint32_t bits) {
        return isNan(bits) ? (uint16_t) ((bits >> 16) | 0x40u) : quickFromFloat(bits);
    }

    HVD_INLINE uint16_t quickFromFloat(uint32_t bits) {
        return (uint16_t) ((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
    }

    HVD_INLINE bool isFinite(uint16_t brain) { return (brain & 0x7f80) != 0x7f80; }
};

// ---- integers ----

/** Java's {@code (int) value}: cut off towards zero, the nearest int where there is none, 0 for NaN. */
HVD_INLINE int32_t toInt(double value) {
    if (!(value < 2147483647.0)) {
        return value != value ? 0 : INT32_MAX;
    }
    return value > -2147483648.0 ? (int32_t) value : INT32_MIN;
}

/** Java's {@code (long) value}. */
HVD_INLINE int64_t toLong(double value) {
    if (!(value < 0x1p63)) {
        return value != value ? 0 : INT64_MAX;
    }
    return value > -0x1p63 ? (int64_t) value : INT64_MIN;
}
