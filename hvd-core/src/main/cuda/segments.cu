// Many runs of elements copied, scaled and converted in one launch: what io.hvd.kernel.Converter does on the CPU, for
// all tensors of a fused batch at once. mpirun-scripts/kernels.sh compiles this file to the PTX that the jar carries.
//
//   table          segment 0      segment 1   segment 2            one row each
//   tiles        | 0 | 1 | 2 |  | 3 |       | 4 | 5 | ...          firstTile: 0, 3, 4
//
// A tile is what one block does in one go, 8 or 16 KiB of the wider of the two types (tiles of single elements: 1,024
// of them). Blocks walk over the tiles with the grid's stride, and a binary search finds the segment that a tile
// belongs to. A segment's tiles are laid out from the
// 16-byte border before its destination (counted in the wider type): where the source lies behind such a border
// equally, all but the ends goes in vectors of 16 bytes; where it does not, everything goes element by element.
//
// Every element is read and written by one thread, the read first: a segment's source may be its destination, and must
// not overlap it otherwise.
#include "numbers.cuh"

static const int THREADS = 256;

/** As io.hvd.cuda.SegmentTable writes it. */
struct Segment {
    uint64_t from;
    uint64_t to;
    int64_t count;
    int64_t firstTile;
};

static constexpr int wider(int one, int other) { return one > other ? one : other; }

// ---- vectors, moved by one instruction ----

template <int BYTES>
struct Words;
template <>
struct Words<1> {
    typedef uint8_t Type;
};
template <>
struct Words<2> {
    typedef uint16_t Type;
};
template <>
struct Words<4> {
    typedef uint32_t Type;
};
template <>
struct Words<8> {
    typedef uint2 Type;
};
template <>
struct Words<16> {
    typedef uint4 Type;
};

/** A few elements in registers, loaded and stored at addresses that are multiples of their length together. */
template <class Element, int COUNT>
struct Vector {
    typedef typename Words<sizeof(Element) * COUNT>::Type Whole;
    Element at[COUNT];

    __device__ __forceinline__ void load(const Element* from) {
        Whole whole = *(const Whole*) from;
        memcpy(at, &whole, sizeof whole);
    }

    __device__ __forceinline__ void store(Element* to) const {
        Whole whole;
        memcpy(&whole, at, sizeof whole);
        __stwb((Whole*) to, whole); // a plain assignment is compiled to a store for each element
    }
};

// ---- one element ----
//
// quick() is right where the magnitude that it reports stays below EXACT_FROM; exact() always is.

template <class Element>
struct Copy {
    typedef Element From;
    typedef Element To;
    static const int RUN = 16 / sizeof(Element);
    static const uint32_t EXACT_FROM = ~0u;

    HVD_INLINE Element quick(Element element, Scale, uint32_t&) { return element; }
    HVD_INLINE Element exact(Element element, Scale) { return element; }
    HVD_INLINE bool isFinite(Element) { return true; }
};

/** Scaled as floats, whatever the types. */
template <class Source, class Target>
struct ThroughFloat {
    typedef typename Source::Bits From;
    typedef typename Target::Bits To;
    static const int RUN = 16 / wider(sizeof(From), sizeof(To));
    static const uint32_t EXACT_FROM = Target::OVERFLOW_AT;

    HVD_INLINE To quick(From element, Scale scale, uint32_t& magnitude) {
        uint32_t scaled = quickTimes(Source::toFloat(element), scale);
        magnitude = magnitudeOf(scaled);
        return Target::quickFromFloat(scaled);
    }

    HVD_INLINE To exact(From element, Scale scale) {
        return Target::fromFloat(exactTimes(Source::toFloat(element), scale));
    }

    HVD_INLINE bool isFinite(To element) { return Target::isFinite(element); }
};

/** A half that keeps its type, and by a factor of 1 its bits. */
template <class Half>
struct ScaledHalf : ThroughFloat<Half, Half> {
    HVD_INLINE uint16_t exact(uint16_t element, Scale scale) {
        return scale.isOne ? element : ThroughFloat<Half, Half>::exact(element, scale);
    }
};

/** The magnitude of a double as its upper word has it, which says enough. */
HVD_INLINE uint32_t upperMagnitude(uint64_t bits) { return (uint32_t) (bits >> 32) & 0x7fffffffu; }

HVD_INLINE bool isFiniteDouble(uint64_t bits) { return (bits & DOUBLE_INFINITY) != DOUBLE_INFINITY; }

struct ScaledDouble {
    typedef uint64_t From;
    typedef uint64_t To;
    static const int RUN = 2;
    static const uint32_t EXACT_FROM = (uint32_t) (DOUBLE_INFINITY >> 32);

    HVD_INLINE uint64_t quick(uint64_t element, Scale scale, uint32_t& magnitude) {
        uint64_t scaled = quickTimes(element, scale);
        magnitude = upperMagnitude(scaled);
        return scaled;
    }

