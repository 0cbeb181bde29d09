package io.hvd.examples.image;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.data.Digits;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The default example: handwritten digits of 8x8 pixels, shipped inside the jar. */
public final class DigitsExample implements Example {
    /** 20 epochs in batches of 16; a learning rate of 0.01, which falls by 7 % per epoch; momentum 0.9. */
    private static final TrainingOptions.Defaults DEFAULTS = new TrainingOptions.Defaults(20, 16, 0.01, 0.93, 0.9);

    @Override
    public String name() {
        return "digits";
    }

    @Override
    public String summary() {
        return "a small CNN on 1,797 handwritten digits of 8x8 pixels, shipped inside the jar";
    }

    @Override
    public Options flags() {
        return TrainingOptions.flags(DEFAULTS);
    }

    TrainingOptions options(CommandLine line) throws ParseException {
        return TrainingOptions.from(line, DEFAULTS);
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--epochs 5"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        TrainingOptions options = options(line);
        return hvd -> {
            RunStart start = RunStart.of(name(), hvd, options);
            new ImageTraining(start, options, Digits.load(), DigitsNet::new, HorovodMnistFlags.NONE).run();
            return 0;
        };
    }
}
