package io.hvd.examples;

import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;

/** A progress bar where somebody watches a terminal, nothing otherwise. */
public final class Progress implements AutoCloseable {
    /** Set by horovodrun when its own output is a terminal; a rank's own output never tells. */
    private static final String LAUNCHED_FROM_TERMINAL = "HVD_TERMINAL";

    private final ProgressBar bar;

    private Progress(ProgressBar bar) {
        this.bar = bar;
    }

    public static Progress on(boolean wanted, String title, long steps) {
        return new Progress(
                wanted && isTerminal()
                        ? new ProgressBarBuilder()
                                .setTaskName(title)
                                .setInitialMax(steps)
                                .build()
                        : null);
    }

    public void step() {
        if (bar != null) {
            bar.step();
        }
    }

    @Override
    public void close() {
        if (bar != null) {
            bar.close();
        }
    }

    private static boolean isTerminal() {
        boolean launched = System.getenv("OMPI_COMM_WORLD_RANK") != null;
        return launched ? System.getenv(LAUNCHED_FROM_TERMINAL) != null : System.console() != null;
    }
}
