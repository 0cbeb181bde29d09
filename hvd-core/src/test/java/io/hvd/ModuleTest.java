package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.ModuleClasses;
import io.hvd.testing.Modules;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Exports;
import java.lang.module.ModuleDescriptor.Provides;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What hvd-core shows to others, as its module-info.java says. That no signature of the API names a type of another package
 * the compiler checks, since its warnings are errors.
 */
class ModuleTest {
    private static final Set<String> API =
            Set.of("io.hvd", "io.hvd.error", "io.hvd.tensor", "io.hvd.tensor.cuda", "io.hvd.junit");

    private static final int MOST_TYPES_IN_THE_FACADE = 25;
    /** Other numbers than these are put here and into CONTRIBUTING.md on purpose, also smaller ones. */
    private static final int PUBLIC_TYPES_OF_THE_API = 47;

    private static final int PUBLIC_TYPES_SEEN_OUTSIDE = 166;

    private static final Pattern MODULE_NAME = Pattern.compile("<Automatic-Module-Name>(.+)</Automatic-Module-Name>");
    private static final Pattern IMPORT = Pattern.compile("^import (?:static )?(io\\.hvd[.a-z]*)\\.[A-Z].*;");

    private final ModuleDescriptor module = read();

    private static ModuleDescriptor read() {
        try (InputStream in = Files.newInputStream(Path.of("target", "classes", "module-info.class"))) {
            return ModuleDescriptor.read(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void theApiIsWhatEverybodySees() {
        assertThat(module.name()).isEqualTo("io.hvd.core");
        assertThat(module.exports().stream().filter(exported -> !exported.isQualified()))
                .extracting(Exports::source)
                .containsExactlyInAnyOrderElementsOf(API);
        assertThat(module.opens()).isEmpty();
    }

    @Test
    void contributingNamesThePackagesOfTheApi() throws IOException {
        String page = Files.readString(Path.of("..", "CONTRIBUTING.md"));
        Matcher list = Pattern.compile("The API is (.+?);").matcher(page);

        assertThat(list.find()).isTrue();
        assertThat(Pattern.compile("`(io[.\\w]*)`")
                        .matcher(list.group(1))
                        .results()
                        .map(found -> found.group(1)))
                .containsExactlyInAnyOrderElementsOf(API);
    }

    @Test
    void servicesAreTheSameOnTheModulePathAndOnTheClassPath() throws IOException {
        Map<String, List<String>> onClassPath = new TreeMap<>();
        for (Path file : files(Path.of("src", "main", "resources", "META-INF", "services"))) {
            onClassPath.put(file.getFileName().toString(), Files.readAllLines(file));
        }
        assertThat(onClassPath).isNotEmpty();
        assertThat(module.provides().stream().collect(Collectors.toMap(Provides::service, Provides::providers)))
                .isEqualTo(onClassPath);
    }

    /** Imports of the other modules' sources; on the class path nothing else would notice. */
    @Test
    void hvdsOtherModulesSeeExactlyWhatTheyUse() {
        Map<String, Set<String>> shown = new TreeMap<>();
        module.exports().stream()
                .filter(Exports::isQualified)
                .forEach(exported -> shown.put(exported.source(), new TreeSet<>(exported.targets())));

        assertThat(used()).isEqualTo(shown);
    }

    /** The names of the modules that use each package which is not of the API. */
    private Map<String, Set<String>> used() {
        Map<String, Set<String>> users = new TreeMap<>();
        Set<String> packages =
                ModuleClasses.all().stream().map(Class::getPackageName).collect(Collectors.toSet());
        for (String folder : Modules.names()) {
            Path root = Path.of("..", folder);
            Matcher name = MODULE_NAME.matcher(text(root.resolve("pom.xml")));
            if (name.find()) {
                imports(root.resolve("src/main/java"))
                        .filter(imported -> packages.contains(imported) && !API.contains(imported))
                        .forEach(imported -> users.computeIfAbsent(imported, added -> new TreeSet<>())
                                .add(name.group(1)));
            }
        }
        return users;
    }

    private static Stream<String> imports(Path root) {
        return files(root).stream()
                .flatMap(file -> text(file).lines())
                .map(IMPORT::matcher)
                .filter(Matcher::matches)
                .map(found -> found.group(1));
    }

    @Test
    void theFacadeStaysSmall() {
        assertThat(outer("io.hvd")).hasSizeLessThanOrEqualTo(MOST_TYPES_IN_THE_FACADE);
    }

    /** The descriptor, as the compiler writes it, names the packages that are exported or provide a service, and no others. */
    @Test
    void thereAreAsManyPublicTypesAsContributingSays() throws IOException {
        List<Class<?>> api =
                API.stream().flatMap(name -> publicTypes(name).stream()).toList();
        List<Class<?>> seenOutside = module.packages().stream()
                .flatMap(name -> publicTypes(name).stream())
                .toList();

        assertThat(api).hasSize(PUBLIC_TYPES_OF_THE_API).contains(Hvd.class);
        assertThat(seenOutside).hasSize(PUBLIC_TYPES_SEEN_OUTSIDE).containsAll(api);
        assertThat(Files.readString(Path.of("..", "CONTRIBUTING.md")))
                .containsIgnoringWhitespaces(
                        "at most " + MOST_TYPES_IN_THE_FACADE + " types in `io.hvd`",
                        PUBLIC_TYPES_OF_THE_API + " public types in the API",
                        PUBLIC_TYPES_SEEN_OUTSIDE + " in all packages that another module sees");
    }

    private static List<Class<?>> publicTypes(String packageName) {
        List<Class<?>> all = new ArrayList<>(outer(packageName));
        all.removeIf(type -> !Modifier.isPublic(type.getModifiers()));
        return all;
    }

    private static List<Class<?>> outer(String packageName) {
        return ModuleClasses.all().stream()
                .filter(type -> type.getPackageName().equals(packageName) && isOuter(type))
                .toList();
    }

    private static boolean isOuter(Class<?> type) {
        return type.getEnclosingClass() == null;
    }

    private static List<Path> files(Path root) {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
