package io.hvd.examples.volume;

/**
 * A grey image of three dimensions.
 *
 * @param voxels by z, y and x, of which x changes fastest: the order of NIfTI, and of a tensor (depth, height, width)
 * @param space where the voxels lie, for programs that show them
 */
@SuppressWarnings("ArrayRecordComponent")
public record Volume(int width, int height, int depth, float[] voxels, VoxelSpace space) {
    public Volume {
        if (width < 1 || height < 1 || depth < 1 || (long) width * height * depth != voxels.length) {
            throw new IllegalArgumentException(
                    voxels.length + " voxels for a volume of " + width + "x" + height + "x" + depth);
        }
    }

    /** A volume of voxels of one millimetre each. */
    static Volume of(int width, int height, int depth, float[] voxels) {
        return new Volume(width, height, depth, voxels, VoxelSpace.UNIT);
    }

    int index(int x, int y, int z) {
        return (z * height + y) * width + x;
    }

    boolean hasSizesOf(Volume other) {
        return width == other.width && height == other.height && depth == other.depth;
    }

    /** Other voxels in the same place. */
    Volume with(float[] others) {
        return new Volume(width, height, depth, others, space);
    }

    /** The sizes along x, y and z, in words. */
    String sizes() {
        return width + "x" + height + "x" + depth;
    }

    /** The volume with its values mapped linearly to 0..1, the least to 0; all 0 if it has one value only. */
    Volume scaledToUnit() {
        float least = Float.POSITIVE_INFINITY;
        float most = Float.NEGATIVE_INFINITY;
        for (float voxel : voxels) {
            least = Math.min(least, voxel);
            most = Math.max(most, voxel);
        }
        float[] scaled = new float[voxels.length];
        if (most > least) {
            for (int i = 0; i < scaled.length; i++) {
                scaled[i] = (voxels[i] - least) / (most - least);
            }
        }
        return with(scaled);
    }
}
