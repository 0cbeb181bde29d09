package io.hvd.top;

import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The load and the memory of a GPU or a rank at one time: a line of the CSV of hvd-monitor, whose seven columns are those
 * of {@code nvidia-smi --query-gpu=timestamp,index,memory.total,memory.used,memory.free,utilization.gpu,utilization.memory}.
 *
 * @param index number of the GPU, or of the rank
 * @param totalMebibytes of the GPU, or of the host
 * @param usedMebibytes of the GPU, or of the rank's process
 * @param freeMebibytes of the GPU, or of the host
 * @param load percent of the time in which the GPU computed, or of one core that the rank's process used
 * @param memoryLoad percent of the time in which the GPU's memory was read or written, or of the host's memory that the process has
 */
record Reading(
        LocalDateTime time,
        int index,
        long totalMebibytes,
        long usedMebibytes,
        long freeMebibytes,
        long load,
        long memoryLoad) {
    static final String GPU_COLUMNS =
            "timestamp,index,memory.total,memory.used,memory.free,utilization.gpu,utilization.memory";
    static final String RANK_COLUMNS =
            "timestamp,rank,memory.total,memory.used,memory.free,utilization.cpu,utilization.memory";
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm:ss.SSS", Locale.ROOT);
    private static final int COLUMNS = 7;
    /** The value of a figure that a GPU does not tell. */
    private static final long UNKNOWN = -1;

    private static final String UNKNOWN_IN_CSV = "[N/A]";

    /** Reads a line; empty if it is none, such as the names of the columns. */
    static Optional<Reading> parse(String line) {
        List<String> fields =
                Arrays.stream(line.split(",", -1)).map(String::strip).toList();
        if (fields.size() != COLUMNS) {
            return Optional.empty();
        }
        try {
            return Optional.of(new Reading(
                    LocalDateTime.parse(fields.get(0), TIME),
                    Integer.parseInt(fields.get(1)),
                    number(fields.get(2)),
                    number(fields.get(3)),
                    number(fields.get(4)),
                    number(fields.get(5)),
                    number(fields.get(6))));
        } catch (DateTimeException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** GPUs that do not know a figure say so in brackets. */
    private static long number(String field) {
        return field.startsWith("[") ? UNKNOWN : Math.max(0, Long.parseLong(field));
    }

    /** The line of the CSV. */
    String csv() {
        return String.join(
                ",",
                TIME.format(time),
                String.valueOf(index),
                text(totalMebibytes),
                text(usedMebibytes),
                text(freeMebibytes),
                text(load),
                text(memoryLoad));
    }

    private static String text(long number) {
        return number == UNKNOWN ? UNKNOWN_IN_CSV : String.valueOf(number);
    }

    boolean knowsLoad() {
        return load != UNKNOWN;
    }

    boolean knowsMemory() {
        return usedMebibytes != UNKNOWN;
    }
}
