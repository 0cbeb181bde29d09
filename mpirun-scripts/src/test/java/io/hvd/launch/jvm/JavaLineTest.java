package io.hvd.launch.jvm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class JavaLineTest {

    @Test
    void onlyACommandThatStartsJavaIsOne() {
        assertThat(JavaLine.of(List.of("python3", "x.py"), Map.of())).isEmpty();
        assertThat(JavaLine.of(List.of("env", "java", "-version"), Map.of())).isEmpty();
        assertThat(JavaLine.of(List.of("/opt/jdk/bin/java", "Main"), Map.of())).isPresent();
    }

    @Test
    void flagsEndWhereTheProgramBegins() {
        assertThat(line("java -Xmx1g --add-opens a/b=c -jar t.jar -cp x").flags())
                .containsExactly("-Xmx1g", "--add-opens", "a/b=c");
        assertThat(line("java -cp a:b Main -Xmx1g").rest()).containsExactly("Main", "-Xmx1g");
        assertThat(line("java --enable-native-access ALL-UNNAMED -m m/Main").rest())
                .containsExactly("-m", "m/Main");
        assertThat(line("java -cp").flags()).containsExactly("-cp");
    }

    @Test
    void addedFlagsStandBeforeTheUsers() {
        assertThat(line("java -Xmx1g -jar t.jar a").with(List.of("-XX:+UseSerialGC")))
                .containsExactly("java", "-XX:+UseSerialGC", "-Xmx1g", "-jar", "t.jar", "a");
    }

    @Test
    void theClassPathIsTheJarOrTheLastFlagOrTheVariable() {
        Map<String, String> environment = Map.of("CLASSPATH", "v");

        assertThat(line("java -cp a -jar t.jar").classPath(environment)).contains("t.jar");
        assertThat(line("java -cp a --class-path=b Main").classPath(environment))
                .contains("b");
        assertThat(line("java --class-path=b -classpath c Main").classPath(environment))
                .contains("c");
        assertThat(line("java --add-opens -cp -cp d Main").classPath(environment))
                .contains("d");
        assertThat(line("java Main").classPath(environment)).contains("v");
        assertThat(line("java -p mods -m m/Main").classPath(environment)).isEmpty();
        assertThat(line("java -version").classPath(Map.of())).isEmpty();
    }

    @Test
    void flagsInTheEnvironmentAreTheUsersToo() {
        JavaLine line = JavaLine.of(
                        List.of("java", "-jar", "t.jar"),
                        Map.of("JDK_JAVA_OPTIONS", " -XX:+UseG1GC  -Xmx1g", "JAVA_TOOL_OPTIONS", "-ea"))
                .orElseThrow();

        assertThat(line.has("-XX:+UseG1GC"::equals)).isTrue();
        assertThat(line.has("-ea"::equals)).isTrue();
        assertThat(line.has("-jar"::equals)).isFalse();
    }

    @Test
    void aFileOfArgumentsIsNoticedBeforeTheProgramOnly() {
        assertThat(line("java @flags Main").readsArguments()).isTrue();
        assertThat(line("java -Xmx1g @flags").readsArguments()).isTrue();
        assertThat(line("java Main @data").readsArguments()).isFalse();
    }

    @Test
    void aSubcommandIsAPlainFirstWord() {
        assertThat(line("java -jar t.jar digits --epochs 1").subcommand()).isEqualTo("digits");
        assertThat(line("java -cp a Main mnist").subcommand()).isEqualTo("mnist");
        assertThat(line("java -jar t.jar --epochs 1").subcommand()).isEmpty();
        assertThat(line("java -jar t.jar data/mnist.bin").subcommand()).isEmpty();
        assertThat(line("java -jar t.jar").subcommand()).isEmpty();
    }

    private static JavaLine line(String words) {
        return JavaLine.of(List.of(words.split(" ")), Map.of()).orElseThrow();
    }
}
