package io.hvd.examples.djl;

import ai.djl.engine.Engine;
import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.optimizer.djl.DjlEngine;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.help.HelpFormatter;

/**
 * The main class of {@code java -jar djl.jar}: digits with DJL on several ranks. It is a jar of its own, because DJL brings a
 * LibTorch of its own, which must not meet the one of train.jar in one process.
 */
public final class DjlMnist {
    private static final int BAD_USAGE = 2;

    private DjlMnist() {}

    public static void main(String[] args) throws Exception {
        try {
            run(args);
        } catch (ParseException e) {
            System.err.println("djl-mnist: " + e.getMessage() + "; --help lists the flags");
            System.exit(BAD_USAGE);
        }
    }

    private static void run(String[] args) throws Exception {
        if (java.util.List.of(args).contains("--help")) {
            HelpFormatter.builder()
                    .setShowSince(false)
                    .get()
                    .printHelp("java -jar djl.jar", "", MnistFlags.options(), "", true);
            return;
        }
        MnistFlags flags = MnistFlags.from(args);
        if (flags.threads() > 0) {
            Hvd.spawn(flags.threads(), hvd -> runRank(flags, hvd));
            return;
        }
        try (HvdContext hvd = Hvd.init()) {
            runRank(flags, hvd);
        }
    }

    private static Void runRank(MnistFlags flags, HvdContext hvd) throws Exception {
        Engine engine = DjlEngine.load(hvd);
        engine.setRandomSeed(flags.seed());
        new MnistTraining(flags, hvd).run();
        return null;
    }
}
