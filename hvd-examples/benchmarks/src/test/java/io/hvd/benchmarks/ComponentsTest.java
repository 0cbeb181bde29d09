package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ComponentsTest {
    /** Lines of {@code ompi_info --parsable} of Open MPI 6. */
    private static final String SAID = """
            package:Open MPI package
            mca:btl:sm:version:"mca:2.1.0"
            mca:coll:tuned:version:"mca:2.1.0"
            mca:coll:tuned:version:"api:2.4.0"
            mca:coll:xhc:version:"component:6.0.0"
            mca:pml:ob1:version:"mca:2.1.0"
            """;

    private final List<String> told = new ArrayList<>();

    private List<String> usable(Set<String> installed, List<MpiSetting> settings) {
        return new Components(installed)
                .usable(settings, told::add).stream().map(MpiSetting::name).toList();
    }

    @Test
    void componentsForCollectivesAreReadAndNoOthers() {
        assertThat(Components.of(SAID).names()).containsExactlyInAnyOrder("tuned", "xhc");
        assertThat(Components.of("").names()).isEmpty();
    }

    @Test
    void aSettingWithoutItsComponentIsLeftOutAndNamed() {
        assertThat(usable(Set.of("tuned", "xhc"), MpiSetting.FEW))
                .containsExactly("default", "ucx", "segmented-ring-256k", "xhc");
        assertThat(told)
                .singleElement()
                .asString()
                .contains("Open MPI's setting acoll is left out", "ompi_info", "coll/acoll");
    }

    @Test
    void whereAllAreThereNothingIsLeftOut() {
        assertThat(usable(Set.of("xhc", "acoll"), MpiSetting.ALL)).hasSameSizeAs(MpiSetting.ALL);
        assertThat(usable(Set.of("han"), MpiSetting.NETWORK)).hasSameSizeAs(MpiSetting.NETWORK);
        assertThat(told).isEmpty();
    }

    @Test
    void settingsThatNeedNoComponentNeedNoKnowledgeOfThem() {
        assertThat(usable(Set.of(), List.of(MpiSetting.DEFAULT, MpiSetting.SEGMENTED_RING)))
                .containsExactly("default", "segmented-ring-256k");
        assertThat(told).isEmpty();
    }

    @Test
    void theOpenMpiOfThisMachineNamesTheOneThatItUsesByDefault() {
        assertThat(Components.installed().names()).contains("tuned", "basic");
    }
}
