package io.hvd.examples.volume;

import io.hvd.data.SplitMix64;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A cube of a volume.
 *
 * @param x the cube's first voxel, with y and z
 * @param side its number of voxels along each axis
 * @param turns quarter turns from the x axis to the z axis, 0 to 3
 */
record CubeCrop(int x, int y, int z, int side, int turns) {
    private static final double TURNED = 0.5;

    /**
     * Chooses cubes: each of them has its centre, with equal probability, on a voxel of the mask or on one beside it, and is moved into
     * the volume where it would reach out of it. Half of them are turned by one to three quarters.
     *
     * @param label the mask; where it has one kind of voxels only, the centres are all of that kind
     */
    static List<CubeCrop> choose(Volume label, int side, int count, SplitMix64 random) {
        int inside = 0;
        for (float voxel : label.voxels()) {
            inside += voxel != 0 ? 1 : 0;
        }
        int outside = label.voxels().length - inside;
        List<CubeCrop> crops = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            boolean wantsInside = random.nextInt(2) == 0;
            boolean isInside = inside > 0 && (wantsInside || outside == 0);
            int place = place(label, isInside, random.nextInt(isInside ? inside : outside));
            int turns = random.nextDouble() < TURNED ? 1 + random.nextInt(3) : 0;
            crops.add(around(label, place, side, turns));
        }
        return crops;
    }

    /** The index of the nth voxel inside or outside of the mask. */
    private static int place(Volume label, boolean inside, int nth) {
        int left = nth;
        float[] voxels = label.voxels();
        for (int i = 0; i < voxels.length; i++) {
            if ((voxels[i] != 0) == inside && left-- == 0) {
                return i;
            }
        }
        throw new IllegalArgumentException("there is no voxel " + nth + " of this kind");
    }

    private static CubeCrop around(Volume volume, int place, int side, int turns) {
        int x = place % volume.width();
        int y = place / volume.width() % volume.height();
        int z = place / volume.width() / volume.height();
        return new CubeCrop(
                first(x, side, volume.width()),
                first(y, side, volume.height()),
                first(z, side, volume.depth()),
                side,
                turns);
    }

    private static int first(int centre, int side, int size) {
        return Math.max(0, Math.min(centre - side / 2, size - side));
    }

    /** Writes the cube's voxels, as a tensor (depth, height, width) has them. */
    void copy(Volume from, FloatBuffer to) {
        for (int k = 0; k < side; k++) {
            for (int j = 0; j < side; j++) {
                if (turns == 0) {
                    to.put(from.voxels(), from.index(x, y + j, z + k), side);
                } else {
                    copyTurnedRow(from, j, k, to);
                }
            }
        }
    }

    private void copyTurnedRow(Volume from, int j, int k, FloatBuffer to) {
        int last = side - 1;
        for (int i = 0; i < side; i++) {
            int fromX = turns == 1 ? k : turns == 2 ? last - i : last - k;
            int fromZ = turns == 1 ? last - i : turns == 2 ? last - k : i;
            to.put(from.voxels()[from.index(x + fromX, y + j, z + fromZ)]);
        }
    }
}
