package io.hvd.examples.volume;

import io.hvd.data.Dataset;
import java.util.List;
import java.util.stream.IntStream;

/** Volumes that are read one by one, and their names by their indices. */
record VolumeSet(Dataset<LabelledVolume> volumes, List<String> names) {
    int size() {
        return names.size();
    }

    /** The volumes from one index to before another. */
    VolumeSet part(int from, int to) {
        return new VolumeSet(volumes.subset(IntStream.range(from, to).toArray()), List.copyOf(names.subList(from, to)));
    }
}
