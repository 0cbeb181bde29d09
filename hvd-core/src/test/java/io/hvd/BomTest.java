package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Modules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The BOM sees no parent POM, so its versions stand there twice. */
class BomTest {
    private static final Path ROOT = Path.of("..");
    private static final Path BOM = Path.of("bom", "pom.xml");
    private static final Pattern PLUGIN =
            Pattern.compile("<artifactId>(maven-\\w+-plugin)</artifactId>\\s*<version>(.+?)</version>");

    private static String read(Path file) throws IOException {
        return Files.readString(file);
    }

    private static String first(String pattern, String text) {
        Matcher found = Pattern.compile(pattern).matcher(text);
        assertThat(found.find()).as(pattern).isTrue();
        return found.group(1);
    }

    @Test
    void itHasTheVersionOfTheProjectAndAllJarsThatAreDeployed() throws IOException {
        String bom = read(BOM);
        String parent = read(ROOT.resolve("pom.xml"));
        String version = "<version>(.+?)</version>";
        assertThat(first(version, bom)).isEqualTo(first(version, parent));

        for (String module : Modules.names()) {
            String pom = read(ROOT.resolve(module).resolve("pom.xml"));
            String own = pom.substring(Math.max(0, pom.indexOf("</parent>")));
            boolean isJar = !pom.contains("<packaging>pom</packaging>");
            boolean isDeployed = !pom.contains("<maven.deploy.skip>true</maven.deploy.skip>");
            String entry = "<artifactId>" + first("<artifactId>(.+?)</artifactId>", own) + "</artifactId>";
            assertThat(bom.contains(entry) && isJar).as(entry).isEqualTo(isJar && isDeployed);
        }
    }

    @Test
    void itsPluginsAreTheParentsAndItsHomeToo() throws IOException {
        String bom = read(BOM);
        String parent = read(ROOT.resolve("pom.xml"));
        Map<String, String> found = new TreeMap<>();
        Matcher plugin = PLUGIN.matcher(bom);
        while (plugin.find()) {
            found.put(plugin.group(1), plugin.group(2));
        }
        assertThat(found).isNotEmpty();
        found.forEach((name, version) -> {
            String property =
                    first("<artifactId>" + name + "</artifactId>\\s*<version>\\$\\{(.+?)\\}</version>", parent);
            assertThat(first("<" + property + ">(.+?)</" + property + ">", parent))
                    .as(name)
                    .isEqualTo(version);
        });
        assertThat(first("<url>(.+?)</url>", bom)).isEqualTo(first("<hvd.url>(.+?)</hvd.url>", parent));
    }
}
