package io.hvd.examples;

import io.hvd.config.HvdConfig;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;

/** A progress bar, which is shown only if the output goes to a terminal. */
public final class StepProgress implements AutoCloseable {
    private final ProgressBar bar;

    private StepProgress(ProgressBar bar) {
        this.bar = bar;
    }

    public static StepProgress on(boolean wanted, String title, long steps) {
        return new StepProgress(
                wanted && HvdConfig.fromEnvironment().printsToTerminal()
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
}
