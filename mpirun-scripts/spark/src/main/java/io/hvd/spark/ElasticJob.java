package io.hvd.spark;

import io.hvd.config.ControlSettings;
import io.hvd.config.HvdConfig;
import io.hvd.elastic.ElasticLimits;
import io.hvd.elastic.OpenCoordinator;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.resource.ResourceProfile;

/**
 * An elastic job as the driver sees it: the driver has the coordinator, and each task of a stage without a barrier is a worker.
 * Spark starts a task that is lost anew, which makes it another worker.
 */
final class ElasticJob {
    private static final HvdLogger LOG = HvdLogger.of(ElasticJob.class);
    private static final String SPECULATION = "spark.speculation";
    private static final ElasticLimits.Names NAMES = new ElasticLimits.Names(
            "leastRanks", "the larger of slotLimit and HOROVOD_START_TIMEOUT", "elasticLimit", "");

    private final JavaSparkContext context;
    private final SparkOptions options;
    private final String call;
    private final ResourceProfile profile;

    ElasticJob(JavaSparkContext context, SparkOptions options) {
        this.context = context;
        this.options = options;
        this.call = "HvdSpark.runElastic of " + options.leastRanks() + " to " + options.ranks() + " ranks";
        this.profile = Stage.profile(context, options);
    }

    <R> List<R> run(ElasticBody<R> body) {
        requireNoCopies(context.getConf(), call);
        if (!Slots.areDynamic(context.getConf())) {
            new Slots(context.sc(), profile, call, options.leastRanks(), options.slotLimit()).await();
        }
        JobSecret secret = JobSecret.random();
        try (OpenCoordinator coordinator = OpenCoordinator.start(terms(secret), LOG::notice)) {
            return run(coordinator, secret, body);
        } catch (IOException e) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    call + " cannot begin, as its driver cannot listen for executors: " + e.getMessage(),
                    e);
        }
    }

    private OpenCoordinator.Terms terms(JobSecret secret) {
        Map<String, String> variables = new HashMap<>(System.getenv());
        variables.putAll(options.settings());
        ControlSettings control = HvdConfig.from(variables).control();
        long limit = options.elasticLimit().toMillis();
        long start = Math.max(options.slotLimit().toMillis(), TimeUnit.SECONDS.toMillis(control.startTimeoutSeconds()));
        var limits = new ElasticLimits(
                options.leastRanks(), options.ranks(), options.ranks(), start, limit, Integer.MAX_VALUE, NAMES);
        return new OpenCoordinator.Terms(
                0,
                secret.bytes(),
                limits,
                Duration.ofSeconds(control.startTimeoutSeconds()),
                control.networkInterface().orElse(""),
                control.ports(),
                control.encryption());
    }

    private <R> List<R> run(OpenCoordinator coordinator, JobSecret secret, ElasticBody<R> body) {
        JavaRDD<Integer> nothing = context.parallelize(List.of(), options.ranks());
        JavaRDD<Integer> tasks = profile.id() == ResourceProfile.DEFAULT_RESOURCE_PROFILE_ID()
                ? nothing
                : nothing.withResources(profile);
        String host = context.getConf().get("spark.driver.host");
        var worker = new ElasticTask<>(host, coordinator.port(), secret, options, body);
        var stage = new Stage(call, tasks.mapPartitions(worker).collectAsync());
        try {
            List<R> results = stage.await(() -> requireGoing(coordinator));
            requireWhole(coordinator, results.size());
            return results;
        } catch (SparkException e) {
            requireGoing(coordinator); // knows why its workers have failed
            throw new StageFailure(call, e).exception();
        }
    }

    /** The copy of a worker that ends late would come to an ended job, and its empty result would count. */
    static void requireNoCopies(SparkConf conf, String call) {
        if (conf.getBoolean(SPECULATION, false)) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    call + " needs one task for each worker, but " + SPECULATION
                            + " is true, and Spark starts copies of tasks then: set it to false");
        }
    }

    /** A task that Spark has started anew behind the end of the training gives no result. */
    private void requireWhole(OpenCoordinator coordinator, int results) {
        requireGoing(coordinator);
        if (coordinator.failuresBehindTheEnd().isEmpty() && results >= coordinator.members()) {
            return;
        }
        String why = coordinator.failuresBehindTheEnd().stream()
                .findFirst()
                .orElse("the others were lost with their executors behind the end of the training");
        throw new HvdException(
                ErrorId.JOB_FAILED,
                call + " has failed: " + results + " of " + coordinator.members() + " ranks have given a result; "
                        + why);
    }

    private void requireGoing(OpenCoordinator coordinator) {
        coordinator.end().filter(why -> !why.isEmpty()).ifPresent(why -> {
            throw new HvdException(ErrorId.JOB_FAILED, call + " has failed: " + why);
        });
    }
}
