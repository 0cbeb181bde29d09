package io.hvd.examples.volume;

import io.hvd.data.Dataset;
import io.hvd.data.SplitMix64;
import io.hvd.file.TextFile;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Volumes with bright balls in noise, and masks of the balls. A volume depends on size, seed and its index only, so every rank, worker
 * and host draws the same one, and no number of volumes changes another.
 *
 * <p>Twelve balls, which may lie over each other, with radii of 5 to 29 voxels where the side is 128, and in proportion
 * elsewhere; inside of a ball the intensity is 0.5 to 1, where balls meet that of the later one; noise below 0.5 shines through where it
 * is brighter; at last the values are stretched to 0..1.
 *
 * @param size voxels of a side, 16 to 1024
 */
record SyntheticVolumes(int size, long seed) {
    static final int LEAST_SIZE = 16;
    static final int MOST_SIZE = 1024;

    /** The file that tells a folder of drawn volumes from one with real ones. */
    static final String MARK = "drawn.txt";

    private static final int BALLS = 12;
    private static final double NOISE = 0.5;

    SyntheticVolumes {
        if (size < LEAST_SIZE || size > MOST_SIZE) {
            throw new IllegalArgumentException("size must be " + LEAST_SIZE + " to " + MOST_SIZE + ", found " + size);
        }
    }

    /** The volumes from 0 on, drawn in memory when they are read. */
    VolumeSet first(int count) {
        List<String> names =
                IntStream.range(0, count).mapToObj(index -> "img" + index).toList();
        return new VolumeSet(new InMemory(count), names);
    }

    private final class InMemory implements Dataset<LabelledVolume> {
        private final int count;

        private InMemory(int count) {
            this.count = count;
        }

        @Override
        public int size() {
            return count;
        }

        @Override
        public LabelledVolume get(int index) {
            return draw(Objects.checkIndex(index, count));
        }
    }

    LabelledVolume draw(int index) {
        SplitMix64 random = new SplitMix64(new SplitMix64(seed).nextLong() + index);
        float[] image = balls(random);
        float[] label = new float[image.length];
        for (int i = 0; i < image.length; i++) {
            label[i] = (float) Math.ceil(image[i]);
            image[i] = Math.max(image[i], (float) (NOISE * random.nextDouble()));
        }
        Volume noisy = Volume.of(size, size, size, image);
        return new LabelledVolume("img" + index, noisy.scaledToUnit(), Volume.of(size, size, size, label));
    }

    private float[] balls(SplitMix64 random) {
        int leastRadius = Math.max(2, 5 * size / 128);
        int radiusEnd = Math.max(leastRadius + 1, 30 * size / 128);
        float[] image = new float[size * size * size];
        for (int ball = 0; ball < BALLS; ball++) {
            int x = radiusEnd + random.nextInt(size - 2 * radiusEnd);
            int y = radiusEnd + random.nextInt(size - 2 * radiusEnd);
            int z = radiusEnd + random.nextInt(size - 2 * radiusEnd);
            int radius = leastRadius + random.nextInt(radiusEnd - leastRadius);
            fill(image, x, y, z, radius, 0.5f + 0.5f * (float) random.nextDouble());
        }
        return image;
    }

    private void fill(float[] image, int x, int y, int z, int radius, float intensity) {
        for (int dz = -radius; dz <= radius; dz++) {
            for (int dy = -radius; dy <= radius; dy++) {
                for (int dx = -radius; dx <= radius; dx++) {
                    if (dx * dx + dy * dy + dz * dz <= radius * radius) {
                        image[((z + dz) * size + y + dy) * size + x + dx] = intensity;
                    }
                }
            }
        }
    }

    /**
     * Writes the volumes 0 to n-1 into a folder, as {@code img0.nii.gz} with {@code seg0.nii.gz} and so on, as far as they are not there. One
     * process of a host does it while the others wait, see {@link io.hvd.examples.training.LocalRootFirst}.
     *
     * @throws IOException if the folder has volumes that were drawn with another size or seed, or cannot be written
     */
    static void generate(Path folder, int n, int size, long seed) throws IOException {
        new SyntheticVolumes(size, seed).generate(folder, n);
    }

    private void generate(Path folder, int n) throws IOException {
        Files.createDirectories(folder);
        mark(folder.resolve(MARK));
        for (int index = 0; index < n; index++) {
            if (!isThere(folder, index)) {
                LabelledVolume drawn = draw(index);
                Nifti.write(image(folder, index), drawn.image(), VoxelType.FLOAT32);
                Nifti.write(label(folder, index), drawn.label(), VoxelType.UINT8);
            }
        }
    }

    /** The number of the volumes 0 to n-1 that a folder lacks. */
    static int missing(Path folder, int n) {
        return (int)
                IntStream.range(0, n).filter(index -> !isThere(folder, index)).count();
    }

    private static boolean isThere(Path folder, int index) {
        return Files.exists(image(folder, index)) && Files.exists(label(folder, index));
    }

    private static Path image(Path folder, int index) {
        return folder.resolve("img" + index + ".nii.gz");
    }

    private static Path label(Path folder, int index) {
        return folder.resolve("seg" + index + ".nii.gz");
    }

    /** Says how the volumes are drawn, before the first of them is there. */
    private void mark(Path mark) throws IOException {
        String mine = "size " + size + ", seed " + seed;
        if (!Files.exists(mark)) {
            WholeFile.write(mark, (mine + "\n").getBytes(StandardCharsets.UTF_8));
        }
        String found = TextFile.clean(TextFile.read(mark));
        if (!found.equals(mine)) {
            throw new IOException(mark + " says that the volumes beside it were drawn with " + found + ", expected "
                    + mine + "; name another folder, or delete this one");
        }
    }

    /** Whether a folder has volumes of this program's, or none at all. */
    static boolean isDrawnOrEmpty(Path folder) throws IOException {
        if (!Files.isDirectory(folder) || Files.exists(folder.resolve(MARK))) {
            return true;
        }
        return VolumeFolder.imagesIn(folder).isEmpty();
    }
}
