package io.hvd.examples.volume;

import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.image.OutputFiles;
import io.hvd.examples.image.ResultFile;
import io.hvd.examples.training.LocalRootFirst;
import io.hvd.examples.training.TorchDevice;
import io.hvd.optimizer.torch.TorchRuntime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The evaluation of a 3-D UNet that {@link UNetExample} has trained: each volume goes to one rank, and the mean is that of all of them. */
public final class UNetEvalExample implements Example {
    @Override
    public String name() {
        return "unet3d-eval";
    }

    @Override
    public String summary() {
        return "evaluates the model of unet3d: the exact mean Dice coefficient over all ranks, and predicted masks";
    }

    @Override
    public Options flags() {
        return UNetEvalOptions.flags();
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--preset quick --checkpoint unet.safetensors"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        UNetEvalOptions options = UNetEvalOptions.from(line);
        VolumeFlags.window(line, 1); // refuses bad flags before the job begins
        OutputFiles files = new OutputFiles().withText("csv", options.csv());
        return hvd -> {
            files.require(hvd);
            TorchDevice device = TorchDevice.of(hvd, options.cuda());
            TorchRuntime.shareCores();
            UNetFile net = UNetFile.read(hvd, options.checkpoint());
            int roi = VolumeFlags.requireRoi(options.roi().orElse(net.roi()), net.channels());
            evaluate(hvd, options, device.onto(net.model()), device, VolumeFlags.window(line, roi));
            return 0;
        };
    }

    private static void evaluate(
            HvdContext hvd, UNetEvalOptions options, UNet3d model, TorchDevice device, SlidingWindow window)
            throws IOException, ParseException {
        VolumeData data = VolumeData.open(hvd, options.data(), 1, 0);
        if (options.out().isPresent()) {
            Path out = options.out().get();
            LocalRootFirst.run(hvd, "--out " + out, () -> Files.createDirectories(out));
        }
        long start = System.nanoTime();
        VolumeScores scores = new VolumeEvaluation(hvd, device, model, window, options.workers())
                .evaluate(data.eval(), (volume, predicted) -> writeMask(options.out(), volume, predicted));
        double seconds = (System.nanoTime() - start) / 1e9;
        if (hvd.rank() == 0) {
            report(options, data, window, scores);
            System.out.println(result(hvd, scores, seconds, data));
        }
    }

    private static void writeMask(Optional<Path> folder, LabelledVolume volume, Tensor predicted) throws IOException {
        if (folder.isPresent()) {
            float[] mask = new float[volume.image().voxels().length];
            predicted
                    .to(torch.ScalarType.Float)
                    .cpu()
                    .contiguous()
                    .data_ptr_float()
                    .get(mask);
            Nifti.write(
                    folder.get().resolve(volume.name() + "_mask.nii.gz"),
                    volume.image().with(mask),
                    VoxelType.UINT8);
        }
    }

    private static void report(UNetEvalOptions options, VolumeData data, SlidingWindow window, VolumeScores scores)
            throws IOException {
        System.out.printf(
                Locale.ROOT,
                "%d volumes %s, by cubes of side %d with overlap %s and %s weights%n",
                data.eval().size(),
                data.origin(),
                window.side(),
                window.overlap(),
                window.weighting().word());
        String csv = scores.csv(data.eval().names());
        System.out.print(csv);
        if (options.csv().isPresent()) {
            ResultFile.write(options.csv().get(), csv);
        }
    }

    private static String result(HvdContext hvd, VolumeScores scores, double seconds, VolumeData data) {
        return String.format(
                Locale.ROOT,
                "RESULT example=unet3d-eval ranks=%d volumes=%d loss=%.6f accuracy=%.4f dice=%.6f with_mask=%d"
                        + " volumes_per_second=%.2f data=%s",
                hvd.size(),
                scores.rows().size(),
                scores.meanLoss(),
                scores.accuracy(),
                scores.meanDice(),
                scores.volumesWithMask(),
                scores.rows().size() / seconds,
                data.word());
    }
}
