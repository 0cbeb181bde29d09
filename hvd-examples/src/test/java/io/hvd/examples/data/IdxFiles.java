package io.hvd.examples.data;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.zip.GZIPOutputStream;

/** Writes small IDX files, sound ones and others. */
public final class IdxFiles {

    private static final int IMAGES = 0x00000803;
    private static final int LABELS = 0x00000801;

    private IdxFiles() {}

    /** Images of 2x3 pixels; pixel p of image i is {@code 10 * i + p}. */
    static byte[] images(int count) {
        byte[] values = new byte[count * 6];
        for (int i = 0; i < values.length; i++) {
            values[i] = (byte) (10 * (i / 6) + i % 6);
        }
        return bytes(values, IMAGES, count, 2, 3);
    }

    static byte[] labels(int... labels) {
        byte[] values = new byte[labels.length];
        for (int i = 0; i < labels.length; i++) {
            values[i] = (byte) labels[i];
        }
        return bytes(values, LABELS, labels.length);
    }

    static byte[] bytes(byte[] values, int... header) {
        ByteBuffer file = ByteBuffer.allocate(4 * header.length + values.length);
        for (int number : header) {
            file.putInt(number);
        }
        return file.put(values).array();
    }

    static byte[] gzip(byte[] content) throws IOException {
        var zipped = new ByteArrayOutputStream();
        try (var out = new GZIPOutputStream(zipped)) {
            out.write(content);
        }
        return zipped.toByteArray();
    }

    /** Square images on which there is nothing but noise, always the same, with the labels 0 to 9 in turns. */
    public static void writeNoise(Path directory, String part, int count, int side) throws IOException {
        byte[] pixels = new byte[count * side * side];
        new Random(part.hashCode()).nextBytes(pixels);
        byte[] labels = new byte[count];
        for (int i = 0; i < count; i++) {
            labels[i] = (byte) (i % 10);
        }
        Files.write(directory.resolve(part + "-images-idx3-ubyte"), bytes(pixels, IMAGES, count, side, side));
        Files.write(directory.resolve(part + "-labels-idx1-ubyte"), bytes(labels, LABELS, count));
    }

    /** Images and as many labels 0, 1, 2 ..., uncompressed. */
    static void write(Path directory, String part, int count) throws IOException {
        int[] labels = new int[count];
        for (int i = 0; i < count; i++) {
            labels[i] = i % 10;
        }
        Files.write(directory.resolve(part + "-images-idx3-ubyte"), images(count));
        Files.write(directory.resolve(part + "-labels-idx1-ubyte"), labels(labels));
    }
}
