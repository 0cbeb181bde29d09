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
}
