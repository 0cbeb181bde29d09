package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What has been seen of an epoch: by how many ranks, how many rows each, and then what others have seen of the rest. */
record SeenRows(List<Run> runs) {
    static final SeenRows NONE = new SeenRows(List.of());

    private static final Pattern WORDS = Pattern.compile("(\\d{1,9}:\\d{1,10}(,\\d{1,9}:\\d{1,10})*)?");

    /** @param rows that each rank has seen, or fewer where its share had not as many */
    record Run(int replicas, int rows) {
        @Override
        public String toString() {
            return replicas + ":" + rows;
        }

        private static Run parse(String words) {
            String[] numbers = words.split(":");
            return new Run(Math.max(1, Integer.parseInt(numbers[0])), (int)
                    Math.min(Integer.MAX_VALUE, Long.parseLong(numbers[1])));
        }
    }

    /** A run with as many ranks as the one before goes on with it. */
    SeenRows and(int replicas, int rows) {
        if (rows == 0) {
            return this;
        }
        List<Run> all = new ArrayList<>(runs);
        int last = all.size() - 1;
        if (last >= 0 && all.get(last).replicas == replicas) {
            long both = (long) all.get(last).rows + rows;
            all.set(last, new Run(replicas, (int) Math.min(both, Integer.MAX_VALUE)));
        } else {
            all.add(new Run(replicas, rows));
        }
        return new SeenRows(List.copyOf(all));
    }

    RestOfOrder rest(int size) {
        RestOfOrder rest = RestOfOrder.whole(size);
        for (Run run : runs) {
            rest = rest.after(run.replicas, run.rows);
        }
        return rest;
    }

    /** Such as {@code 4:1000,3:200}; empty if nothing was seen. */
    @Override
    public String toString() {
        return runs.stream().map(Run::toString).collect(Collectors.joining(","));
    }

    /** @throws HvdException if it is no such text */
    static SeenRows parse(String words) {
        if (words == null || !WORDS.matcher(words).matches()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state of a RowGroupSampler does not fit: its \"seen\" is "
                            + (words == null ? "missing" : "\"" + words + "\"")
                            + ", expected ranks:rows of each run, such as \"4:1000,3:200\"");
        }
        return words.isEmpty()
                ? NONE
                : new SeenRows(Arrays.stream(words.split(",")).map(Run::parse).toList());
    }
}
