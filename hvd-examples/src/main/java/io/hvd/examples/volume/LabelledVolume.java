package io.hvd.examples.volume;

/**
 * A volume and the mask of what is to be found in it.
 *
 * @param name of the image, such as {@code img3}, for files and messages
 * @param label 0 where there is nothing, any other value elsewhere
 */
record LabelledVolume(String name, Volume image, Volume label) {
    /** The deviation from a whole number that a scale of the file may leave. */
    private static final float ROUNDING = 1e-4f;

    LabelledVolume {
        if (!image.hasSizesOf(label)) {
            throw new IllegalArgumentException("the label of " + name + " has " + label.sizes() + " voxels, expected "
                    + image.sizes() + " as the image");
        }
    }

    /**
     * Maps the image's values to 0..1, and leaves the label as it is.
     *
     * @throws IllegalArgumentException that names the first voxel of the image which is infinite or not a number, or of the label
     *     which is no whole number of at least 0, as a probability is
     */
    LabelledVolume scaled() {
        float[] voxels = image.voxels();
        for (int i = 0; i < voxels.length; i++) {
            if (!Float.isFinite(voxels[i])) {
                throw new IllegalArgumentException(
                        "voxel " + i + " of " + name + " is " + voxels[i] + ", expected a finite number");
            }
        }
        requireLabels();
        return new LabelledVolume(name, image.scaledToUnit(), label);
    }

    private void requireLabels() {
        float[] labels = label.voxels();
        for (int i = 0; i < labels.length; i++) {
            float whole = (float) Math.rint(labels[i]);
            if (!(whole >= 0 && whole < Float.POSITIVE_INFINITY && Math.abs(labels[i] - whole) <= ROUNDING * whole)) {
                throw new IllegalArgumentException("voxel " + i + " of the label of " + name + " is " + labels[i]
                        + ", expected a whole number of at least 0");
            }
        }
    }
}
