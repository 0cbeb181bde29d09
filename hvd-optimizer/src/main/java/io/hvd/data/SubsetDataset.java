package io.hvd.data;

/** Some samples of another data set, under indices of their own. */
final class SubsetDataset<T> implements Dataset<T> {

    private final Dataset<T> whole;
    private final int[] indices;

    SubsetDataset(Dataset<T> whole, int[] indices) {
        this.whole = whole;
        this.indices = indices;
    }

    @Override
    public int size() {
        return indices.length;
    }

    @Override
    public T get(int index) throws Exception {
        return whole.get(indices[index]);
    }
}
