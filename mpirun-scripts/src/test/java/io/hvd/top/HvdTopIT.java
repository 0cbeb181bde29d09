package io.hvd.top;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.launch.Horovodrun;
import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A real job of two processes with two ranks each. */
class HvdTopIT {

    @ParameterizedTest
    @ValueSource(strings = {"--mpi", "--gloo"})
    void aLateRankAndAProcessThatIsStoppedAreNamedToThoseThatWait(String starter) {
        List<String> words = new ArrayList<>(Job.program(Horovodrun.class, starter, "-np", "2"));
        words.addAll(Job.program(LateRankProgram.class));
        Job job = Job.run(words, Map.of());

        assertThat(job.exitCode()).as(job.output()).isZero();
        List<JsonObject> late = ranks(job, "TOP {");
        assertThat(texts(late, "state")).containsExactly("waiting", "waiting", "computing", "waiting");
        assertThat(texts(late, "waitingFor")).containsExactly("[2]", "[2]", "[]", "[2]");
        assertThat(texts(late, "waitedForBy")).containsExactly("[]", "[]", "[0,1,3]", "[]");
        assertThat(texts(late, "steps")).containsOnly("15");
        assertThat(texts(late, "last")).containsOnly("allreduce gradient");
        assertThat(late).allMatch(rank -> rank.get("residentBytes").getAsLong() > 1 << 20);
        List<String> pids = texts(late, "pid");
        assertThat(pids).hasSize(4).containsExactly(pids.get(0), pids.get(0), pids.get(2), pids.get(2));
        assertThat(pids.get(2)).isNotEqualTo(pids.get(0));
        assertThat(job.output()).contains("waits for rank 2 in allreduce gradient for ");

        List<JsonObject> stopped = ranks(job, "STOPPED {");
        assertThat(texts(stopped, "state")).containsExactly("waiting", "waiting", "stopped", "stopped");
        assertThat(texts(stopped, "waitingFor")).containsExactly("[2,3]", "[2,3]", "[]", "[]");
        assertThat(texts(stopped, "waitedForBy")).containsExactly("[]", "[]", "[0,1]", "[0,1]");
        assertThat(job.output()).contains("stopped (process state T); waited for by [0, 1]");
    }

    /** Other jobs of this user may run beside this one. */
    private static List<JsonObject> ranks(Job job, String line) {
        String json = job.lines(line).get(0);
        json = json.substring(json.indexOf('{', json.indexOf(line)));
        return objects(JsonParser.parseString(json).getAsJsonObject(), "jobs").stream()
                .filter(one -> one.get("program").getAsString().endsWith("LateRankProgram"))
                .flatMap(one -> objects(one, "ranks").stream())
                .toList();
    }

    private static List<JsonObject> objects(JsonObject object, String field) {
        return StreamSupport.stream(object.getAsJsonArray(field).spliterator(), false)
                .map(JsonElement::getAsJsonObject)
                .toList();
    }

    private static List<String> texts(List<JsonObject> ranks, String field) {
        return ranks.stream()
                .map(rank -> rank.get(field))
                .map(value -> value.isJsonArray() ? value.toString() : value.getAsString())
                .toList();
    }
}