    HVD_INLINE uint64_t exact(uint64_t element, Scale scale) { return exactTimes(element, scale); }
    HVD_INLINE bool isFinite(uint64_t element) { return isFiniteDouble(element); }
};

/** Scaled as doubles. */
template <class Source>
struct ToDouble {
    typedef typename Source::Bits From;
    typedef uint64_t To;
    static const int RUN = 2;
    static const uint32_t EXACT_FROM = ScaledDouble::EXACT_FROM;

    HVD_INLINE uint64_t quick(From element, Scale scale, uint32_t& magnitude) {
        uint64_t wide = bitsOf((double) asFloat(Source::toFloat(element)));
        return ScaledDouble::quick(wide, scale, magnitude);
    }

    HVD_INLINE uint64_t exact(From element, Scale scale) {
        return exactTimes(exactDouble(Source::toFloat(element)), scale);
    }

    HVD_INLINE bool isFinite(uint64_t element) { return isFiniteDouble(element); }
};

/** Scaled as doubles and rounded once. */
template <class Target>
struct FromDouble {
    typedef uint64_t From;
    typedef typename Target::Bits To;
    static const int RUN = 2;
    static const uint32_t EXACT_FROM = Target::OVERFLOW_AT;

    HVD_INLINE To quick(uint64_t element, Scale scale, uint32_t& magnitude) {
        uint64_t scaled = quickTimes(element, scale);
        uint32_t odd = quickOdd(scaled);
        // Inside of float's normal range, and at 0, the float says it all; outside the exact way is taken.
        bool inside = magnitudeOf(scaled) - FLOAT_NORMAL < (254ull << 52) || magnitudeOf(scaled) == 0;
        magnitude = inside ? magnitudeOf(odd) : ~0u;
        return Target::quickFromFloat(odd);
    }

    HVD_INLINE To exact(uint64_t element, Scale scale) {
        return Target::fromFloat(exactOdd(exactTimes(element, scale)));
    }

    HVD_INLINE bool isFinite(To element) { return Target::isFinite(element); }
};

/**
 * Up to 32 bits: scaled as doubles and cut off to an int, of which the lower bits are kept. One by one, because the
 * conversions and not the memory set the pace.
 */
template <class Integer>
struct ScaledInteger : Copy<Integer> {
    static const int RUN = 1;

    HVD_INLINE Integer quick(Integer element, Scale scale, uint32_t&) { return exact(element, scale); }
    HVD_INLINE Integer exact(Integer element, Scale scale) { return (Integer) toInt(element * scale.wide); }
};

struct ScaledLong : Copy<int64_t> {
    static const int RUN = 1;

    HVD_INLINE int64_t quick(int64_t element, Scale scale, uint32_t&) { return exact(element, scale); }
    HVD_INLINE int64_t exact(int64_t element, Scale scale) { return toLong((double) element * scale.wide); }
};

// ---- one tile ----

template <class Work>
struct Tile {
    typedef typename Work::From From;
    typedef typename Work::To To;
    /** Vectors that a thread loads before it stores the first, so that enough loads are under way. */
    static const int DEPTH = Work::RUN > 4 ? 2 : 4;
    static const int ELEMENTS = THREADS * DEPTH * Work::RUN;
    /** A thread has four single elements under way, so that a tile is a whole number of passes. */
    static const int SINGLES = THREADS * 4;

    const From* from;
    To* to;
    int64_t count;
    /** The first element of the tile; negative where it lies before the segment's. */
    int64_t first;
    /** Source and destination of the first element lie at a border of their vectors. */
    bool aligned;

    __device__ __forceinline__ Tile(const Segment& segment, int64_t tile) {
        from = (const From*) segment.from;
        to = (To*) segment.to;
        count = segment.count;
        int lead = (int) (segment.to / sizeof(To) % Work::RUN);
        first = (tile - segment.firstTile) * ELEMENTS - lead;
        aligned = (segment.from - lead * sizeof(From)) % (sizeof(From) * Work::RUN) == 0;
    }

    /** Returns whether all elements written are finite. */
    __device__ __forceinline__ bool done(Scale scale) const {
        if (Work::RUN > 1 && aligned) {
            return pass<Work::RUN, DEPTH>(first, scale);
        }
        bool finite = true;
#pragma unroll 1
        for (int at = 0; at < ELEMENTS; at += SINGLES) {
            finite &= pass<1, 4>(first + at, scale);
        }
        return finite;
    }

