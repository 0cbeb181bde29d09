package com.example;

import io.hvd.optimizer.torch.DataParallel;
import io.hvd.tensor.Device;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.SequentialImpl;

/** The tutorial's trainer with each batch split over the devices of one process. */
public class OverDevices {
    public static void main(String[] args) {
        System.out.println(train(List.of(Device.CPU, Device.CPU)) + " of 1000 right");
    }

    /** Trains on these devices and says how many of 1000 other points are on the right side. */
    static long train(List<Device> devices) {
        try (var parallel = DataParallel.wrap(() -> Circle.model(32), devices)) {       // 1: a replica on each device
            var adam = new Adam(parallel.module().parameters(), new AdamOptions(0.05)); // 2: the first one is trained
            for (int epoch = 0; epoch < 10; epoch++) {
                int[] order = Circle.shuffled(epoch);
                for (int from = 0; from < order.length; from += Circle.BATCH) {
                    try (PointerScope scope = new PointerScope()) {
                        adam.zero_grad();
                        var points = Circle.points(order, from);
                        var output = parallel.forward(SequentialImpl::forward, points); // 3: split, run, gathered
                        Circle.loss(output, points).backward();                         // 4: all gradients in one place
                        adam.step();
                    }
                }
            }
            return Circle.right(parallel.module());
        }
    }
}
