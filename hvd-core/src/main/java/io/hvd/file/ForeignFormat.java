package io.hvd.file;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Knows files by their first bytes: those that people have in place of the one that they mean. A download may have ended as a
 * page of words, a repository may hold a pointer, and Python's programs have formats of their own.
 *
 * @param at where the bytes stand in the file
 * @param bytes by which it is known
 * @param words that follow "it", with what to do
 */
record ForeignFormat(int at, byte[] bytes, String words) {
    private static final String AGAIN = ": download the file itself again";
    private static final String UNPACK = ": unpack it first";
    private static final String TO_SAFETENSORS =
            ": in Python, load it and write its tensors with safetensors.torch.save_file";
    private static final String SAVED_BY_TORCH = "was written by torch.save" + TO_SAFETENSORS;

    private static final List<ForeignFormat> KNOWN = List.of(
            hex(0, "8002 8a0a 6cfc 9c46 f920 6aa8 5019", SAVED_BY_TORCH),
            hex(0, "8002", "is a pickle of Python's" + TO_SAFETENSORS),
            hex(0, "8003", "is a pickle of Python's" + TO_SAFETENSORS),
            hex(0, "8004 95", "is a pickle of Python's" + TO_SAFETENSORS),
            hex(0, "8005 95", "is a pickle of Python's" + TO_SAFETENSORS),
            hex(0, "504b 0506", "is an empty zip archive" + AGAIN),
            hex(0, "1f8b", "is compressed with gzip" + UNPACK),
            text(0, "BZh", "is compressed with bzip2" + UNPACK),
            hex(0, "fd37 7a58 5a00", "is compressed with xz" + UNPACK),
            hex(0, "28b5 2ffd", "is compressed with zstd" + UNPACK),
            hex(0, "377a bcaf 271c", "is a 7z archive" + UNPACK),
            text(257, "ustar", "is a tar archive" + UNPACK),
            hex(0, "8948 4446 0d0a 1a0a", "is an HDF5 file, as Keras and h5py write them" + TO_SAFETENSORS),
            text(0, "GGUF", "is a GGUF file, llama.cpp's format" + TO_SAFETENSORS),
            hex(0, "934e 554d 5059", "is an array of numpy (.npy)"),
            text(4, "TFL3", "is a model of TensorFlow Lite"),
            text(0, "PAR1", "is a Parquet file"),
            text(0, "ARROW1", "is an Arrow file"),
            text(0, "SQLite format 3", "is an SQLite database"),
            text(344, "n+1", "is a NIfTI-1 volume"),
            text(344, "ni1", "is the header of a NIfTI-1 volume in two files"),
            hex(0, "0000 0801", "is an IDX file of labels, as MNIST's"),
            hex(0, "0000 0803", "is an IDX file of images, as MNIST's"),
            hex(0, "8950 4e47 0d0a 1a0a", "is a PNG image"),
            hex(0, "ffd8 ff", "is a JPEG image"),
            text(0, "GIF8", "is a GIF image"),
            text(8, "WEBP", "is a WebP image"),
            hex(0, "4949 2a00", "is a TIFF image"),
            hex(0, "4d4d 002a", "is a TIFF image"),
            text(0, "%PDF", "is a PDF document"),
            hex(0, "7f45 4c46", "is a program or library of Linux"),
            hex(0, "cafe babe", "is a class of Java"));

    /** The beginning of a model: field 1, its version, then 2, the name of the program that wrote it, or 7, its graph. */
    private static final Pattern ONNX =
            Pattern.compile("\\x08[\\x03-\\x14](?:\\x12[\\x01-\\x40][ -~]|:).*", Pattern.DOTALL);

    private static final Pattern SAFETENSORS = Pattern.compile(".{5}\\x00{3}\\{\".*", Pattern.DOTALL);
    private static final Pattern LFS = Pattern.compile(
            "version https://(?:git-lfs\\.github\\.com|hawser\\.github\\.com)/spec/.*?(?:\nsize (\\d{1,18}))?\\s*",
            Pattern.DOTALL);
    private static final Pattern PAGE = Pattern.compile("<(!doctype html|html|head|body)\\b.*", Pattern.DOTALL);

    /** The header of a file in the archive, whose name stands at byte 30. */
    private static final String ZIP = "PK\3\4";

