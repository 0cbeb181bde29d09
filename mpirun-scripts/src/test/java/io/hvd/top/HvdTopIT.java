package io.hvd.top;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.hvd.testing.Job;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A real job in which rank 2 computes long. */
class HvdTopIT {
    private static final int RANKS = 3;

    @Test
    void theRankThatTheOthersWaitForIsNamed() {
        Job job = Job.horovodrun(RANKS, LateRankProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        String json = job.lines("TOP {").get(0).replaceFirst("^.*?TOP ", "");
        List<JsonObject> ranks = ranks(json);
        assertThat(ranks).hasSize(RANKS);
        for (JsonObject rank : ranks) {
            boolean isLate = rank.get("rank").getAsInt() == 2;
            assertThat(rank.get("state").getAsString()).isEqualTo(isLate ? "computing" : "waiting");
            assertThat(rank.get("waitingFor").toString()).isEqualTo(isLate ? "[]" : "[2]");
            assertThat(rank.get("waitedForBy").toString()).isEqualTo(isLate ? "[0,1]" : "[]");
            assertThat(rank.get("steps").getAsLong()).isEqualTo(15);
            assertThat(rank.get("residentBytes").getAsLong()).isGreaterThan(1 << 20);
            assertThat(rank.get("last").getAsString()).isEqualTo("allreduce gradient");
        }
        assertThat(job.output()).contains("waits for rank 2 in allreduce gradient since ");
    }

    /** Other jobs of this user may run beside this one. */
    private static List<JsonObject> ranks(String json) {
        return JsonParser.parseString(json).getAsJsonObject().getAsJsonArray("jobs").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .filter(job -> job.get("program").getAsString().endsWith("LateRankProgram"))
                .flatMap(job -> job.getAsJsonArray("ranks").asList().stream())
                .map(JsonElement::getAsJsonObject)
                .toList();
    }
}
