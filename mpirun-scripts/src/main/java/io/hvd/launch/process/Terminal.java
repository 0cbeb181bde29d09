package io.hvd.launch.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;

/** Whether this process is the one that its terminal's Ctrl-C goes to, and whether it writes to a terminal. */
public final class Terminal {

    private static final Pattern DEVICE = Pattern.compile("/dev/(pts/\\d+|tty\\w*|console)");

    private Terminal() {}

    static boolean isForeground() {
        try {
            return isForeground(Files.readString(Path.of("/proc/self/stat")));
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether standard output is a terminal. */
    public static boolean isOutput() {
        return isTerminal(1).orElse(false);
    }

    /** Whether standard input is no terminal, or the one of which this process is in the foreground. */
    public static boolean mayBeRead() {
        return isTerminal(0).filter(terminal -> !terminal || isForeground()).isPresent();
    }

    /** Empty if it is not open. Where there is no /proc a shell says it. */
    private static Optional<Boolean> isTerminal(int stream) {
        Path open = Path.of("/proc/self/fd");
        try {
            return Optional.of(isDevice(Files.readSymbolicLink(open.resolve(Integer.toString(stream)))
                    .toString()));
        } catch (IOException e) {
            return Files.exists(open) ? Optional.empty() : test(stream);
        }
    }

    private static Optional<Boolean> test(int stream) {
        var shell = new ProcessBuilder("sh", "-c", "[ -t " + stream + " ]").inheritIO();
        try {
            return Optional.of(shell.start().onExit().join().exitValue() == 0);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** @param file that an open file leads to, as /proc shows it */
    static boolean isDevice(String file) {
        return DEVICE.matcher(file).matches();
    }

    /** @param stat the line as proc(5) has it: pid (name) state ppid pgrp session tty_nr tpgid ...; the name may hold anything */
    static boolean isForeground(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        String group = fields[2];
        String terminal = fields[4];
        String foregroundGroup = fields[5];
        return !terminal.equals("0") && group.equals(foregroundGroup);
    }
}