    private static final int ZIP_NAME = 30;
    private static final int ZIP_NAME_LENGTH = 26;
    private static final int SHOWN = 60;

    private static ForeignFormat hex(int at, String digits, String words) {
        return new ForeignFormat(at, HexFormat.of().parseHex(digits.replace(" ", "")), words);
    }

    private static ForeignFormat text(int at, String text, String words) {
        return new ForeignFormat(at, text.getBytes(StandardCharsets.US_ASCII), words);
    }

    /** @param first bytes of the file from its beginning, all of them if it has no more than the buffer holds */
    static Optional<String> of(ByteBuffer first) {
        if (!first.hasRemaining()) {
            return Optional.of("is empty: its writing or its download has not been finished");
        }
        byte[] bytes = new byte[first.remaining()];
        first.get(first.position(), bytes);
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        if (text.startsWith(ZIP)) {
            return Optional.of(zip(bytes));
        }
        if (text.chars().allMatch(c -> c == 0)) {
            return Optional.of(
                    "begins with " + bytes.length + " zeros: its download or its copy has not been finished");
        }
        if (SAFETENSORS.matcher(text).matches()) {
            return Optional.of("is a safetensors file");
        }
        return KNOWN.stream()
                .filter(format -> isAt(format.at, format.bytes, bytes))
                .map(ForeignFormat::words)
                .findFirst()
                .or(() -> ONNX.matcher(text).matches() ? Optional.of("is an ONNX model") : words(text));
    }

    private static boolean isAt(int at, byte[] wanted, byte[] bytes) {
        for (int i = 0; i < wanted.length; i++) {
            if (at + i >= bytes.length || bytes[at + i] != wanted[i]) {
                return false;
            }
        }
        return true;
    }

    private static String zip(byte[] bytes) {
        int length = bytes.length < ZIP_NAME ? 0 : bytes[ZIP_NAME_LENGTH] & 0xff;
        int end = Math.min(bytes.length, ZIP_NAME + length);
        String name = end > ZIP_NAME ? new String(bytes, ZIP_NAME, end - ZIP_NAME, StandardCharsets.ISO_8859_1) : "";
        if (name.endsWith(".pkl") || name.endsWith("/byteorder") || name.endsWith("/.format_version")) {
            return SAVED_BY_TORCH;
        }
        if (name.endsWith(".npy")) {
            return "is an .npz archive of numpy: write its arrays with safetensors.numpy.save_file";
        }
        return "is a zip archive, which begins with \"" + name + "\"" + UNPACK;
    }

    /** Files that are texts. */
    private static Optional<String> words(String text) {
        String plain = text.startsWith("\u00ef\u00bb\u00bf") ? text.substring(3) : text;
        Matcher lfs = LFS.matcher(plain);
        if (lfs.matches()) {
            String of = lfs.group(1) == null ? "" : " of " + lfs.group(1) + " bytes";
            return Optional.of("is a pointer of Git LFS to the file" + of
                    + ", not the file itself: run \"git lfs pull\" in" + " its repository, or download it");
        }
        if (plain.startsWith("/annex/objects/") || plain.startsWith("../.git/annex/objects/")) {
            return Optional.of(
                    "is a pointer of git-annex, not the file itself: run \"git annex get\" in its repository");
        }
        String begin = plain.strip().toLowerCase(Locale.ROOT);
        if (PAGE.matcher(begin).matches()) {
            return Optional.of("is an HTML page, such as a server's error or its request to log in" + AGAIN);
        }
        if (begin.startsWith("<?xml") || begin.startsWith("<error>")) {
            return Optional.of("is XML, such as a store's refusal" + AGAIN);
        }
        if (begin.startsWith("{") && begin.contains("\"weight_map\"")) {
            return Optional.of("is the index of a checkpoint in several files: read each of the files that it names");
        }
        boolean isText = plain.chars().allMatch(c -> c >= ' ' && c <= '~' || c == '\n' || c == '\r' || c == '\t');
        String line = plain.strip().lines().findFirst().orElse("");
        return isText
                ? Optional.of(
                        "is a text that begins with \"" + line.substring(0, Math.min(SHOWN, line.length())) + "\"")
                : Optional.empty();
    }
}
