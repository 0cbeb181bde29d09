package io.hvd.examples.data;

import io.hvd.file.RegularFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * Images of CIFAR-10's binary files, kept as bytes and normalised one by one when they are read. A record is one byte
 * with the class and 3 times 32x32 bytes with the pixels, red before green before blue.
 */
final class CifarBatches implements ColourImages {
    static final int RECORD_BYTES = 3073;

    private static final int SIDE = 32;
    private static final int PIXELS = SIDE * SIDE;
    private static final List<String> CLASSES =
            List.of("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck");

    /** The records of each file. */
    private final List<byte[]> records;

    /** The number of the first record of each file. */
    private final int[] starts;

    private final int size;

    private CifarBatches(List<byte[]> records) {
        this.records = records;
        this.starts = new int[records.size()];
        int count = 0;
        for (int file = 0; file < starts.length; file++) {
            starts[file] = count;
            count = Math.addExact(count, records.get(file).length / RECORD_BYTES);
        }
        this.size = count;
    }

    /** The files of a folder whose names match, shorter names first, so that batch 10 comes after batch 9. */
    static List<Path> files(Path folder, String pattern) throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.filter(file -> file.getFileName().toString().matches(pattern))
                    .sorted(Comparator.comparing((Path file) -> file.toString().length())
                            .thenComparing(Comparator.naturalOrder()))
                    .toList();
        }
    }

    static CifarBatches read(List<Path> files) throws IOException {
        List<byte[]> records = new ArrayList<>();
        for (Path file : files) {
            records.add(read(file));
        }
        return new CifarBatches(records);
    }

    private static byte[] read(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(RegularFile.at(file));
        if (bytes.length == 0 || bytes.length % RECORD_BYTES != 0) {
            throw new IOException(file + ": found " + bytes.length + " bytes, expected a multiple of " + RECORD_BYTES
                    + " above 0" + RegularFile.inWords(file));
        }
        for (int at = 0; at < bytes.length; at += RECORD_BYTES) {
            int label = bytes[at] & 0xff;
            if (label >= CLASSES.size()) {
                throw new IOException(file + ": found label " + label + " in record " + at / RECORD_BYTES
                        + ", expected 0.." + (CLASSES.size() - 1) + RegularFile.inWords(file));
            }
        }
        return bytes;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public int rows() {
        return SIDE;
    }

    @Override
    public int columns() {
        return SIDE;
    }

    @Override
    public List<String> classes() {
        return CLASSES;
    }

    @Override
    public ImageSample get(int index) {
        Objects.checkIndex(index, size);
        int file = starts.length - 1;
        while (starts[file] > index) {
            file--;
        }
        byte[] bytes = records.get(file);
        int at = (index - starts[file]) * RECORD_BYTES;
        float[] pixels = new float[ColourScale.CHANNELS * PIXELS];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = ColourScale.ofByte(i / PIXELS, bytes[at + 1 + i] & 0xff);
        }
        return new ImageSample(pixels, bytes[at]);
    }
}
