package io.hvd.examples.volume;

/**
 * A volume and the mask of what is to be found in it.
 *
 * @param name of the image, such as {@code img3}, for files and messages
 * @param label 0 where there is nothing, any other value elsewhere
 */
record LabelledVolume(String name, Volume image, Volume label) {
    LabelledVolume {
        if (!image.hasSizesOf(label)) {
            throw new IllegalArgumentException("the label of " + name + " has " + label.sizes() + " voxels, expected "
                    + image.sizes() + " as the image");
        }
    }

    /**
     * Maps the image's values to 0..1, and leaves the label as it is.
     *
     * @throws IllegalArgumentException that names the first voxel which is infinite or not a number
     */
    LabelledVolume scaled() {
        float[] voxels = image.voxels();
        for (int i = 0; i < voxels.length; i++) {
            if (!Float.isFinite(voxels[i])) {
                throw new IllegalArgumentException(
                        "voxel " + i + " of " + name + " is " + voxels[i] + ", expected a finite number");
            }
        }
        return new LabelledVolume(name, image.scaledToUnit(), label);
    }
}
