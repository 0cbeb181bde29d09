package io.hvd.host.local;

import io.hvd.error.ShutdownException;

/** A barrier for rank threads that can be broken for good when one of them will never come. */
public final class Rendezvous {
    private final int parties;
    private int arrived;
    private long round;
    private boolean allAgree = true;
    private boolean agreed;
    private String broken;

    Rendezvous(int parties) {
        this.parties = parties;
    }

    /** Waits until every rank has come here; throws {@link ShutdownException} if that cannot happen. */
    public void meet() {
        meet(true);
    }

    /** Meets the others, and tells every rank whether all have agreed. */
    public synchronized boolean meet(boolean agree) {
        refuseIfBroken();
        long mine = round;
        allAgree &= agree;
        if (++arrived == parties) {
            agreed = allAgree;
            allAgree = true;
            arrived = 0;
            round++;
            notifyAll();
            return agreed;
        }
        awaitEndOf(mine);
        // The next round cannot end, and change this value, before every rank has left this one.
        return agreed;
    }

    /**
     * Ignores interrupts: a thread of the program may wait here whose interrupt has another purpose, and the other
     * ranks would wait for ever.
     */
    private void awaitEndOf(long mine) {
        boolean interrupted = false;
        try {
            while (mine == round) {
                refuseIfBroken();
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
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
