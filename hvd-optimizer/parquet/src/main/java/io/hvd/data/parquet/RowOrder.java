package io.hvd.data.parquet;

import io.hvd.data.Permutation;
import io.hvd.data.SplitMix64;
import java.util.Arrays;

/**
 * An epoch's order of all rows. The blocks are shuffled; each so many that follow one another are a window, and the rows of a window are
 * shuffled among themselves. The rows of any place follow from the seed, the epoch and the blocks alone, without those before it.
 */
final class RowOrder {
    /** The first row of each block in the data set, and behind the last one the number of all rows. */
    private final int[] firsts;

    private final int[] blocks;
    private final int window;
    private final long seed;
    private final boolean shuffle;
    /** The first place of each window, and behind the last one the number of all rows. */
    private final int[] begins;

    /** @param firsts is not copied */
    RowOrder(int[] firsts, int window, long seed, int epoch, boolean shuffle) {
        this.firsts = firsts;
        this.window = window;
        this.seed = new SplitMix64(seed + epoch).nextLong();
        this.shuffle = shuffle;
        int count = firsts.length - 1;
        blocks = shuffle ? Permutation.of(count, this.seed) : identity(count);
        begins = new int[(int) ((count + (long) window - 1) / window) + 1];
        for (int i = 0; i < count; i++) {
            begins[i / window + 1] += rows(blocks[i]);
        }
        Arrays.parallelPrefix(begins, Integer::sum);
    }

    private static int[] identity(int count) {
        int[] order = new int[count];
        Arrays.setAll(order, i -> i);
        return order;
    }

    private int rows(int block) {
        return firsts[block + 1] - firsts[block];
    }

    /** The rows at these places, in an array that may be longer; what is behind them is 0. */
    int[] at(RestOfOrder places, int length) {
        int[] rows = new int[length];
        int count = 0;
        for (RestOfOrder.Stretch stretch : places.stretches()) {
            for (int number = windowWith(stretch.from()); number < begins.length - 1; number++) {
                int from = Math.max(stretch.from(), begins[number]);
                int to = Math.min(stretch.to(), begins[number + 1]);
                if (from >= to) {
                    break;
                }
                System.arraycopy(window(number), from - begins[number], rows, count, to - from);
                count += to - from;
            }
        }
        return rows;
    }

    private int windowWith(int place) {
        int found = Arrays.binarySearch(begins, place);
        return found >= 0 ? found : -found - 2;
    }

    private int[] window(int number) {
        int[] ordered = new int[begins[number + 1] - begins[number]];
        int count = 0;
        int end = (int) Math.min(blocks.length, (number + 1L) * window);
        for (int i = number * window; i < end; i++) {
            for (int row = firsts[blocks[i]]; row < firsts[blocks[i] + 1]; row++) {
                ordered[count++] = row;
            }
        }
        if (!shuffle) {
            return ordered;
        }
        int[] places = Permutation.of(ordered.length, seed + number + 1);
        int[] shuffled = new int[ordered.length];
        Arrays.setAll(shuffled, i -> ordered[places[i]]);
        return shuffled;
    }
}
