package io.hvd.examples.volume;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.image.OutputFiles;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** A 3-D UNet that learns to find what is marked in volumes, on NIfTI files or on balls that the program draws. */
public final class UNetExample implements Example {
    @Override
    public String name() {
        return "unet3d";
    }

    @Override
    public String summary() {
        return "a 3-D UNet that finds what is marked in volumes, on NIfTI files or on balls drawn by the program";
    }

    @Override
    public Options flags() {
        return VolumeOptions.flags();
    }

    /** The model stays in the folder of the runs, where {@link UNetEvalExample}'s run finds it. */
    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--preset quick --checkpoint unet.safetensors"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        VolumeOptions options = VolumeOptions.from(line);
        OutputFiles files = new OutputFiles().with("checkpoint", options.checkpoint());
        return hvd -> {
            files.require(hvd);
            VolumeData data = VolumeData.open(hvd, options.data(), options.roi(), 1);
            return new VolumeTraining(hvd, options, data).run();
        };
    }
}
