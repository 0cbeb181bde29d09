package io.hvd.job.failure;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Why this process is ending, read off the threads' stacks inside an exit hook.
 *
 * @param sentence what happened, for instance which thread called System.exit and at which line
 * @param thread name of the thread that brought it about
 * @param stack its stack, or empty
 * @param excerpt lines of it for a screen
 * @param byReturn true if the last thread has ended, without a call of exit and without a signal. The exit code is then
 *     zero, unless the main thread has thrown
 * @param signal true for SIGTERM, SIGINT and similar signals, which come from outside this process
 */
record ExitCause(String sentence, String thread, String stack, String excerpt, boolean byReturn, boolean signal) {

    static ExitCause find() {
        boolean returned = false; // which is seen, as an exit that a virtual thread has called is not
        for (Map.Entry<Thread, StackTraceElement[]> entry :
                Thread.getAllStackTraces().entrySet()) {
            StackTraceElement[] stack = entry.getValue();
            for (int i = 0; i < stack.length; i++) {
                if (isExit(stack[i])) {
                    return of(entry.getKey(), stack, i);
                }
                returned |= (stack[i].getClassName() + "." + stack[i].getMethodName())
                        .equals("java.lang.Shutdown.shutdown");
            }
        }
        return new ExitCause("the program ended", "main", "", "", returned, false);
    }

    private static ExitCause of(Thread thread, StackTraceElement[] stack, int exitFrame) {
        if (thread.getName().endsWith(" handler") && stack.length > 1 && fromSignal(stack)) {
            return new ExitCause(
                    "a signal ended the process (" + thread.getName() + ")", thread.getName(), "", "", false, true);
        }
        int caller = exitFrame;
        while (caller + 1 < stack.length && isExit(stack[caller])) {
            caller++;
        }
        StackTraceElement[] callers = Arrays.copyOfRange(stack, caller, stack.length);
        String text = Arrays.stream(callers).map(frame -> "\tat " + frame).collect(Collectors.joining("\n"));
        return new ExitCause(
                "thread " + thread.getName() + " called System.exit at "
                        + Excerpt.usersFrame(callers).orElse(stack[caller]),
                thread.getName(),
                text,
                String.join("\n", Excerpt.frames(callers)),
                false,
                false);
    }

    private static boolean fromSignal(StackTraceElement[] stack) {
        return Arrays.stream(stack)
                .anyMatch(frame -> frame.getClassName().startsWith("java.lang.Terminator")
                        || frame.getClassName().startsWith("jdk.internal.misc.Signal"));
    }

    private static boolean isExit(StackTraceElement frame) {
        String method = frame.getClassName() + "." + frame.getMethodName();
        return method.equals("java.lang.Runtime.exit")
                || method.equals("java.lang.System.exit")
                || method.equals("java.lang.Shutdown.exit");
    }
}
