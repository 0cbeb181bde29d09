package io.hvd.job;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;

/** Says whether init has returned, or what it has thrown. */
final class StartupHookProgram {
    private StartupHookProgram() {}

    public static void main(String[] args) {
        try (HvdContext hvd = Hvd.init()) {
            System.out.println("rank " + hvd.rank() + " has joined");
        } catch (HvdException e) {
            System.out.println("refused: " + e.getMessage());
            System.exit(3);
        }
    }
}
