package io.hvd.examples.volume;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.error.HvdException;
import io.hvd.examples.training.SeededModule;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.commons.cli.ParseException;

/**
 * A trained net, and what an evaluation must know about it; in a file of the safetensors format it is the parameters by their names.
 *
 * @param roi voxels of a side of the crops that it was trained on
 */
record UNetFile(UNet3d model, List<Integer> channels, int roi) {
    private static final String CHANNELS = "channels";
    private static final String ROI = "roi";
    private static final String SPACE = " ";

    /** Writes the file; only one rank may do it. */
    void write(Path file) throws IOException {
        Map<String, String> words = Map.of(CHANNELS, VolumePreset.words(channels), ROI, String.valueOf(roi));
        new Checkpoint(StateDict.of(model), new TreeMap<>(words)).write(file);
    }

    /**
     * Reads the file on rank 0, which gives the model to all ranks. A collective.
     *
     * @throws ParseException on all ranks, if there is no such file on rank 0 or it is of something else
     */
    static UNetFile read(HvdContext hvd, Path file) throws ParseException {
        UNetFile read = null;
        String mistake = "";
        if (hvd.rank() == 0) {
            try {
                read = read(file);
            } catch (IOException | HvdException | ParseException e) {
                mistake = "--checkpoint " + file + " cannot be read on rank 0: " + e.getMessage();
            }
        }
        mistake = hvd.broadcastObject("unet3d.mistake", mistake, ObjectCodec.utf8(), 0);
        if (!mistake.isEmpty()) {
            throw new ParseException(mistake);
        }
        String mine = read == null ? "" : VolumePreset.words(read.channels) + SPACE + read.roi;
        String[] words =
                hvd.broadcastObject("unet3d.words", mine, ObjectCodec.utf8(), 0).split(SPACE);
        UNetFile all = read == null ? untrained(VolumeFlags.channels(words[0]), Integer.parseInt(words[1])) : read;
        hvd.broadcastParameters(TorchTensors.state(all.model), 0);
        return all;
    }

    private static UNetFile read(Path file) throws IOException, ParseException {
        Checkpoint saved = Checkpoint.read(file);
        List<Integer> channels = VolumeFlags.channels(saved.metadata().getOrDefault(CHANNELS, ""));
        String roi = saved.metadata().getOrDefault(ROI, "");
        if (!roi.matches("[1-9][0-9]{0,4}")) {
            throw new ParseException("its word \"" + ROI + "\" is \"" + roi + "\", expected the side of its crops");
        }
        UNetFile net = untrained(channels, Integer.parseInt(roi));
        StateDict.load(net.model, saved.tensors());
        return net;
    }

    private static UNetFile untrained(List<Integer> channels, int roi) {
        return new UNetFile(untrained(channels, 0L), channels, roi);
    }

    static UNet3d untrained(List<Integer> channels, long seed) {
        return SeededModule.seeded(seed, () -> new UNet3d(VolumeFlags.shape(channels)));
    }
}
