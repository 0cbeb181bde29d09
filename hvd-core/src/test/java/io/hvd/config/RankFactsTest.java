package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.testing.DamagedMessages;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RankFactsTest {
    private static RankFacts facts(String... keysAndValues) {
        TreeMap<String, String> values = new TreeMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            values.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return new RankFacts(values);
    }

    @Test
    void aDifferenceListsEachValueWithItsRanksAndThoseWithoutOne() {
        RankFacts plain = facts();
        assertThat(RankFacts.differences(List.of(plain, facts("HOROVOD_CACHE_CAPACITY", "0"), plain, plain)))
                .containsExactly("HOROVOD_CACHE_CAPACITY: \"0\" on ranks {1}; absent on ranks {0, 2, 3}");
    }

    @Test
    void differencesComeByKeyAndTheirValuesByTheLowestRank() {
        assertThat(RankFacts.differences(List.of(
                        facts("b", "z", "same", "x"),
                        facts("a", "1", "b", "y", "same", "x"),
                        facts("a", "1", "b", "z", "same", "x"))))
                .containsExactly(
                        "a: \"1\" on ranks {1, 2}; absent on ranks {0}",
                        "b: \"z\" on ranks {0, 2}; \"y\" on ranks {1}");
    }

    @Test
    void ranksOfOneProcessDoNotDiffer() {
        RankFacts own = RankFacts.gather(Map.of("HOROVOD_CYCLE_TIME", "3"));
        assertThat(RankFacts.differences(List.of(own, own, RankFacts.of(own.toBytes()))))
                .isEmpty();
        assertThat(RankFacts.differences(List.of(own))).isEmpty();
        assertThat(RankFacts.differences(List.of())).isEmpty();
    }

    @Test
    void anotherUpdateOfTheSameJavaIsHarmlessAndAnotherMajorVersionIsNot() {
        RankFacts here = RankFacts.gather(Map.of());
        RankFacts update = here.with("Java version", "17.0.99");
        assertThat(RankFacts.differences(List.of(here, update))).isEmpty();
        assertThat(RankFacts.harmlessDifferences(List.of(here, update)))
                .singleElement()
                .asString()
                .contains("Java version", Runtime.version().toString(), "{0}", "17.0.99", "{1}");
        assertThat(RankFacts.harmlessDifferences(List.of(here, here))).isEmpty();

        RankFacts major = here.with("Java major version", "99");
        assertThat(RankFacts.differences(List.of(here, major)))
                .singleElement()
                .asString()
                .contains("Java major version", "\"99\" on ranks {1}");
    }

    /** A value that is right and not the default. */
    private static String other(Setting setting) {
        return Stream.of("mpi", "info", "0", "5000", "1", "2", "off", "node1:29400", "20000-20099")
                .filter(value -> isRight(setting, value) && !value.equals(setting.defaultValue()))
                .findFirst()
                .orElseThrow();
    }

    private static boolean isRight(Setting setting, String value) {
        try {
            HvdConfig.from(Map.of(setting.variable(), value));
            return true;
        } catch (HvdException bad) {
            return false;
        }
    }

    @ParameterizedTest
    @EnumSource(Setting.class)
    void onlySettingsOfTheWholeJobAreCompared(Setting setting) {
        RankFacts with = RankFacts.gather(Map.of(setting.variable(), " " + other(setting) + " "));
        RankFacts without = RankFacts.gather(Map.of());
        if (setting.scope() == Setting.Scope.JOB) {
            assertThat(RankFacts.differences(List.of(with, without)))
                    .singleElement()
                    .asString()
                    .startsWith(setting.variable() + ": \"")
                    .endsWith("\" on ranks {0}; absent on ranks {1}");
        } else {
            assertThat(with).isEqualTo(without);
        }
    }

    @ParameterizedTest
    @EnumSource(Setting.class)
    void aSettingThatIsSetToItsDefaultCountsAsNotSet(Setting setting) {
        assertThat(RankFacts.gather(Map.of(setting.variable(), setting.defaultValue())))
                .isEqualTo(RankFacts.gather(Map.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "HVD_STRICT, 1, true",
        "HVD_STRICT, yes, ON",
        "HVD_PIN_GPU, 0, off",
        "HVD_BACKEND, mpi, MPI",
        "HOROVOD_CYCLE_TIME, 2, 2.0",
        "HOROVOD_CACHE_CAPACITY, 7, +07"
    })
    void theSameSettingInOtherWordsIsNoDifference(String variable, String one, String other) {
        RankFacts first = RankFacts.gather(Map.of(variable, one));
        assertThat(first).isEqualTo(RankFacts.gather(Map.of(variable, other)));
        assertThat(first).as("it is set at all").isNotEqualTo(RankFacts.gather(Map.of()));
    }

    @ParameterizedTest
    @CsvSource({"HVD_STRICT, false", "HVD_PIN_GPU, true", "HOROVOD_CYCLE_TIME, 1", "HVD_BACKEND, AUTO"})
    void theDefaultInOtherWordsCountsAsNotSet(String variable, String words) {
        assertThat(RankFacts.gather(Map.of(variable, words))).isEqualTo(RankFacts.gather(Map.of()));
    }

    /** JavaCPP is on this module's class path, LibTorch is not. */
    @Test
    void theLibrariesOnTheClassPathAreAmongTheFacts() {
        RankFacts here = RankFacts.gather(Map.of());
        assertThat(here.values().get("JavaCPP version")).matches("\\d+\\.\\d+.*");
        assertThat(here.values()).doesNotContainKey("LibTorch version");
        RankFacts elsewhere = here.with("JavaCPP version", "1.5.9").with("LibTorch version", "2.0.1-1.5.9");
        assertThat(RankFacts.differences(List.of(here, elsewhere)))
                .hasSize(2)
                .anySatisfy(difference ->
                        assertThat(difference).contains("JavaCPP version", "on ranks {0}", "\"1.5.9\" on ranks {1}"))
                .anySatisfy(difference ->
                        assertThat(difference).contains("LibTorch version: \"2.0.1-1.5.9\" on ranks {1}"));
    }

    @Test
    void pathsOfTheMachineAndWhatOnlyOneRankSeesMayDiffer() {
        assertThat(Setting.values())
                .filteredOn(setting -> setting.scope() == Setting.Scope.RANK)
                .contains(
                        Setting.OPENMPI_HOME,
                        Setting.MPI_JAR,
                        Setting.FAILURE_DIR,
                        Setting.CONTROL_INTERFACE,
                        Setting.TERMINAL)
                .doesNotContain(Setting.CACHE_CAPACITY, Setting.TIMELINE, Setting.FUSION_THRESHOLD);
    }

    @Test
    void whatRunsHereIsAmongTheFacts() {
        Map<String, String> values = RankFacts.gather(Map.of()).values();
        assertThat(values)
                .containsEntry("Java major version", "" + Runtime.version().feature())
                .containsEntry("processor architecture", System.getProperty("os.arch"))
                .containsKeys("hvd version", "Java version");
        assertThat(values.get("hvd classes")).matches("[0-9a-f]{16}");
    }

    @Test
    void anyTextSurvivesTheWay() {
        RankFacts odd = facts("", "", "key", "ü\n\"=;\0", "long", "x".repeat(100_000));
        assertThat(RankFacts.of(odd.toBytes())).isEqualTo(odd);
        assertThat(RankFacts.of(facts().toBytes())).isEqualTo(facts());
        assertThatThrownBy(() -> odd.values().put("a", "b")).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void damagedFactsAreRefused() {
        DamagedMessages.of(facts("key", "value", "", "ü").toBytes(), RankFacts::of);
    }

    @Test
    void theClassesOfThisProcessAreThoseOfItsFolder() throws Exception {
        Path own = Path.of(RankFacts.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        assertThat(RankFacts.gather(Map.of()).values()).containsEntry("hvd classes", CodeDigest.of(own));
    }
}
