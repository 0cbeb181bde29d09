package io.hvd.backend.local;

import io.hvd.error.ShutdownException;

/** A barrier for rank threads that can be broken up for good when one of them will never come. */
final class Rendezvous {
    private final int parties;
    private int arrived;
    private long round;
    private String broken;

    Rendezvous(int parties) {
        this.parties = parties;
    }

    /** Waits until every rank has come here; throws {@link ShutdownException} if that cannot happen. */
    synchronized void meet() {
        refuseIfBroken();
        long mine = round;
        if (++arrived == parties) {
            arrived = 0;
            round++;
            notifyAll();
            return;
        }
        while (mine == round) {
            refuseIfBroken();
            try {
                wait();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new ShutdownException("a rank's communication thread was interrupted in a collective", e);
            }
        }
    }

    synchronized void breakUp(String why) {
        if (broken == null) {
            broken = why;
            notifyAll();
        }
    }

    private void refuseIfBroken() {
        if (broken != null) {
            throw new ShutdownException(broken);
        }
    }
}
