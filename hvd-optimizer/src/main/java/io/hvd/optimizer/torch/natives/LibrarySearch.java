package io.hvd.optimizer.torch.natives;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.Loader;

/**
 * Answers beforehand, for some forty optional libraries of LibTorch's, what JavaCPP would find out slowly. JavaCPP asks the
 * class path for each name of each of them, a dozen times, and with JIT compilation that is a fifth of the processor time of
 * a start. Where no jar has a library, only folders are left to look at, and JavaCPP keeps such an answer by name.
 *
 * <p>Where JavaCPP's table cannot be reached, as on the module path, it searches as before.
 */
final class LibrarySearch {
    private static final String TABLE = "foundLibraries";
    /** A file that each build of LibTorch has: a jar that lists no such folder says nothing about the others either. */
    private static final String ALWAYS_THERE = "libjnitorch.so";

    private static final String SEPARATOR = "\t";

    private final ClassProperties wanted;
    /** Libraries that are in no jar, as JavaCPP names them. */
    private final List<String> names;

    /**
     * @param wanted what LibTorch's classes ask JavaCPP for
     * @param inJars names of the native libraries in all jars that JavaCPP would look at
     */
    LibrarySearch(ClassProperties wanted, Set<String> inJars) {
        this(
                wanted,
                names(wanted).stream().filter(name -> isInNoJar(name, inJars)).toList());
    }

    private LibrarySearch(ClassProperties wanted, List<String> names) {
        this.wanted = wanted;
        this.names = names;
    }

    /** Looks into all jars; empty where JavaCPP has to search by itself. */
    static Optional<LibrarySearch> inJars() {
        try {
            Class<?> presets = org.bytedeco.pytorch.presets.torch.class;
            ClassProperties wanted = Loader.loadProperties(presets, Loader.loadProperties(), true);
            Set<String> inJars = inJars(presets, wanted);
            return inJars.contains(ALWAYS_THERE) ? Optional.of(new LibrarySearch(wanted, inJars)) : Optional.empty();
        } catch (IOException | RuntimeException e) {
            return Optional.empty();
        }
    }

    /** Reads {@link #lines} back; empty if there are none. */
    static Optional<LibrarySearch> of(List<String> lines) {
        if (lines.isEmpty()) {
            return Optional.empty();
        }
        var wanted = new ClassProperties();
        for (String line : lines.subList(1, lines.size())) {
            String[] words = line.split(SEPARATOR);
            wanted.addAll(words[0], List.of(words).subList(1, words.length));
        }
        return Optional.of(new LibrarySearch(wanted, List.of(lines.get(0).split(SEPARATOR))));
    }

    /** All that it knows, but for the folders, which it looks at whenever it is asked. */
    List<String> lines() {
        List<String> lines = new ArrayList<>(List.of(String.join(SEPARATOR, names)));
        wanted.forEach((key, values) -> lines.add(String.join(
                SEPARATOR, Stream.concat(Stream.of(key), values.stream()).toList())));
        return lines;
    }

    /** Fills JavaCPP's table; what LibTorch's classes load afterwards is what they would load without it. */
    void shorten() {
        try {
            fill(table());
        } catch (ReflectiveOperationException | RuntimeException e) {
            return; // then JavaCPP searches by itself
        }
    }

    @SuppressWarnings("unchecked") // JavaCPP's own field, whose type is Map<String, URL[]>
    private static Map<String, URL[]> table() throws ReflectiveOperationException {
        Field field = Loader.class.getDeclaredField(TABLE);
        field.setAccessible(true);
        return (Map<String, URL[]>) field.get(null);
    }

    /** JavaCPP looks into folders alone if it is given no class. */
    void fill(Map<String, URL[]> table) {
        names.forEach(name -> table.computeIfAbsent(name, this::inFolders));
    }

    private URL[] inFolders(String name) {
        return Stream.of(Loader.findLibrary(null, wanted, name))
                .map(NativeFolder::byItsOtherName)
                .toArray(URL[]::new);
    }

    /** As JavaCPP's table has them: an exclamation mark at the end asks for a global symbol table. */
    private static List<String> names(ClassProperties wanted) {
        return Stream.of("platform.preload", "platform.link")
                .flatMap(key -> wanted.get(key).stream())
                .map(name -> name.endsWith("!") ? name.substring(0, name.length() - 1) : name)
                .toList();
    }

    /** Any file whose name begins alike leaves the search to JavaCPP. */
    private static boolean isInNoJar(String name, Set<String> inJars) {
        String begin = begin(name);
        return !name.contains(":") && inJars.stream().noneMatch(file -> file.startsWith(begin));
    }

    private static String begin(String name) {
        String library = System.mapLibraryName(name.replaceFirst("[@#].*", ""));
        return library.substring(0, library.lastIndexOf('.'));
    }

    private static Set<String> inJars(Class<?> presets, ClassProperties wanted) throws IOException {
        List<String> packages = new ArrayList<>(wanted.get("platform.preloadresource"));
        NativeUnpacking.LIBRARIES.forEach(library -> packages.add("/org/bytedeco/" + library + "/"));
        List<String> builds = new ArrayList<>(wanted.get("platform.extension"));
        builds.add("");
        Set<String> names = new HashSet<>();
        for (String folder : packages) {
            for (String build : builds) {
                for (URL found : Loader.findResources(presets, folder + Loader.getPlatform() + build + "/")) {
                    names.addAll(names(found));
                }
            }
        }
        return names;
    }

    private static List<String> names(URL folder) throws IOException {
        URLConnection connection = folder.openConnection();
        if (connection instanceof JarURLConnection inJar) {
            String prefix = inJar.getEntryName();
            return inJar.getJarFile().stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith(prefix))
                    .map(name -> name.substring(prefix.length()))
                    .toList();
        }
        String[] names = new File(folder.getPath()).list();
        return List.of(names == null ? new String[0] : names);
    }
}
