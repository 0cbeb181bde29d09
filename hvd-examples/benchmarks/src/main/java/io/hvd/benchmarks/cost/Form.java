package io.hvd.benchmarks.cost;

/** The two shapes that all algorithms take, by size. */
enum Form {
    /** As few messages as possible, each with everything. */
    FEW_BYTES,
    /** As few bytes as possible, in more messages. */
    MANY_BYTES
}
