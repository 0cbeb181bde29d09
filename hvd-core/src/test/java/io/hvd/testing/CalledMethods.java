package io.hvd.testing;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The methods that classes call, read out of their constant pools (JVMS, section 4.4). */
public final class CalledMethods {
    private static final int MAGIC = 0xcafebabe;

    private CalledMethods() {}

    /**
     * By class, what every class in a folder may call.
     *
     * @param classes a folder of class files; nothing is found where it does not exist yet
     */
    public static Map<String, Set<String>> in(Path classes) throws IOException {
        Map<String, Set<String>> called = new TreeMap<>();
        if (!Files.isDirectory(classes)) {
            return called;
        }
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".class")).toList()) {
                String type = classes.relativize(file).toString().replace('\\', '/');
                called.put(type.substring(0, type.length() - ".class".length()), of(Files.readAllBytes(file)));
            }
        }
        return called;
    }

    /** Such as {@code java/lang/System.exit}. */
    public static Set<String> of(Class<?> type) throws IOException {
        try (InputStream bytes =
                type.getResourceAsStream(type.getName().substring(type.getName().lastIndexOf('.') + 1) + ".class")) {
            return of(bytes.readAllBytes());
        }
    }

    private static Set<String> of(byte[] file) throws IOException {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(file))) {
            if (in.readInt() != MAGIC) {
                throw new IOException("no class file");
            }
            in.readInt(); // version
            return new Pool(in).methods();
        }
    }

    /** A constant pool: its texts, and pairs of indices with the kind that they have. */
    private static final class Pool {
        private final String[] texts;
        private final int[] kinds;
        private final int[] first;
        private final int[] second;

        Pool(DataInputStream in) throws IOException {
            int count = in.readUnsignedShort();
            texts = new String[count];
            kinds = new int[count];
            first = new int[count];
            second = new int[count];
            for (int i = 1; i < count; i++) {
                kinds[i] = in.readUnsignedByte();
                i += read(in, i);
            }
        }

        /** @return how many further entries this one takes */
        private int read(DataInputStream in, int i) throws IOException {
            switch (kinds[i]) {
                case 1 -> texts[i] = in.readUTF();
                case 3, 4 -> in.readInt();
                case 5, 6 -> {
                    in.readLong();
                    return 1;
                }
                case 7, 8, 16, 19, 20 -> first[i] = in.readUnsignedShort();
                case 9, 10, 11, 12, 17, 18 -> {
                    first[i] = in.readUnsignedShort();
                    second[i] = in.readUnsignedShort();
                }
                case 15 -> {
                    first[i] = in.readUnsignedByte();
                    second[i] = in.readUnsignedShort();
                }
                default -> throw new IOException("a constant of kind " + kinds[i]);
            }
            return 0;
        }

        Set<String> methods() {
            Set<String> methods = new TreeSet<>();
            for (int i = 1; i < kinds.length; i++) {
                if (kinds[i] == 10 || kinds[i] == 11) {
                    methods.add(texts[first[first[i]]] + "." + texts[first[second[i]]]);
                }
            }
            return methods;
        }
    }
}
