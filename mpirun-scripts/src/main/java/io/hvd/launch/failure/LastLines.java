package io.hvd.launch.failure;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The last lines that ranks have printed to standard error, without mpirun's own messages, which stand between lines of dashes,
 * and without what survivors say of the failure. Lines of one rank are told from others' where mpirun tags them.
 */
public final class LastLines {

    static final int MOST = 8;

    /** Ranks that fail together print in turns; a stack of one of them is longer than what is shown. */
    private static final int KEPT = 400;

    private static final int LONGEST_LINE = 300;
    private static final int LONGEST_MESSAGE = 40;
    private static final Pattern DASHES = Pattern.compile("-{60,}");
    private static final Pattern OF_MPIRUN =
            Pattern.compile("mpirun|prterun|prte|orted|MPI_ABORT|Primary job|ORTE|PMIX|PRTE");

    /** Open MPI 4.1 has {@code [1,2]<stderr>:}, 5.0 has the job's name too, {@code [prterun-host-12@1,2]<stderr>:}. */
    private static final Pattern TAG =
            Pattern.compile("\\[(?:[^\\]@\\s]*@)?\\d{1,9},(\\d{1,9})\\](?:<std(?:err|out|diag)>)?:? ?");

    /** @param areOfOne whether they are known to be of the rank that was asked for */
    public record Said(List<String> lines, boolean areOfOne) {}

    public static final Said NOTHING = new Said(List.of(), false);

    private final Deque<String> lines = new ArrayDeque<>();
    /** The lines behind a line of dashes; null outside. */
    private List<String> message;

    /** @param line of bytes as characters, as they came */
    public void add(String line) {
        String text = new String(line.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8).stripTrailing();
        if (DASHES.matcher(text).matches()) {
            endMessage(text);
        } else if (message != null) {
            message.add(text);
            if (message.size() > LONGEST_MESSAGE) {
                giveBack();
            }
        } else {
            keep(text);
        }
    }

    private void endMessage(String dashes) {
        if (message == null) {
            message = new ArrayList<>(List.of(dashes));
        } else if (message.stream().anyMatch(line -> OF_MPIRUN.matcher(line).find())) {
            message = null;
        } else {
            giveBack();
            message = new ArrayList<>(List.of(dashes)); // the second line of a rank's own pair may begin mpirun's
        }
    }

    /** The dashes were a rank's own. */
    private void giveBack() {
        message.forEach(this::keep);
        message = null;
    }

    private void keep(String text) {
        if (text.isBlank() || text.contains("hvd: consequence on ") || text.startsWith("[hvd")) {
            return;
        }
        lines.add(text);
        if (lines.size() > KEPT) {
            lines.remove();
        }
    }

    /**
     * The last ones.
     *
     * @param rank whose lines are wanted, where lines are tagged
     */
    public Said of(int rank) {
        List<String> all = new ArrayList<>();
        List<String> own = new ArrayList<>();
        for (String line : lines) {
            Matcher tag = TAG.matcher(line);
            String text = tag.lookingAt() ? line.substring(tag.end()) : line;
            if (tag.lookingAt() && tag.group(1).equals(Integer.toString(rank))) {
                own.add(cut(text));
            }
            all.add(cut(text));
        }
        List<String> wanted = own.isEmpty() ? all : own;
        return new Said(List.copyOf(wanted.subList(Math.max(0, wanted.size() - MOST), wanted.size())), !own.isEmpty());
    }

    private static String cut(String line) {
        return line.length() <= LONGEST_LINE ? line : line.substring(0, LONGEST_LINE) + " ...";
    }
}
