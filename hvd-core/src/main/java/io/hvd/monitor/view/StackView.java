package io.hvd.monitor.view;

import io.hvd.trace.CallSite;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The place in the program at which a thread is.
 *
 * @param place the user's line, or the innermost line if no user's code is on the stack; empty if the thread has ended
 * @param insideHvd true if that line has called hvd and waits there
 * @param text the whole stack
 */
public record StackView(String thread, String state, String place, boolean insideHvd, String text) {
    /** The text before the class in a frame, such as {@code at app//} or {@code at java.base@17/}. */
    private static final Pattern LOADER_AND_MODULE = Pattern.compile("^at (?:[^/(]*/){0,2}");
    /** The class of a lambda has another number and address in each process. */
    private static final Pattern LAMBDA = Pattern.compile("\\$\\$Lambda[^.(]*");

    private static final String LAMBDA_NAME = Matcher.quoteReplacement("$$Lambda");

    /** Reads a thread's stack now; any thread may call this. */
    public static StackView of(Thread thread) {
        return of(thread.getName(), thread.getState(), thread.getStackTrace());
    }

    public static StackView of(String name, Thread.State state, StackTraceElement[] stack) {
        String innermost = stack.length == 0 ? "" : CallSite.describe(stack[0]);
        String text =
                Arrays.stream(stack).map(frame -> "    at " + frame + "\n").collect(Collectors.joining());
        return new StackView(
                name, state.toString(), CallSite.of(stack).orElse(innermost), CallSite.isInsideHvd(stack), text);
    }

    /** The frames, the innermost first, written alike in all processes. */
    public List<String> frames() {
        return text.lines()
                .map(line -> LAMBDA.matcher(line.strip()).replaceAll(LAMBDA_NAME))
                .map(line -> LOADER_AND_MODULE.matcher(line).replaceFirst(""))
                .toList();
    }

    /** The frames of the program, or the innermost frame if the stack has none. */
    public List<String> framesOfTheProgram() {
        List<String> all = frames();
        List<String> programs = all.stream()
                .filter(frame -> !frame.contains("$$Lambda") && CallSite.isUsersClass(classOf(frame)))
                .toList();
        return programs.isEmpty() ? all.subList(0, Math.min(1, all.size())) : programs;
    }

    private static String classOf(String frame) {
        String method = frame.contains("(") ? frame.substring(0, frame.indexOf('(')) : frame;
        return method.contains(".") ? method.substring(0, method.lastIndexOf('.')) : method;
    }

    public String headed() {
        return "\"" + thread + "\" " + state + "\n" + text;
    }
}
