package com.example;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.launch.HvdLauncher;
import io.hvd.launch.LaunchedProgram;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** An ordinary program that starts a job and gets back what every rank has learnt. */
public class JobFromJava implements LaunchedProgram<String> {
    public static void main(String[] args) throws InterruptedException {
        List<String> lines = HvdLauncher.ranks(2).limit(Duration.ofMinutes(10)).call(JobFromJava.class);
        lines.forEach(System.out::println);
    }

    @Override
    public String run(HvdContext hvd, String... args) { // on every rank
        return Arrays.toString(ArrayTrainer.train(hvd));
    }

    @Override
    public ObjectCodec<String> codec() {
        return ObjectCodec.utf8();
    }
}
