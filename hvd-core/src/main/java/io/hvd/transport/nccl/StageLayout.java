package io.hvd.transport.nccl;

import io.hvd.cuda.SegmentKernels;
import java.util.ArrayList;
import java.util.List;

/**
 * The layout of a stage that is packed once: tensors or parts of tensors, each of which begins at the border of a
 * vector. Elements that do not fit belong to the next layout. Layouts depend on the tensors' sizes only, so all ranks
 * have the same ones.
 *
 * @param elements number of elements from the beginning of the stage to the end of the last part
 */
record StageLayout(List<Part> parts, long elements) {
    /**
     * A run of a tensor's elements.
     *
     * @param tensor the number of the tensor
     * @param first first element of the run within the tensor
     * @param at first element of the run on the stage
     */
    record Part(int tensor, long first, long count, long at) {}

    /**
     * The layouts for a list of tensors, in order.
     *
     * @param sizes number of elements of each tensor
     * @param capacity number of elements that the stage holds
     */
    static List<StageLayout> of(long[] sizes, long capacity) {
        List<StageLayout> layouts = new ArrayList<>();
        List<Part> parts = new ArrayList<>();
        long end = 0;
        for (int tensor = 0; tensor < sizes.length; tensor++) {
            long first = 0;
            while (first < sizes[tensor]) {
                long at = aligned(end);
                if (at >= capacity) {
                    layouts.add(new StageLayout(List.copyOf(parts), end));
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
            layouts.add(new StageLayout(List.copyOf(parts), end));
        }
        return layouts;
    }

    private static long aligned(long elements) {
        return (elements + SegmentKernels.ALIGNMENT - 1) / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT;
    }
}
