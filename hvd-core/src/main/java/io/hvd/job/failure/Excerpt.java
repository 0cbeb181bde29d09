package io.hvd.job.failure;

import io.hvd.trace.CallSite;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * The part of an exception that says most and fits on a screen: for the exception and its deepest cause the message without the
 * stack of native code that LibTorch puts there, and the frames of the program itself. The rank prints all of it on its standard error.
 */
public final class Excerpt {
    private static final int MOST_MESSAGE_LINES = 3;
    private static final int LONGEST_LINE = 1000;
    private static final int MOST_FRAMES = 8;
    private static final int MOST_USERS = 2;
    private static final int MOST_BETWEEN = 1;
    private static final int MOST_SUPPRESSED = 1;
    /** A chain of causes that is longer is a mistake of the program's. */
    private static final int LONGEST_CHAIN = 100;

    private static final String FRAME = "\tat ";

    /** A line of LibTorch's stack of C++, or the line before it. */
    private static final Pattern NATIVE = Pattern.compile(
            "frame #\\d+: .*|#\\d+ \\S.* from \\S.*|Exception raised from .* \\(most recent call first\\):|C\\+\\+ CapturedTraceback:");

    private Excerpt() {}

    /** The exception in one line, with its deepest cause if that has more to say. */
    public static String summary(Throwable thrown) {
        List<Throwable> chain = chain(thrown);
        String first = firstLine(thrown);
        Throwable root = chain.get(chain.size() - 1);
        String ofRoot = firstLine(root);
        List<String> message = message(root);
        boolean isSaid = root == thrown
                || first.contains(message.isEmpty() ? root.getClass().getName() : message.get(0));
        return isSaid ? first : first + ", caused by " + ofRoot;
    }

    /** The exception in at most 25 lines, as a stack trace prints them. */
    static String stack(Throwable thrown) {
        List<String> lines = new ArrayList<>();
        List<Throwable> chain = chain(thrown);
        int last = chain.size() - 1;
        add(thrown, "", last == 0 ? frames(thrown.getStackTrace()) : oneFrame(thrown.getStackTrace()), lines);
        for (int i = 1; i < last && i <= MOST_BETWEEN; i++) {
            lines.add("Caused by: " + firstLine(chain.get(i)));
        }
        if (last - 1 > MOST_BETWEEN) {
            lines.add("... and " + (last - 1 - MOST_BETWEEN) + " more causes between");
        }
        if (last > 0) {
            Throwable root = chain.get(last);
            add(root, "Caused by: ", frames(root.getStackTrace()), lines);
        }
        return String.join("\n", lines);
    }

    private static void add(Throwable thrown, String before, List<String> frames, List<String> lines) {
        List<String> message = message(thrown);
        lines.add(before + firstLine(thrown));
        message.stream().skip(1).limit(MOST_MESSAGE_LINES - 1).forEach(lines::add);
        if (message.size() > MOST_MESSAGE_LINES) {
            lines.add("... " + (message.size() - MOST_MESSAGE_LINES) + " more lines of this message");
        }
        lines.addAll(frames);
        Throwable[] suppressed = thrown.getSuppressed();
        for (int i = 0; i < Math.min(suppressed.length, MOST_SUPPRESSED); i++) {
            lines.add("\tSuppressed: " + firstLine(suppressed[i]));
        }
    }

    /**
     * A short stack as it is, and of a longer one the innermost frame, the next ones of the program and of libraries it may
     * have, the first one of the package in which the program begins, and the outermost one.
     */
    static List<String> frames(StackTraceElement[] stack) {
        if (stack.length <= MOST_FRAMES) {
            return lines(stack, all(stack.length));
        }
        List<Integer> users = new ArrayList<>();
        for (int i = 0; i < stack.length; i++) {
            if (CallSite.isUsers(stack[i])
                    && (users.isEmpty() || !stack[i].equals(stack[users.get(users.size() - 1)]))) {
                users.add(i);
            }
        }
        if (users.isEmpty()) {
            return lines(stack, all(MOST_FRAMES));
        }
        int outermost = users.get(users.size() - 1);
        String program = family(stack[outermost]);
        Set<Integer> shown = new TreeSet<>(List.of(0, outermost));
        users.stream().limit(MOST_USERS).forEach(shown::add);
        users.stream().filter(i -> family(stack[i]).equals(program)).limit(1).forEach(shown::add);
        return lines(stack, shown);
    }

    /** The innermost frame of the program's own, as far as it can be told from those of libraries; else the innermost one. */
    private static List<String> oneFrame(StackTraceElement[] stack) {
        Set<Integer> shown = new TreeSet<>();
        for (int i = 0; i < stack.length && shown.isEmpty(); i++) {
            if (CallSite.isUsers(stack[i])) {
                shown.add(i);
            }
        }
        return shown.isEmpty() ? lines(stack, all(Math.min(1, stack.length))) : lines(stack, shown);
    }

    /** The innermost frame of the program's own; empty if there is none. */
    static Optional<StackTraceElement> usersFrame(StackTraceElement[] stack) {
        for (StackTraceElement frame : stack) {
            if (CallSite.isUsers(frame)) {
                return Optional.of(frame);
            }
        }
        return Optional.empty();
    }

    private static Set<Integer> all(int count) {
        Set<Integer> all = new TreeSet<>();
        for (int i = 0; i < count; i++) {
            all.add(i);
        }
        return all;
    }

    private static List<String> lines(StackTraceElement[] stack, Set<Integer> shown) {
        List<String> lines = new ArrayList<>();
        int next = 0;
        for (int at : shown) {
            addGap(at - next, lines);
            lines.add(FRAME + stack[at]);
            next = at + 1;
        }
        addGap(stack.length - next, lines);
        return lines;
    }

    private static void addGap(int frames, List<String> lines) {
        if (frames > 0) {
            lines.add("\t... " + frames + (frames == 1 ? " more frame" : " more frames"));
        }
    }

    /** The first two parts of the package, such as com.example; empty for the default package. */
    private static String family(StackTraceElement frame) {
        String[] parts = frame.getClassName().split("\\.");
        return parts.length == 1 ? "" : parts.length == 2 ? parts[0] : parts[0] + "." + parts[1];
    }

    private static String firstLine(Throwable thrown) {
        List<String> message = message(thrown);
        String name = thrown.getClass().getName();
        return message.isEmpty() ? name : name + ": " + message.get(0);
    }

    /** The lines of the message that are neither empty nor native frames. */
    private static List<String> message(Throwable thrown) {
        String text;
        try {
            text = thrown.getLocalizedMessage();
        } catch (RuntimeException e) {
            return List.of("its message could not be had: " + e.getClass().getName());
        }
        return text == null
                ? List.of()
                : text.lines()
                        .map(Excerpt::cut)
                        .map(String::stripTrailing)
                        .filter(line -> !line.isEmpty() && !NATIVE.matcher(line).matches())
                        .toList();
    }

    private static String cut(String line) {
        return line.length() <= LONGEST_LINE
                ? line
                : line.substring(0, LONGEST_LINE) + " ... (" + line.length() + " characters)";
    }

    private static List<Throwable> chain(Throwable thrown) {
        List<Throwable> chain = new ArrayList<>();
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable next = thrown; next != null && seen.add(next) && chain.size() < LONGEST_CHAIN; ) {
            chain.add(next);
            next = next.getCause();
        }
        return chain;
    }
}