    /** Vectors of RUN elements from {@code start} on, neighbouring threads at neighbouring ones. */
    template <int RUN, int VECTORS>
    __device__ __forceinline__ bool pass(int64_t start, Scale scale) const {
        const int all = THREADS * VECTORS * RUN;
        // What of the pass lies in the segment.
        int low = start < 0 ? (int) -start : 0;
        int high = count - start < all ? (int) (count - start) : all;
        int mine = threadIdx.x * RUN;
        const From* source = from + start + mine;
        To* target = to + start + mine;
        __builtin_assume(__isGlobal(source));
        __builtin_assume(__isGlobal(target));

        Vector<From, RUN> held[VECTORS];
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            int at = mine + i * THREADS * RUN;
            held[i] = Vector<From, RUN>();
            if (at >= low && at <= high - RUN) {
                held[i].load(source + i * THREADS * RUN);
            }
        }
        unsigned left = 0; // vectors to be done element by element, and exactly
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            int at = mine + i * THREADS * RUN;
            Vector<To, RUN> results;
            uint32_t largest = 0;
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                uint32_t magnitude = 0;
                results.at[j] = Work::quick(held[i].at[j], scale, magnitude);
                largest = magnitude > largest ? magnitude : largest;
            }
            if (at >= low && at <= high - RUN && largest < Work::EXACT_FROM) {
                results.store(target + i * THREADS * RUN);
            } else {
                left |= 1u << i;
            }
        }
        bool finite = true;
#pragma unroll 1
        for (int i = 0; left != 0; i++, left >>= 1) {
            if (left & 1) {
#pragma unroll 1
                for (int at = mine + i * THREADS * RUN, end = at + RUN; at < end; at++) {
                    if (at >= low && at < high) {
                        To result = Work::exact(source[at - mine], scale);
                        finite &= Work::isFinite(result);
                        target[at - mine] = result;
                    }
                }
            }
        }
        return finite;
    }
};

// ---- one launch ----

/** The last segment from {@code low} on that does not begin behind the tile; segments without tiles are passed over. */
static __device__ __forceinline__ int segmentOf(const Segment* table, int low, int segments, int64_t tile) {
    int high = segments - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (table[middle].firstTile <= tile) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/** Sets the flag, if there is one, where an element was written that is infinite or no number; never clears it. */
template <class Work>
static __device__ __forceinline__ void launched(
        const Segment* table, int segments, int64_t tiles, double factor, int* nonFinite) {
    Scale scale = {factor, (float) factor, factor == 1.0};
    bool finite = true;
    int segment = 0;
#pragma unroll 1
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        segment = segmentOf(table, segment, segments, tile);
        finite &= Tile<Work>(table[segment], tile).done(scale);
    }
    if (!finite && nonFinite != nullptr) {
        *nonFinite = 1;
    }
}

#define HVD_COMMA ,

/** All entry points, KERNEL(name, work). */
#define HVD_KERNELS(KERNEL)                                                   \
    KERNEL(hvd_copy_1, Copy<uint8_t>)                                         \
    KERNEL(hvd_copy_2, Copy<uint16_t>)                                        \
    KERNEL(hvd_copy_4, Copy<uint32_t>)                                        \
    KERNEL(hvd_copy_8, Copy<uint64_t>)                                        \
    KERNEL(hvd_float32_to_float32, ThroughFloat<Float32 HVD_COMMA Float32>)   \
    KERNEL(hvd_float64_to_float64, ScaledDouble)                              \
    KERNEL(hvd_float16_to_float16, ScaledHalf<Float16>)                       \
    KERNEL(hvd_bfloat16_to_bfloat16, ScaledHalf<Bfloat16>)                    \
    KERNEL(hvd_int8_to_int8, ScaledInteger<int8_t>)                           \
    KERNEL(hvd_uint8_to_uint8, ScaledInteger<uint8_t>)                        \
    KERNEL(hvd_int16_to_int16, ScaledInteger<int16_t>)                        \
    KERNEL(hvd_uint16_to_uint16, ScaledInteger<uint16_t>)                     \
    KERNEL(hvd_int32_to_int32, ScaledInteger<int32_t>)                        \
    KERNEL(hvd_int64_to_int64, ScaledLong)                                    \
    KERNEL(hvd_float32_to_float16, ThroughFloat<Float32 HVD_COMMA Float16>)   \
    KERNEL(hvd_float16_to_float32, ThroughFloat<Float16 HVD_COMMA Float32>)   \
    KERNEL(hvd_float32_to_bfloat16, ThroughFloat<Float32 HVD_COMMA Bfloat16>) \
    KERNEL(hvd_bfloat16_to_float32, ThroughFloat<Bfloat16 HVD_COMMA Float32>) \
    KERNEL(hvd_float64_to_float16, FromDouble<Float16>)                       \
    KERNEL(hvd_float16_to_float64, ToDouble<Float16>)                         \
    KERNEL(hvd_float64_to_bfloat16, FromDouble<Bfloat16>)                     \
    KERNEL(hvd_bfloat16_to_float64, ToDouble<Bfloat16>)

#define HVD_KERNEL(name, Work)                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                      \
            name(const Segment* table, int segments, int64_t tiles, double factor, int* nonFinite) {           \
        launched<Work>(table, segments, tiles, factor, nonFinite);                                             \
    }
HVD_KERNELS(HVD_KERNEL)
