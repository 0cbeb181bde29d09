package io.hvd.monitor;

import io.hvd.trace.CallSite;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The place in the program at which a thread is.
 *
 * @param place the user's line, or the innermost line if no user's code is on the stack; empty if the thread has ended
 * @param insideHvd true if that line has called hvd and waits there
 * @param text the whole stack
 */
record StackView(String thread, String state, String place, boolean insideHvd, String text) {
    /** What stands before the class in a frame, such as {@code at app//} or {@code at java.base@17/}. */
    private static final Pattern LOADER_AND_MODULE = Pattern.compile("^at (?:[^/(]*/){0,2}");

    /** Reads a thread's stack now; any thread may call this. */
    static StackView of(Thread thread) {
        return of(thread.getName(), thread.getState(), thread.getStackTrace());
    }

    static StackView of(String name, Thread.State state, StackTraceElement[] stack) {
        String innermost = stack.length == 0 ? "" : CallSite.describe(stack[0]);
        String text =
                Arrays.stream(stack).map(frame -> "    at " + frame + "\n").collect(Collectors.joining());
        return new StackView(
                name, state.toString(), CallSite.of(stack).orElse(innermost), CallSite.isInsideHvd(stack), text);
    }

    /**
     * The frames, the innermost first.
     *
     * @param programsOnly whether to leave out those that the program's own line, {@link #place}, has called
     */
    List<String> frames(boolean programsOnly) {
        List<String> frames = text.lines()
                .map(line -> LOADER_AND_MODULE.matcher(line.strip()).replaceFirst(""))
                .toList();
        int place = 0;
        while (programsOnly && place < frames.size() && !frames.get(place).endsWith(this.place)) {
            place++;
        }
        return place < frames.size() ? frames.subList(place, frames.size()) : frames;
    }

    String headed() {
        return "\"" + thread + "\" " + state + "\n" + text;
    }
}
