package io.hvd.file;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PushbackInputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.Normalizer;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Reads texts that people write: UTF-8, with or without the byte order mark that some editors put in front. What is in another
 * encoding is refused, with the place of the first byte that is wrong. {@link #clean} takes out of a line what its reader
 * cannot see. Any thread may call it.
 */
public final class TextFile {
    private static final char BYTE_ORDER_MARK = '\ufeff';

    /** Blanks of Unicode, and letters that look like one: the Hangul fillers and Braille without a dot. */
    private static final Pattern BLANKS_OF_ANY_WIDTH = Pattern.compile("[\\p{Zs}\\u115f\\u1160\\u2800\\u3164\\uffa0]");

    private static final Pattern BREAKS_AND_CONTROLS = Pattern.compile("[\\p{Zl}\\p{Zp}\\p{Cc}]");

    /** Zero-width blanks, soft hyphens, byte order marks, directions, tags and choices of emoji's look: nothing inside a word. */
    private static final Pattern UNSEEN =
            Pattern.compile("[\\u00ad\\u034f\\u061c\\u180e\\u200b\\u200e\\u200f\\u202a-\\u202e"
                    + "\\u2060-\\u2064\\u2066-\\u206f\\ufe0e\\ufe0f\\ufeff\\ufff9-\\ufffb\\x{e0000}-\\x{e007f}]");

    /** The joiners of Arabic and Indic scripts and of emoji mean something between two letters only. */
    private static final String NOTHING_AT_AN_END = " \u200c\u200d";

    private TextFile() {}

    /**
     * The whole text as it is, but for a byte order mark.
     *
     * @throws FileSystemException that names the file, and what is wrong in it, if it is no text in UTF-8
     * @throws IOException if it cannot be read
     */
    public static String read(Path file) throws IOException {
        return decode(file, Files.readAllBytes(file));
    }

    /** As {@link #read(Path)} for a file whose bytes are there already. */
    public static String decode(Path file, byte[] bytes) throws FileSystemException {
        requireNoWideText(file, bytes);
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
        ByteBuffer in = ByteBuffer.wrap(bytes);
        CharBuffer out = CharBuffer.allocate(bytes.length);
        CoderResult result = decoder.decode(in, out, true);
        if (result.isError()) {
            throw notUtf8(file, bytes, in.position());
        }
        String text = out.flip().toString();
        return text.isEmpty() || text.charAt(0) != BYTE_ORDER_MARK ? text : text.substring(1);
    }

    /** The lines, which end in LF, CR or both. @throws IOException as {@link #read(Path)} does */
    public static List<String> lines(Path file) throws IOException {
        return read(file).lines().toList();
    }

    /**
     * Opens a text that may be too large for memory, behind a byte order mark. A byte that is no UTF-8 shows later, as a
     * {@link java.nio.charset.CharacterCodingException}.
     *
     * @throws IOException as {@link #read(Path)} does
     */
    public static BufferedReader open(Path file) throws IOException {
        PushbackInputStream in = new PushbackInputStream(Files.newInputStream(file), 3);
        try {
            byte[] first = in.readNBytes(3);
            requireNoWideText(file, first);
            if (!new String(first, StandardCharsets.UTF_8).equals(String.valueOf(BYTE_ORDER_MARK))) {
                in.unread(first);
            }
            return new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8.newDecoder()));
        } catch (IOException | RuntimeException e) {
            in.close();
            throw e;
        }
    }

    /** The text without zero-width characters, and with ordinary blanks in place of those of other widths; tabs and line ends stay. */
    public static String visible(String text) {
        return BLANKS_OF_ANY_WIDTH.matcher(UNSEEN.matcher(text).replaceAll("")).replaceAll(" ");
    }

    /**
     * A word or a line without what cannot be seen: as {@link #visible}, with nothing blank at its ends and ordinary blanks for
     * tabs and control characters. Letters with accents have one form (Unicode's NFC), however they were typed.
     */
    public static String clean(String line) {
        String plain = BREAKS_AND_CONTROLS.matcher(visible(line)).replaceAll(" ");
        int from = 0;
        int to = plain.length();
        while (from < to && NOTHING_AT_AN_END.indexOf(plain.charAt(from)) >= 0) {
            from++;
        }
        while (from < to && NOTHING_AT_AN_END.indexOf(plain.charAt(to - 1)) >= 0) {
            to--;
        }
        return Normalizer.normalize(plain.substring(from, to), Normalizer.Form.NFC);
    }

    /** A text for a message, in which what cannot be seen is written as in Java, such as {@code \u200b}. */
    public static String shown(String text) {
        StringBuilder shown = new StringBuilder();
        text.codePoints().forEach(c -> {
            String one = Character.toString(c);
            boolean unseen = Character.isISOControl(c)
                    || Character.getType(c) == Character.FORMAT
                    || !visible(one).equals(one);
            shown.append(unseen ? String.format(Locale.ROOT, "\\u%04x", c) : one);
        });
        return shown.toString();
    }

    /** UTF-16 and UTF-32 begin with a mark of their own, or have zeros beside the letters that they share with ASCII. */
    private static void requireNoWideText(Path file, byte[] bytes) throws FileSystemException {
        boolean marked = bytes.length >= 2
                && ((bytes[0] == (byte) 0xff && bytes[1] == (byte) 0xfe)
                        || (bytes[0] == (byte) 0xfe && bytes[1] == (byte) 0xff));
        boolean zero = bytes.length >= 2 && (bytes[0] == 0 || bytes[1] == 0);
        if (marked || zero) {
            String wide =
                    (marked ? "it is a text in UTF-16" : "there is a zero among its first two bytes, as in UTF-16")
                            + ", expected UTF-8: iconv -f UTF-16 -t UTF-8 converts it";
            throw new FileSystemException(file.toString(), null, notText(file).orElse(wide));
        }
    }

    private static FileSystemException notUtf8(Path file, byte[] bytes, int at) {
        int line = 1;
        for (int i = 0; i < at; i++) {
            line += bytes[i] == '\n' ? 1 : 0;
        }
        String other = String.format(
                Locale.ROOT,
                "it is not a text in UTF-8: found byte 0x%02x in line %d; if it is ISO-8859-1 or Windows-1252, "
                        + "iconv -f WINDOWS-1252 -t UTF-8 converts it",
                bytes[at] & 0xff,
                line);
        return new FileSystemException(file.toString(), null, notText(file).orElse(other));
    }

    /** Recognises a file that has turned out to be no text, such as an archive. */
    private static Optional<String> notText(Path file) {
        return RegularFile.recognise(file).map(what -> "it " + what + "; expected a text in UTF-8");
    }
}
