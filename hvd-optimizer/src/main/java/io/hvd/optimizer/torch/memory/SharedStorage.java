package io.hvd.optimizer.torch.memory;

import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Which tensors lie in the same memory though they are several to LibTorch, as after {@code decoder.weight().set_data(encoder.weight())} or
 * where one is a view of the other: what is written to one is written to all of them.
 */
public final class SharedStorage {
    private SharedStorage() {}

    /**
     * Puts together what overlaps.
     *
     * @return for each tensor the place of the first one in the list that it overlaps, directly or through others; its own place if it
     *     overlaps none
     */
    public static int[] firsts(List<Tensor> tensors) {
        int[] firsts = IntStream.range(0, tensors.size()).toArray();
        List<Range> ranges = IntStream.range(0, tensors.size())
                .mapToObj(place -> Range.of(place, tensors.get(place)))
                .filter(range -> range.end > range.begin)
                .sorted(Comparator.comparing(Range::device).thenComparing(Range::begin))
                .toList();
        Range open = null;
        for (Range range : ranges) {
            if (open != null && open.device.equals(range.device) && range.begin < open.end) {
                unite(firsts, open.place, range.place);
                open = range.end > open.end ? range : open;
            } else {
                open = range;
            }
        }
        return firsts;
    }

    private static void unite(int[] firsts, int one, int other) {
        int low = Math.min(firsts[one], firsts[other]);
        int high = Math.max(firsts[one], firsts[other]);
        for (int i = 0; i < firsts.length && low != high; i++) {
            firsts[i] = firsts[i] == high ? low : firsts[i];
        }
    }

    private record Range(int place, String device, long begin, long end) {
        static Range of(int place, Tensor tensor) {
            long begin = tensor.is_sparse() ? 0 : tensor.data_ptr().address();
            long bytes = tensor.is_sparse() ? 0 : tensor.nbytes();
            return new Range(place, tensor.device().str().getString(), begin, begin + bytes);
        }
    }
}
