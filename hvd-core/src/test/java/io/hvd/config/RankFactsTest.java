package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
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
                .containsExactly("HOROVOD_CACHE_CAPACITY: \"0\" on ranks {1}; not set on ranks {0, 2, 3}");
    }

    @Test
    void differencesComeByKeyAndTheirValuesByTheLowestRank() {
        assertThat(RankFacts.differences(List.of(
                        facts("b", "z", "same", "x"),
                        facts("a", "1", "b", "y", "same", "x"),
                        facts("a", "1", "b", "z", "same", "x"))))
                .containsExactly(
                        "a: \"1\" on ranks {1, 2}; not set on ranks {0}",
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

    @ParameterizedTest
    @EnumSource(Setting.class)
    void onlySettingsOfTheWholeJobAreCompared(Setting setting) {
        String value = setting.defaultValue() + "7";
        RankFacts with = RankFacts.gather(Map.of(setting.variable(), " " + value + " "));
        RankFacts without = RankFacts.gather(Map.of());
        if (setting.scope() == Setting.Scope.JOB) {
            assertThat(RankFacts.differences(List.of(with, without)))
                    .containsExactly(setting.variable() + ": \"" + value + "\" on ranks {0}; not set on ranks {1}");
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
        assertThat(RankFacts.of(new byte[0])).isEqualTo(facts());
        assertThatThrownBy(() -> odd.values().put("a", "b")).isInstanceOf(UnsupportedOperationException.class);
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
