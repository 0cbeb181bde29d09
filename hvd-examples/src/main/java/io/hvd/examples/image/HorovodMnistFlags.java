package io.hvd.examples.image;

import io.hvd.examples.Flags;
import io.hvd.examples.training.TorchDevice;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * The flags of Horovod's pytorch_mnist.py that the other image examples do not have, so that its command lines run as they are.
 *
 * @param testBatchSize samples per rank in a batch of the evaluation
 * @param logInterval batches from one line of every rank to the next; 0 for none
 * @param predivideFactor of the optimizer
 */
record HorovodMnistFlags(int testBatchSize, int logInterval, double predivideFactor) {
    /** The values for examples that do not have these flags. */
    static final HorovodMnistFlags NONE = new HorovodMnistFlags(256, 0, 1);

    private static final String TEST_BATCH_SIZE = "test-batch-size";
    private static final String LOG_INTERVAL = "log-interval";
    private static final String MIXED = "use-mixed-precision";
    private static final String PREDIVIDE = "gradient-predivide-factor";
    private static final int HOROVODS_TEST_BATCH_SIZE = 1000;

    static Options addFlags(Options flags) {
        return flags.addOption(Flags.valued(
                        TEST_BATCH_SIZE,
                        "samples per rank in a batch of the evaluation, default " + HOROVODS_TEST_BATCH_SIZE))
                .addOption(Flags.valued(
                        LOG_INTERVAL, "every rank prints its loss once in so many batches; default 0, never"))
                .addOption(TorchDevice.noCudaFlag())
                .addOption(null, MIXED, false, "the same as --amp fp16, on the CPU too")
                .addOption(
                        Flags.valued(PREDIVIDE, "gradients are divided by this before they are added up, default 1"));
    }

    static HorovodMnistFlags of(CommandLine line) throws ParseException {
        TorchDevice.isCuda(line); // refuses a contradiction
        if (line.hasOption(MIXED) && line.hasOption("amp") && !isFp16(line)) {
            throw new ParseException("--" + MIXED + " and --amp " + line.getOptionValue("amp") + " exclude each other");
        }
        double predivide = Flags.decimal(line, PREDIVIDE, 1, factor -> factor > 0, "above 0");
        for (String other : List.of("use-adasum", "checkpoint-dir")) {
            if (predivide != 1 && line.hasOption(other)) {
                throw new ParseException("--" + PREDIVIDE + " other than 1 and --" + other + " exclude each other");
            }
        }
        return new HorovodMnistFlags(
                Flags.count(line, TEST_BATCH_SIZE, HOROVODS_TEST_BATCH_SIZE, 1),
                Flags.count(line, LOG_INTERVAL, 0, 0),
                predivide);
    }

    /** Whether the line asks for mixed precision by Horovod's name. */
    static boolean askForMixedPrecision(CommandLine line) {
        return line.hasOption(MIXED);
    }

    private static boolean isFp16(CommandLine line) {
        return "fp16".equals(line.getOptionValue("amp"));
    }

    /** Whether a batch, counted from 0 within its epoch, gets a line. */
    boolean logs(int batch) {
        return logInterval > 0 && batch % logInterval == 0;
    }

    /**
     * The line of a rank.
     *
     * @param epoch counted from 0
     * @param batch counted from 0 within its epoch
     * @param batches of an epoch
     * @param samples of this rank in an epoch
     * @param scale of the loss; 1 without mixed precision
     */
    static String line(
            int rank, int epoch, int batch, int batches, int batchSize, int samples, double loss, double scale) {
        return String.format(
                Locale.ROOT,
                "rank %d, epoch %d: %d of %d samples (%.0f %%), loss %.6f%s",
                rank,
                epoch + 1,
                Math.min((long) batch * batchSize, samples),
                samples,
                100.0 * batch / batches,
                loss,
                scale == 1 ? "" : ", loss scale " + scale);
    }
}
