package io.hvd.doctor;

import static io.hvd.doctor.Made.host;
import static io.hvd.doctor.Made.link;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.doctor.checks.Diagnosis;
import io.hvd.doctor.checks.Finding;
import io.hvd.doctor.facts.HostInventory;
import java.util.List;
import org.junit.jupiter.api.Test;

final class DoctorReportTest {

    private final HostInventory inventory = Made.inventory(
            List.of(link("a", "b", 31, 1.25e9, -4)),
            host(
                    "a",
                    "network.interfaces=[{'name': 'eth0', 'addresses': ['10.0.0.1']}, {'name': 'docker0',"
                            + " 'addresses': []}, {'name': 'eth9', 'addresses': ['10.9.0.1']}]"),
            host(1, "b"));

    private final Finding note = new Finding(Diagnosis.NO_GPU, List.of("a", "b"), "no driver", "look");
    private final Finding error = new Finding(Diagnosis.SAME_NAME, List.of("a", "b"), "two <a>", "hostname b");
    private final Finding warning = new Finding(Diagnosis.SMALL_SHM, List.of("b"), "4 MiB", "mount");

    @Test
    void theWorstStandsFirstWithItsNumberCauseAndCommand() {
        String text = ReportText.of(new DoctorReport(inventory, List.of(note, warning, error), ""));

        assertThat(text)
                .containsSubsequence(
                        "HVD-D60 error on a, b: two <a>\n",
                        "  cause     two hosts have one name",
                        "  run       hostname b\n",
                        "HVD-D40 warning on b: 4 MiB\n",
                        "HVD-D20 note on a, b: no driver\n",
                        "1 error, 1 warning, 1 note\n");
    }

    @Test
    void everyHostIsShownAsItIs() {
        String text = ReportText.of(new DoctorReport(inventory, List.of(), "self-test: right"));

        assertThat(text)
                .contains(
                        "a, 2 ranks, this host\n",
                        "b, 1 rank\n",
                        "MPI       Open MPI 4.1.4, /usr/bin/mpirun, called by /lib/mpi.jar\n",
                        "memory    2 x (4.0 GiB heap + 128 MiB direct + 1.0 GiB native) = 10.3 GiB of 64.0 GiB\n",
                        "network   used eth0 10.0.0.1; not used eth9; end inside the host docker0\n",
                        "a -> b eth0    0.031 ms    1250.0 MB/s    -0.004 ms\n",
                        "self-test: right\n",
                        "0 errors, 0 warnings, 0 notes\n");
    }

    @Test
    void jsonHasTheSameForPrograms() {
        JsonObject json = JsonParser.parseString(new DoctorReport(inventory, List.of(warning, error), "").json())
                .getAsJsonObject();

        assertThat(json.get("errors").getAsInt()).isEqualTo(1);
        JsonObject first = json.getAsJsonArray("findings").get(0).getAsJsonObject();
        assertThat(first.get("id").getAsString()).isEqualTo("HVD-D60");
        assertThat(first.get("area").getAsString()).isEqualTo("names");
        assertThat(first.get("severity").getAsString()).isEqualTo("error");
        assertThat(first.get("found").getAsString()).isEqualTo("two <a>");
        assertThat(first.get("command").getAsString()).isEqualTo("hostname b");
        JsonObject host = json.getAsJsonArray("hosts").get(0).getAsJsonObject();
        assertThat(host.getAsJsonObject("facts")
                        .getAsJsonObject("mpi")
                        .get("version")
                        .getAsString())
                .isEqualTo("Open MPI 4.1.4");
        assertThat(json.getAsJsonArray("links")
                        .get(0)
                        .getAsJsonObject()
                        .get("to")
                        .getAsString())
                .isEqualTo("b");
    }

    @Test
    void onlyErrorsCountForTheExitCode() {
        assertThat(new DoctorReport(inventory, List.of(warning, note), "").hasErrors())
                .isFalse();
        assertThat(new DoctorReport(inventory, List.of(error), "").hasErrors()).isTrue();
    }
}
