package io.hvd.examples.data;

import java.awt.Color;
import java.awt.color.ColorSpace;
import java.awt.color.ICC_Profile;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;
import javax.imageio.ImageIO;

/** Writes small files as CIFAR-10 has them, binary ones and JPEG folders. */
public final class CifarFiles {
    static final int SIDE = 32;

    private CifarFiles() {}

    /** Records with these labels; the pixels of a record are all {@code 10 * its label}, red; one more green; two more blue. */
    static void writeBatch(Path file, int... labels) throws IOException {
        byte[] bytes = new byte[labels.length * CifarBatches.RECORD_BYTES];
        int at = 0;
        for (int label : labels) {
            bytes[at++] = (byte) label;
            for (int i = 0; i < 3 * SIDE * SIDE; i++) {
                bytes[at++] = (byte) (10 * label + i / (SIDE * SIDE));
            }
        }
        Files.write(file, bytes);
    }

    /** One image of one colour. */
    static void writeJpeg(Path file, Color colour, int width, int height) throws IOException {
        BufferedImage image = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
        for (int i = 0; i < width * height; i++) {
            image.setRGB(i % width, i / width, colour.getRGB());
        }
        write(image, file);
    }

    /** A colour image whose colour profile is that of a grey one, which Java refuses with an IllegalArgumentException. */
    public static void writeJpegWithGreyProfile(Path file) throws IOException {
        writeJpeg(file, Color.RED, SIDE, SIDE);
        byte[] jpeg = Files.readAllBytes(file);
        byte[] profile = ICC_Profile.getInstance(ColorSpace.CS_GRAY).getData();
        byte[] name = "ICC_PROFILE\0".getBytes(StandardCharsets.US_ASCII);
        ByteBuffer marked = ByteBuffer.allocate(jpeg.length + 6 + name.length + profile.length);
        marked.put(jpeg, 0, 2).putShort((short) 0xffe2).putShort((short) (4 + name.length + profile.length));
        marked.put(name).put((byte) 1).put((byte) 1).put(profile).put(jpeg, 2, jpeg.length - 2);
        Files.write(file, marked.array());
    }

    static void writeGreyJpeg(Path file, int grey) throws IOException {
        BufferedImage image = new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_BYTE_GRAY);
        for (int i = 0; i < SIDE * SIDE; i++) {
            image.getRaster().setSample(i % SIDE, i / SIDE, 0, grey);
        }
        write(image, file);
    }

    /** Folders {@code train} and {@code test} with noisy images of three classes that differ in their colour. */
    public static void writeFolders(Path folder, int trainPerClass, int testPerClass) throws IOException {
        writeFolder(folder.resolve("train"), trainPerClass);
        writeFolder(folder.resolve("test"), testPerClass);
    }

    static void writeFolder(Path folder, int perClass) throws IOException {
        String[] classes = {"blue", "green", "red"};
        Random random = new Random(folder.getFileName().toString().hashCode());
        for (int label = 0; label < classes.length; label++) {
            Path classFolder = Files.createDirectories(folder.resolve(classes[label]));
            for (int i = 0; i < perClass; i++) {
                writeNoisy(classFolder.resolve(String.format(Locale.ROOT, "%03d.jpg", i)), 8 * label, random);
            }
        }
    }

    /** @param shift of the colour that is strong: 0 blue, 8 green, 16 red */
    private static void writeNoisy(Path file, int shift, Random random) throws IOException {
        BufferedImage image = new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_INT_RGB);
        for (int i = 0; i < SIDE * SIDE; i++) {
            int noise = random.nextInt(0x1000000) & 0x3f3f3f;
            image.setRGB(i % SIDE, i / SIDE, noise + (0x60 << shift));
        }
        write(image, file);
    }

    private static void write(BufferedImage image, Path file) throws IOException {
        if (!ImageIO.write(image, "jpg", file.toFile())) {
            throw new IOException("no writer of JPEG files here");
        }
    }
}
