package io.hvd.job.failure;

import io.hvd.transport.mpi.MpiProcess;
import io.hvd.transport.mpi.openmpi.LauncherLimit;
import io.hvd.transport.mpi.openmpi.MpiLauncher;
import java.util.List;
import java.util.Optional;

/** A rank under a launcher, as it sees its job while it leaves. */
record MemberView(JobMember member) implements FailureExit.JobView {
    @Override
    public int rank() {
        return member.topology().rank();
    }

    @Override
    public List<Integer> living() {
        return member.monitor().living();
    }

    @Override
    public boolean threadsSpeak() {
        return member.threadsSpeak();
    }

    @Override
    public void limitLauncher(boolean first) {
        if (MpiProcess.ofThisProcess().isStarted()) { // else its other programs are no ranks of this job
            LauncherLimit.begin(first);
        }
    }

    @Override
    public Optional<Runnable> waker() {
        return MpiLauncher.ofThisProcess().map(launcher -> launcher::wake);
    }
}
