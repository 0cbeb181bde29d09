package io.hvd.data;

import java.util.List;

/** Samples that are in memory already. */
record ListDataset<T>(List<T> samples) implements Dataset<T> {

    @Override
    public int size() {
        return samples.size();
    }

    @Override
    public T get(int index) {
        return samples.get(index);
    }
}
