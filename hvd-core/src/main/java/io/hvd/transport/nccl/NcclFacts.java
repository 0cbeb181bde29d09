package io.hvd.transport.nccl;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.transport.nccl.natives.NcclVariables;
import java.util.List;

/**
 * The facts that a rank tells the other ranks before a communicator is made.
 *
 * @param machine identifies the machine; the same for all ranks whose GPUs are in it
 * @param variables what NCCL itself is told about ranks that have the same GPU
 * @param process identifies the process among those of the machine; the same for ranks that are its threads
 * @param gpus PCI ids of this rank's GPUs
 * @param nccl the version of NCCL; empty if it does not load
 * @param missing the reason why NCCL cannot be used on this rank; empty if it can
 * @param unreached the reason why hvd's kernels cannot be used on this rank's GPU; empty if they can, or if there is
 *     none
 * @param ways the settings that decide which communicators are made; all ranks must have the same
 * @param error the reason why this rank cannot go on at all; empty if it can
 */
record NcclFacts(
        String machine,
        NcclVariables variables,
        String process,
        List<String> gpus,
        String nccl,
        String missing,
        String unreached,
        String ways,
        String error) {
    /** These facts after an attempt to open the GPUs. @param why the reason why they are not open; empty if they are */
    NcclFacts withUnreached(String why) {
        return new NcclFacts(machine, variables, process, gpus, nccl, missing, why, ways, error);
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeText(machine);
            out.writeText(variables.hostId());
            out.writeText(variables.multiRank());
            out.writeText(process);
            out.writeList(gpus, MessageWriter::writeText);
            out.writeText(nccl);
            out.writeText(missing);
            out.writeText(unreached);
            out.writeText(ways);
            out.writeText(error);
        });
    }

    static NcclFacts decode(byte[] bytes) {
        return MessageReader.decode(
                "what a rank says of its GPUs",
                bytes,
                in -> new NcclFacts(
                        in.readText(),
                        new NcclVariables(in.readText(), in.readText()),
                        in.readText(),
                        in.readList(MessageReader::readText),
                        in.readText(),
                        in.readText(),
                        in.readText(),
                        in.readText(),
                        in.readText()));
    }
}
