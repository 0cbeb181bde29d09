package io.hvd.doctor.network;

import java.util.concurrent.Executor;

/**
 * Gives every task a daemon thread of its own: tasks that wait for other hosts, each with a limit, must not wait for
 * each other first.
 */
public enum OwnThreads implements Executor {
    OF_DOCTOR;

    @Override
    public void execute(Runnable task) {
        Thread thread = new Thread(task, "hvd-doctor-wait");
        thread.setDaemon(true);
        thread.start();
    }
}
