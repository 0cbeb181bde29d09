/** Operations carried out in the data plane, with process sets and work that a device still has to do. */
package io.hvd.engine.execution;
