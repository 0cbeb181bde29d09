package io.hvd.examples.training;

import io.hvd.HvdContext;
import io.hvd.examples.Flags;
import io.hvd.tensor.Device;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * How a training is spread: over ranks that average their gradients (ddp), or over the devices of one process (dp).
 *
 * @param devices of one process, for dp; 1 for ddp
 */
public record ParallelMode(boolean isDataParallel, int devices) {
    private static final String MODE = "mode";
    private static final String DEVICES = "devices";
    private static final String DDP = "ddp";
    private static final String DP = "dp";
    private static final int USUAL_DEVICES = 2;

    public static void addTo(Options flags) {
        flags.addOption(Flags.valued(
                        MODE,
                        "ddp (default): every rank has a model and averages gradients; dp: one rank splits each batch over"
                                + " devices, as torch's DataParallel does"))
                .addOption(Flags.valued(
                        DEVICES,
                        "for --mode dp: number of devices, default " + USUAL_DEVICES + "; with --device cuda the first"
                                + " GPUs, otherwise threads on the CPU"));
    }

    public static ParallelMode of(CommandLine line) throws ParseException {
        boolean dp = Flags.oneOf(line, MODE, List.of(DDP, DP)).equals(DP);
        if (!dp && line.hasOption(DEVICES)) {
            throw new ParseException("--" + DEVICES + " needs --" + MODE + " " + DP
                    + ": with ddp the number of ranks says over how many devices a batch goes");
        }
        return new ParallelMode(dp, dp ? Flags.count(line, DEVICES, USUAL_DEVICES, 1) : 1);
    }

    /** @throws ParseException if dp is to run on several ranks */
    public void requireRanks(HvdContext hvd) throws ParseException {
        if (isDataParallel && hvd.size() > 1) {
            throw new ParseException(
                    "--" + MODE + " " + DP + " has its devices in one process and needs one rank, found " + hvd.size()
                            + " ranks: start it without a launcher or with -np 1, or choose --" + MODE + " " + DDP);
        }
    }

    List<Device> list(boolean cuda) {
        return IntStream.range(0, devices)
                .mapToObj(i -> cuda ? Device.cuda(i) : Device.CPU)
                .toList();
    }

    public String word() {
        return isDataParallel ? DP : DDP;
    }
}
