package io.hvd.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.spark.SparkPrograms.Seen;
import io.hvd.spark.SparkPrograms.Trained;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** hvd on a standalone cluster of real processes: two workers, each with an executor that runs two tasks at once. */
@Timeout(400)
class SparkIT {
    private static final int RANKS = 4;
    private static final SparkOptions NO_RESTART = SparkOptions.of(RANKS).withRestarts(0);

    @TempDir
    static Path folder;

    private static StandaloneCluster cluster;
    private static SparkSession spark;

    @BeforeAll
    static void start() throws Exception {
        cluster = new StandaloneCluster(folder, 2, 2, List.of());
        spark = session(cluster, Map.of());
        awaitBothExecutors();
    }

    /** @param more settings of Spark's */
    static SparkSession session(StandaloneCluster cluster, Map<String, String> more) throws Exception {
        SparkConf conf = new SparkConf()
                .setAppName("hvd")
                .setMaster(cluster.master())
                .setJars(cluster.applicationsJars())
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.ui.enabled", "false")
                .set("spark.executor.cores", "2")
                .set("spark.executor.memory", "512m")
                .set("spark.executor.extraClassPath", StandaloneCluster.sparksJars())
                .set("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
                .set("spark.sql.codegen.wholeStage", "false")
                .set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
                .set("spark.sql.adaptive.enabled", "false")
                .set("spark.sql.shuffle.partitions", "4")
                .set("spark.sql.warehouse.dir", cluster.folder("warehouse"));
        more.forEach(conf::set);
        return SparkSession.builder().config(conf).getOrCreate();
    }

    @AfterAll
    static void stop() throws Exception {
        if (spark != null) {
            spark.stop();
        }
        if (cluster != null) {
            cluster.close();
        }
    }

    private static Set<Long> pids() {
        return HvdSpark.run(spark, RANKS, SparkPrograms::look).stream()
                .map(Seen::pid)
                .collect(Collectors.toSet());
    }

    /** A test before may have killed one, which Spark replaces within seconds. */
    private static void awaitBothExecutors() {
        assertThat(pids()).hasSize(2);
    }

    @Test
    void theDriverHasTheResultOfEveryRankAndTwoRanksShareAnExecutor() {
        List<Seen> seen = HvdSpark.run(spark, RANKS, SparkPrograms::look);

        assertThat(SparkPage.run(spark)).containsExactly(10.0, 10.0, 10.0, 10.0);
        assertThat(SparkPage.runElastic(spark)).containsExactly(10.0, 10.0, 10.0, 10.0);
        assertThat(seen).extracting(Seen::rank).containsExactly(0, 1, 2, 3);
        assertThat(seen).extracting(Seen::boundRank).containsExactly(0, 1, 2, 3);
        assertThat(seen).extracting(Seen::localRank).containsExactly(0, 1, 2, 3);
        assertThat(seen).allSatisfy(one -> {
            assertThat(one.size()).isEqualTo(RANKS);
            assertThat(one.localSize()).isEqualTo(RANKS);
            assertThat(one.backend()).contains("shared memory", "tcp");
            assertThat(one.sum()).isEqualTo(10f);
        });
        assertThat(seen.stream().collect(Collectors.groupingBy(Seen::pid, Collectors.counting())))
                .hasSize(2)
                .allSatisfy((pid, ranks) -> assertThat(ranks).isEqualTo(2));
    }

    /** At once: a limit would end the job in other words. */
    @Test
    void aRankThatFailsEndsTheJobAtOnceAndNoExecutor() {
        Set<Long> before = pids();

        assertThatThrownBy(() -> HvdSpark.run(
                        spark, RANKS, hvd -> SparkPrograms.failOn(2, new IllegalStateException("a bad row"), hvd)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HvdSpark.run of 4 ranks has failed")
                .hasMessageContaining("rank 2 of 4 has failed: java.lang.IllegalStateException: a bad row");

        assertThat(pids()).isEqualTo(before);
    }

    /** Spark ends an executor in which a task throws such an error. */
    @Test
    void aClassThatIsMissingEndsNoExecutor() {
        Set<Long> before = pids();

        assertThatThrownBy(() -> HvdSpark.run(
                        spark, RANKS, hvd -> SparkPrograms.failOn(1, new NoClassDefFoundError("org/x/Net"), hvd)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("rank 1 of 4 has failed: java.lang.NoClassDefFoundError: org/x/Net");

        assertThat(pids()).isEqualTo(before);
    }

    @Test
    void tooFewSlotsAreSaidAtOnceWithTheirNumber() {
        awaitBothExecutors();
        SparkOptions options = SparkOptions.of(5).withSlotLimit(Duration.ofSeconds(1));

        assertThatThrownBy(() -> HvdSpark.run(spark, options, SparkPrograms::look))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HvdSpark.run of 5 ranks needs 5 slots at once, but the application has 4 on"
                        + " 2 executors of 1 host(s) after 1 s");
    }

    @Test
    void anInterruptOfTheCallerEndsTheRanks() throws Exception {
        Set<Long> before = pids();
        BlockingQueue<Throwable> ends = new LinkedBlockingQueue<>();
        Thread caller = new Thread(
                () -> {
                    try {
                        HvdSpark.run(spark, RANKS, SparkPrograms::waitForever);
                    } catch (HvdException e) {
                        ends.add(e);
                    }
                },
                "caller");
        caller.start();
        while (spark.sparkContext().statusTracker().getActiveStageIds().length == 0) {
            Thread.sleep(20);
        }

        caller.interrupt();

        assertThat(ends.poll(30, TimeUnit.SECONDS))
                .hasMessageContaining("HvdSpark.run of 4 ranks was cancelled: thread caller");
        assertThat(pids()).isEqualTo(before);
    }

    @Test
    void aDataFrameIsTrainedOnByAllRanks() {
        List<Double> accuracies = HvdSpark.train(
                SparkPrograms.digits(spark, 1_000),
                SparkOptions.of(RANKS).withBatchRows(25),
                (hvd, rows) -> SparkPrograms.train(hvd, rows, 3));

        assertThat(accuracies)
                .hasSize(RANKS)
                .allSatisfy(accuracy -> assertThat(accuracy).isGreaterThan(0.9));
    }

    @Test
    void anElasticJobGoesOnWhileAnExecutorIsLostAndTakesInTheTasksThatSparkStartsAnew(@TempDir Path markers) {
        String once = markers.resolve("killed").toString();

        List<ElasticProgram.Seen> seen = HvdSpark.runElastic(
                spark,
                SparkOptions.of(RANKS).withLeastRanks(2),
                () -> ElasticProgram.run(RANKS, Path.of(once), ElasticProgram::killExecutor));

        requireWhole(seen);
        assertThat(seen.stream().filter(one -> one.firstStep() == 0))
                .as("survivors")
                .hasSize(2);
        assertThat(seen.stream().filter(one -> one.firstStep() >= 20))
                .as("new ones")
                .hasSize(2);
        assertThat(seen.get(0).sum()).isLessThan(RANKS * seen.get(0).steps());
    }

    @Test
    void aTaskThatFailsOnceIsStartedAnewAndTakesThePlaceOfTheOneThatHasFailed(@TempDir Path markers) {
        Set<Long> before = pids();
        String once = markers.resolve("failed").toString();

        List<ElasticProgram.Seen> seen = HvdSpark.runElastic(
                spark,
                SparkOptions.of(RANKS),
                () -> ElasticProgram.run(RANKS, Path.of(once), ElasticProgram::failOnBadRow));

        requireWhole(seen);
        assertThat(seen.stream().filter(one -> one.firstStep() == 0)).hasSize(3);
        assertThat(seen.get(0).sum()).isEqualTo(RANKS * seen.get(0).steps());
        assertThat(pids()).isEqualTo(before);
    }

    private static void requireWhole(List<ElasticProgram.Seen> seen) {
        assertThat(seen).extracting(ElasticProgram.Seen::rank).containsExactlyInAnyOrder(0, 1, 2, 3);
        assertThat(seen).extracting(ElasticProgram.Seen::size).containsOnly(RANKS);
        assertThat(seen.stream().map(ElasticProgram.Seen::steps).distinct()).hasSize(1);
        assertThat(seen.stream().map(ElasticProgram.Seen::sum).distinct()).hasSize(1);
        assertThat(seen).extracting(ElasticProgram.Seen::generation).doesNotContain(0);
    }

    @Test
    void anElasticJobWithoutRanksEnoughSaysHowManyThereAre() {
        awaitBothExecutors();
        SparkOptions options = SparkOptions.of(6).withLeastRanks(5).withSlotLimit(Duration.ofSeconds(1));

        assertThatThrownBy(() -> HvdSpark.runElastic(spark, options, () -> 1))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(
                        "HvdSpark.runElastic of 5 to 6 ranks needs 5 slots at once, but the application has"
                                + " 4 on 2 executors of 1 host(s) after 1 s");
    }

    @Test
    void whatFailsBehindAnElasticTrainingFailsTheJob() {
        SparkOptions options = SparkOptions.of(2).withSlotLimit(Duration.ZERO);

        assertThatThrownBy(() -> HvdSpark.runElastic(spark, options, () -> {
                    SparkPage.train();
                    throw new IOException("disk full: the model is not saved");
                }))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining(
                        "HvdSpark.runElastic of 2 to 2 ranks has failed: 0 of 2 ranks have given a result;"
                                + " worker ")
                .hasMessageContaining("behind the end of the training: java.io.IOException: disk full");
    }

    @Test
    void whatFailsOnAllRanksOfAnElasticJobIsItsReason() {
        assertThatThrownBy(() -> HvdSpark.runElastic(spark, SparkOptions.of(2), ElasticProgram::failOnAllRanks))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("no rank is left that has the state of the training")
                .hasMessageContaining("labels have 11 classes");
    }

    @Test
    void anElasticTaskThatFailsAgainAndAgainEndsTheJobWithItsReason() {
        assertThatThrownBy(() -> HvdSpark.runElastic(spark, SparkOptions.of(2), () -> {
                    throw new IllegalStateException("no such file");
                }))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HvdSpark.runElastic of 2 to 2 ranks has failed")
                .hasMessageContaining("java.lang.IllegalStateException: no such file");
    }

    @Test
    void columnsAreTrainedOnByAllRanksAndTheModelAddsAColumn() {
        List<byte[]> models = SparkPage.train(SparkPrograms.digits(spark, 1_003));
        Dataset<Row> predicted = SparkPage.predict(SparkPrograms.digits(spark, 500), models.get(0));

        assertThat(models).hasSize(RANKS).containsOnly(models.get(0));
        assertThat(predicted.columns()).containsExactly("label", "pixels", "digit");
        assertThat(predicted.filter("label = digit").count()).isBetween(451L, 500L);
    }

    @Test
    @Tag("long")
    @Timeout(300)
    void aKilledExecutorCostsNoMoreThanTheStepsSinceTheLastCheckpoint(@TempDir Path checkpoints) {
        String there = checkpoints.toString();

        List<Trained> trained = HvdSpark.train(
                SparkPrograms.digits(spark, 1_000),
                SparkOptions.of(RANKS).withBatchRows(25),
                (hvd, rows) -> SparkPrograms.train(hvd, rows, 5, Path.of(there), 25));

        assertThat(checkpoints.resolve("killed")).exists();
        assertThat(trained).extracting(Trained::rank).containsExactly(0, 1, 2, 3);
        assertThat(trained.stream().map(Trained::weights).distinct()).hasSize(1);
        assertThat(trained).allSatisfy(one -> {
            assertThat(one.firstStep()).isGreaterThan(0).isLessThanOrEqualTo(25);
            assertThat(one.accuracy()).isGreaterThan(0.9);
        });
    }

    @Test
    @Tag("long")
    @Timeout(300)
    void withoutRestartsALostExecutorEndsTheJobAndIsNamed(@TempDir Path checkpoints) {
        String there = checkpoints.toString();

        assertThatThrownBy(() -> HvdSpark.train(
                        SparkPrograms.digits(spark, 1_000),
                        NO_RESTART.withBatchRows(25),
                        (hvd, rows) -> SparkPrograms.train(hvd, rows, 5, Path.of(there), 3)))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("HvdSpark.train of 4 ranks has failed: ExecutorLostFailure");
    }

    @Test
    @Tag("long")
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void fiftyJobsInARowEnd() {
        long[] millis = new long[50];
        for (int run = 0; run < millis.length; run++) {
            long begun = System.nanoTime();
            assertThat(HvdSpark.run(spark, RANKS, SparkPrograms::sum))
                    .as("run %s", run)
                    .containsExactly(10f, 10f, 10f, 10f);
            millis[run] = (System.nanoTime() - begun) / 1_000_000;
        }
        Arrays.sort(millis);
        System.out.println("50 jobs in a row: median " + millis[25] + " ms, longest " + millis[49] + " ms");
    }
}
