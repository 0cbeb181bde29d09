package com.example;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;

/** The tutorial's trainer before it knows hvd. */
public class OneProcess {
    public static void main(String[] args) {
        var model = Circle.model(32);
        var adam = new Adam(model.parameters(), new AdamOptions(0.05));
        for (int epoch = 0; epoch < 10; epoch++) {
            int[] order = Circle.shuffled(epoch);
            for (int from = 0; from < order.length; from += Circle.BATCH) {
                try (PointerScope scope = new PointerScope()) {
                    adam.zero_grad();
                    Circle.loss(model, order, from).backward();
                    adam.step();
                }
            }
            System.out.println("epoch " + epoch + ": " + Circle.right(model) + " of 1000 right");
        }
    }
}
