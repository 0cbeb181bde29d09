package io.hvd.examples.volume;

import io.hvd.HvdContext;
import io.hvd.examples.data.DataOrigin;
import io.hvd.examples.training.LocalRootFirst;
import io.hvd.examples.training.RankMistakes;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.commons.cli.ParseException;

/**
 * The volumes of a run.
 *
 * @param train the first ones
 * @param eval the last ones, on which no training is made
 * @param drawn whether the program has drawn them
 * @param origin where they are from, in words
 */
record VolumeData(VolumeSet train, VolumeSet eval, boolean drawn, String origin) {
    /**
     * The volumes that the flags ask for.
     *
     * @param folder empty for volumes that are drawn in memory
     * @param size voxels of a side of drawn volumes
     * @param images to train on; empty for as many as the full preset draws, or as a folder of real volumes has
     * @param evalImages volumes to evaluate, which are not trained on
     */
    record Choice(Optional<Path> folder, int size, OptionalInt images, int evalImages, long seed) {
        private int drawnImages() {
            return images.orElse(VolumePreset.FULL.images);
        }

        private int drawnInAll() {
            return Math.addExact(drawnImages(), evalImages);
        }
    }

    /**
     * Finds the volumes, and draws those that a folder of drawn ones lacks: one rank of each host does, while the others wait. A collective.
     *
     * @param roi the least number of voxels along each side
     * @param trainImages the least number of volumes to train on
     * @throws ParseException on all ranks, if one of them has no volumes or wrong ones
     */
    static VolumeData open(HvdContext hvd, Choice choice, int roi, int trainImages) throws ParseException {
        if (choice.folder().isEmpty()) {
            VolumeSet all = new SyntheticVolumes(choice.size(), choice.seed()).first(choice.drawnInAll());
            return split(all, choice, true, trainImages, "drawn in memory with seed " + choice.seed());
        }
        Path folder = choice.folder().get();
        LocalRootFirst.run(hvd, "--data-dir " + folder, () -> prepare(hvd, folder, choice, roi));
        VolumeSet[] all = {null};
        boolean[] drawn = {false};
        RankMistakes.requireNone(hvd, "--data-dir " + folder, () -> {
            all[0] = VolumeFolder.of(folder).asSet();
            drawn[0] = SyntheticVolumes.isDrawnOrEmpty(folder);
        });
        hvd.requireSame(Map.of("volumes in --data-dir " + folder, String.join(" ", all[0].names())));
        VolumeSet wanted = drawn[0] ? all[0].part(0, choice.drawnInAll()) : all[0];
        return split(wanted, choice, drawn[0], trainImages, (drawn[0] ? "drawn in " : "read from ") + folder);
    }

    private static void prepare(HvdContext hvd, Path folder, Choice choice, int roi) throws IOException {
        if (SyntheticVolumes.isDrawnOrEmpty(folder)) {
            int missing = SyntheticVolumes.missing(folder, choice.drawnInAll());
            if (hvd.rank() == 0 && missing > 0) {
                System.out.printf(
                        Locale.ROOT,
                        "drawing %d volumes of %2$dx%2$dx%2$d voxels into %3$s%n",
                        missing,
                        choice.size(),
                        folder);
            }
            SyntheticVolumes.generate(folder, choice.drawnInAll(), choice.size(), choice.seed());
        } else {
            List<String> remarks = VolumeFolder.of(folder).requireFitting(roi);
            if (hvd.rank() == 0) {
                remarks.forEach(System.out::println);
            }
        }
    }

    private static VolumeData split(VolumeSet all, Choice choice, boolean drawn, int trainImages, String origin)
            throws ParseException {
        int left = Math.max(0, all.size() - choice.evalImages());
        int train =
                drawn ? choice.drawnImages() : Math.min(left, choice.images().orElse(left));
        if (train < trainImages) {
            throw new ParseException("there are " + all.size() + " volumes " + origin + ", expected at least "
                    + (trainImages + choice.evalImages()) + ": --eval-images " + choice.evalImages()
                    + " of them are not trained on");
        }
        return new VolumeData(all.part(0, train), all.part(left, all.size()), drawn, origin);
    }

    /** The word for the result line. */
    DataOrigin word() {
        return drawn ? DataOrigin.DRAWN : DataOrigin.FILES;
    }
}
