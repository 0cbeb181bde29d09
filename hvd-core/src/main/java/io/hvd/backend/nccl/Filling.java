package io.hvd.backend.nccl;

import io.hvd.backend.cuda.SegmentKernels;
import java.util.ArrayList;
import java.util.List;

/**
 * What lies on a stage at once: tensors or parts of them, each from the border of a vector on. What does
 * not fit goes with the next filling. It follows from sizes alone, so all ranks fill their stages alike.
 *
 * @param elements from the beginning of the stage to the end of the last part
 */
record Filling(List<Part> parts, long elements) {
    /**
     * A run of a tensor's elements.
     *
     * @param tensor its number
     * @param first first element of the run within the tensor
     * @param at where it lies on the stage, in elements
     */
    record Part(int tensor, long first, long count, long at) {}

    /**
     * @param sizes elements of each tensor
     * @param capacity elements that the stage holds
     */
    static List<Filling> of(long[] sizes, long capacity) {
        List<Filling> fillings = new ArrayList<>();
        List<Part> parts = new ArrayList<>();
        long end = 0;
        for (int tensor = 0; tensor < sizes.length; tensor++) {
            long first = 0;
            while (first < sizes[tensor]) {
                long at = aligned(end);
                if (at >= capacity) {
                    fillings.add(new Filling(List.copyOf(parts), end));
                    parts.clear();
                    end = 0;
                    at = 0;
                }
                long count = Math.min(capacity - at, sizes[tensor] - first);
                parts.add(new Part(tensor, first, count, at));
                first += count;
                end = at + count;
            }
        }
        if (!parts.isEmpty()) {
            fillings.add(new Filling(List.copyOf(parts), end));
        }
        return fillings;
    }

    private static long aligned(long elements) {
        return (elements + SegmentKernels.ALIGNMENT - 1) / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT;
    }
}
