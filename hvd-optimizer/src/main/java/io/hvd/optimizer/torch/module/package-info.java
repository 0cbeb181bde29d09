/** The modules of a program: their fields, and replicas of them on several devices. */
package io.hvd.optimizer.torch.module;
