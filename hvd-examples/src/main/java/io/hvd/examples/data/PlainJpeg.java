package io.hvd.examples.data;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A JPEG file that can be decoded in one way only: its colours are decided by the rules of libjpeg, which Pillow and torchvision
 * decode with, and written down in a segment of Adobe's. Other segments that applications add go: Java would convert
 * the colours by a profile, guess otherwise than libjpeg where there is no segment, and refuse some that are harmless.
 *
 * @param bytes the file, as it is given to Java's decoder; four bands it decodes as they are stored
 */
@SuppressWarnings("ArrayRecordComponent")
record PlainJpeg(byte[] bytes, Colours colours) {
    private static final int MARKER = 0xff;
    private static final int START = 0xd8;
    private static final int END = 0xd9;
    private static final int SCAN = 0xda;
    private static final int FIRST_APPLICATION = 0xe0;
    private static final int ADOBE = 0xee;
    private static final int LAST_APPLICATION = 0xef;
    private static final int COMMENT = 0xfe;
    private static final byte[] ADOBE_NAME = "Adobe".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] JFIF_NAME = {'J', 'F', 'I', 'F', 0};
    private static final int TRANSFORM_AT = 11;

    /** The colours of a file's bands, and Java's number for them. */
    enum Colours {
        GREY(0),
        RGB(0),
        YCC(1),
        CMYK(0),
        /** As CMYK for Java, whose decoder does not convert it; {@link JpegImage} does. */
        YCCK(0);

        private final int transform;

        Colours(int transform) {
            this.transform = transform;
        }
    }

    static boolean isJpeg(byte[] file) {
        return file.length > 2 && (file[0] & 0xff) == MARKER && (file[1] & 0xff) == START && (file[2] & 0xff) == MARKER;
    }

    /** @throws IOException that says what is wrong, without the file's name */
    static PlainJpeg of(byte[] file) throws IOException {
        ByteArrayOutputStream kept = new ByteArrayOutputStream(file.length);
        byte[] names = null;
        boolean jfif = false;
        int adobe = -1;
        ByteBuffer at = ByteBuffer.wrap(file).position(2);
        for (int marker = nextMarker(at); marker != SCAN; marker = nextMarker(at)) {
            byte[] segment = segment(at);
            if (marker == FIRST_APPLICATION && begins(segment, JFIF_NAME)) {
                jfif = true;
            } else if (marker == ADOBE && begins(segment, ADOBE_NAME) && segment.length > TRANSFORM_AT) {
                adobe = segment[TRANSFORM_AT] & 0xff;
            } else if (isFrame(marker)) {
                names = names(segment);
            }
            if (!(marker >= FIRST_APPLICATION && marker <= LAST_APPLICATION) && marker != COMMENT) {
                write(kept, marker, segment);
            }
        }
        if (names == null) {
            throw new IOException("its first scan precedes its frame");
        }
        requireEnd(file, at.position());
        Colours colours = colours(names, jfif, adobe);
        ByteArrayOutputStream whole = new ByteArrayOutputStream(file.length);
        whole.write(MARKER);
        whole.write(START);
        if (colours != Colours.GREY) {
            write(whole, ADOBE, adobe(colours.transform));
        }
        kept.writeTo(whole);
        whole.write(file, at.position() - 2, file.length - at.position() + 2);
        return new PlainJpeg(whole.toByteArray(), colours);
    }

    /** Checks for the last marker; Java would make grey pixels of what is missing. Among pixels 0xff precedes other bytes. */
    private static void requireEnd(byte[] file, int from) throws EOFException {
        for (int i = from; i + 1 < file.length; i++) {
            if ((file[i] & 0xff) == MARKER && (file[i + 1] & 0xff) == END) {
                return;
            }
        }
        throw new EOFException("it ends at byte " + file.length + ", before its last pixel");
    }

    /** Any number of bytes 0xff may fill the place before a marker. */
    private static int nextMarker(ByteBuffer at) throws IOException {
        int marker = unsigned(at);
        if (marker != MARKER) {
            throw new IOException("found byte " + marker + " at place " + (at.position() - 1) + ", expected a marker");
        }
        while (marker == MARKER) {
            marker = unsigned(at);
        }
        return marker;
    }

    private static int unsigned(ByteBuffer at) throws EOFException {
        if (!at.hasRemaining()) {
            throw new EOFException("it ends at byte " + at.position() + ", before its pixels");
        }
        return at.get() & 0xff;
    }

    private static byte[] segment(ByteBuffer at) throws IOException {
        int length = (unsigned(at) << 8 | unsigned(at)) - 2;
        if (length < 0 || length > at.remaining()) {
            throw new EOFException("it ends at byte " + at.limit() + ", before its pixels");
        }
        byte[] segment = new byte[length];
        at.get(segment);
        return segment;
    }

    private static void write(ByteArrayOutputStream to, int marker, byte[] segment) {
        to.write(MARKER);
        to.write(marker);
        to.write(segment.length + 2 >> 8);
        to.write(segment.length + 2);
        to.writeBytes(segment);
    }

    private static byte[] adobe(int transform) {
        byte[] segment = new byte[TRANSFORM_AT + 1];
        System.arraycopy(ADOBE_NAME, 0, segment, 0, ADOBE_NAME.length);
        segment[6] = 100; // the version
        segment[TRANSFORM_AT] = (byte) transform;
        return segment;
    }

    private static boolean begins(byte[] segment, byte[] name) {
        return segment.length >= name.length && Arrays.equals(segment, 0, name.length, name, 0, name.length);
    }

    /** Start of frame, of which 0xc4, 0xc8 and 0xcc are tables and an extension. */
    private static boolean isFrame(int marker) {
        return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    }

    /** The numbers by which a frame names its bands. */
    private static byte[] names(byte[] frame) throws IOException {
        int count = frame.length > 5 ? frame[5] & 0xff : 0;
        if (frame.length < 6 + 3 * count) {
            throw new IOException("its frame has " + frame.length + " bytes, expected " + (6 + 3 * count));
        }
        byte[] names = new byte[count];
        for (int i = 0; i < count; i++) {
            names[i] = frame[6 + 3 * i];
        }
        return names;
    }

    /** As {@code default_decompress_parms} of libjpeg does. @param adobe its number for the colours, or -1 */
    private static Colours colours(byte[] names, boolean jfif, int adobe) throws IOException {
        boolean red = Arrays.equals(names, new byte[] {'R', 'G', 'B'});
        return switch (names.length) {
            case 1 -> Colours.GREY;
            case 3 -> !jfif && (adobe == 0 || (adobe < 0 && red)) ? Colours.RGB : Colours.YCC;
            case 4 -> adobe > 0 ? Colours.YCCK : Colours.CMYK;
            default -> throw new IOException("it has " + names.length + " bands of colours, expected 1, 3 or 4");
        };
    }
}
