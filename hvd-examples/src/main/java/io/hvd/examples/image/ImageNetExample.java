package io.hvd.examples.image;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.data.Lazy;
import io.hvd.examples.data.PhotoSets;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** A residual net on ImageNet, on another folder of images laid out like it, or on images that the program draws. */
public final class ImageNetExample implements Example {
    static final String NAME = "imagenet";

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String summary() {
        return "ResNet-50 on a folder of JPEG and PNG files of any sizes, or on images drawn by the program";
    }

    @Override
    public Options flags() {
        return ImageNetOptions.flags();
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        ImageNetOptions options = ImageNetOptions.from(line);
        Callable<PhotoSets> photos = new Lazy<>(() -> options.data().open(options.seed()));
        return hvd -> {
            new ImageNetTraining(hvd, options, photos.call()).run();
            return 0;
        };
    }
}
