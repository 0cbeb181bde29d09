package io.hvd.optimizer.reduce;

/** Finds the largest numbers of a row. */
final class Selection {
    private Selection() {}

    /** A number that grows with the size of a float, whatever its sign. */
    static int size(float value) {
        return Float.floatToRawIntBits(value) & Integer.MAX_VALUE;
    }

    /** The {@link #size} of the count-th largest number, by Hoare's selection. @param count at least 1 */
    static int largest(float[] row, int count) {
        int[] sizes = new int[row.length];
        for (int i = 0; i < row.length; i++) {
            sizes[i] = size(row[i]);
        }
        int target = row.length - count;
        int from = 0;
        int to = row.length - 1;
        while (from < to) {
            int pivot = median(sizes[from], sizes[(from + to) >>> 1], sizes[to]);
            int left = from;
            int right = to;
            while (left <= right) {
                while (sizes[left] < pivot) {
                    left++;
                }
                while (sizes[right] > pivot) {
                    right--;
                }
                if (left <= right) {
                    int swapped = sizes[left];
                    sizes[left++] = sizes[right];
                    sizes[right--] = swapped;
                }
            }
            if (target <= right) {
                to = right;
            } else if (target >= left) {
                from = left;
            } else {
                break;
            }
        }
        return sizes[target];
    }

    private static int median(int a, int b, int c) {
        return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
    }
}
