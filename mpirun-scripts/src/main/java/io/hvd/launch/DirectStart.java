package io.hvd.launch;

import io.hvd.launch.direct.DirectJob;
import io.hvd.launch.direct.DirectPlan;
import io.hvd.launch.direct.ElasticJob;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.StartedJob;
import java.nio.file.Path;
import java.util.Map;

/** The launcher starts the ranks itself. */
record DirectStart(DirectPlan plan) implements Start {

    @Override
    public String explained() {
        return plan.explained();
    }

    @Override
    public StartedJob job(Map<String, String> variables, Path folder, LaunchEnvironment around) {
        return plan.elastic()
                .<StartedJob>map(elastic -> new ElasticJob(plan, elastic, variables, folder, around))
                .orElseGet(() -> new DirectJob(plan, variables, folder, around));
    }
}
