package io.hvd.data.parquet;

/**
 * Lists of floats one after the other.
 *
 * @param ends of the lists among the elements
 */
record FloatLists(float[] elements, int[] ends) {
    int begin(int list) {
        return list == 0 ? 0 : ends[list - 1];
    }

    int end(int list) {
        return ends[list];
    }
}
