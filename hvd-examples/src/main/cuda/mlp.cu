// What a multilayer perceptron needs for training, in float32; matrices lie row by row. The Java side is
// io.hvd.examples.cuda.MlpKernels, and mpirun-scripts/kernels.sh compiles this file to the PTX that train.jar carries.
//
// A layer has weights of (outputs x inputs). With a batch of rows:
//
//   forward     y = x * weights^T + bias             matmul_nt, then bias or bias_relu
//   backward    weights' gradient = dy^T * x         matmul_tn
//               bias' gradient    = sums over dy     bias_gradient
//               dx                = dy * weights     matmul_nn, then relu_backward
#include <stdint.h>

static const int TILE = 32;
/** A block has TILE x LINES threads; each has TILE / LINES elements of the block's tile. */
static const int LINES = 8;
static const int SHARE = TILE / LINES;
/** Threads in a block of the kernels that go element by element. */
static const int THREADS = 256;

/** An element of a matrix of rows x columns, or of its transpose if it is TURNED; 0 outside. */
template <bool TURNED>
static __device__ __forceinline__ float element(const float* matrix, int row, int column, int rows, int columns) {
    if (row >= rows || column >= columns) {
        return 0.0f;
    }
    return TURNED ? matrix[(int64_t) column * rows + row] : matrix[(int64_t) row * columns + column];
}

/**
 * Brings a tile into shared memory. Neighbouring threads read neighbouring elements: along a row, or down a column where
 * the matrix is turned. The one element more per line spreads a column over all banks.
 */
template <bool TURNED>
static __device__ __forceinline__ void load(
        float (*tile)[TILE + 1], const float* matrix, int firstRow, int firstColumn, int rows, int columns) {
    for (int line = threadIdx.y; line < TILE; line += LINES) {
        int row = TURNED ? (int) threadIdx.x : line;
        int column = TURNED ? line : (int) threadIdx.x;
        tile[row][column] = element<TURNED>(matrix, firstRow + row, firstColumn + column, rows, columns);
    }
}

/** result (rows x columns) = left (rows x inner) * right (inner x columns), of which either may lie in memory turned. */
template <bool LEFT_TURNED, bool RIGHT_TURNED>
static __device__ __forceinline__ void multiply(
        const float* left, const float* right, float* result, int rows, int columns, int inner) {
    __shared__ float leftTile[TILE][TILE + 1];
    __shared__ float rightTile[TILE][TILE + 1];
    int firstRow = blockIdx.y * TILE;
    int firstColumn = blockIdx.x * TILE;
    float sums[SHARE] = {};
    for (int start = 0; start < inner; start += TILE) {
        load<LEFT_TURNED>(leftTile, left, firstRow, start, rows, inner);
        load<RIGHT_TURNED>(rightTile, right, start, firstColumn, inner, columns);
        __syncthreads();
        for (int at = 0; at < TILE; at++) {
            float factor = rightTile[at][threadIdx.x];
#pragma unroll
            for (int i = 0; i < SHARE; i++) {
                sums[i] += leftTile[threadIdx.y + i * LINES][at] * factor;
            }
        }
        __syncthreads(); // before the next tiles overwrite these
    }
    int column = firstColumn + threadIdx.x;
#pragma unroll
    for (int i = 0; i < SHARE; i++) {
        int row = firstRow + threadIdx.y + i * LINES;
        if (row < rows && column < columns) {
            result[(int64_t) row * columns + column] = sums[i];
        }
    }
}

#define MLP_MATMUL(name, LEFT_TURNED, RIGHT_TURNED)                                                              \
    extern "C" __global__ void __launch_bounds__(TILE* LINES)                                                    \
            name(const float* left, const float* right, float* result, int rows, int columns, int inner) {       \
        multiply<LEFT_TURNED, RIGHT_TURNED>(left, right, result, rows, columns, inner);                          \
    }
MLP_MATMUL(mlp_matmul_nn, false, false)
MLP_MATMUL(mlp_matmul_nt, false, true)
MLP_MATMUL(mlp_matmul_tn, true, false)

static __device__ __forceinline__ int64_t thisThread() { return (int64_t) blockIdx.x * blockDim.x + threadIdx.x; }

/** outputs[row][column] += bias[column] */
extern "C" __global__ void __launch_bounds__(THREADS)
        mlp_bias(float* outputs, const float* bias, int64_t count, int columns) {
    int64_t at = thisThread();
    if (at < count) {
        outputs[at] += bias[at % columns];
    }
}

/** Adds the bias too, and sets what is negative to 0. */
extern "C" __global__ void __launch_bounds__(THREADS)
        mlp_bias_relu(float* outputs, const float* bias, int64_t count, int columns) {
    int64_t at = thisThread();
    if (at < count) {
        float sum = outputs[at] + bias[at % columns];
        outputs[at] = sum > 0.0f ? sum : 0.0f;
    }
}

/** Where the layer gave 0, nothing comes back through it. */
extern "C" __global__ void __launch_bounds__(THREADS)
        mlp_relu_backward(float* gradient, const float* outputs, int64_t count) {
    int64_t at = thisThread();
    if (at < count && !(outputs[at] > 0.0f)) {
        gradient[at] = 0.0f;
    }
}

/** The sum of each column. A block has TILE columns; the sums of its LINES lines are added up in their order. */
extern "C" __global__ void __launch_bounds__(TILE* LINES)
        mlp_bias_gradient(const float* gradient, float* sums, int rows, int columns) {
    __shared__ float partial[LINES][TILE];
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int row = threadIdx.y; row < rows && column < columns; row += LINES) {
        sum += gradient[(int64_t) row * columns + column];
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int line = 1; line < LINES; line++) {
            sum += partial[line][threadIdx.x];
        }
        sums[column] = sum;
    }
}

/**
 * Softmax and cross-entropy, a row for each thread: its loss, and whether the largest output is the label's. The gradient
 * of scale times the sum of the losses is written if there is a place for it.
 */
extern "C" __global__ void __launch_bounds__(THREADS)
        mlp_softmax_loss(const float* outputs, const int* labels, float* gradient, float* losses, int* hits, int rows,
                int classes, float scale) {
    int64_t row = thisThread();
    if (row >= rows) {
        return;
    }
    const float* mine = outputs + row * classes;
    int largest = 0;
    for (int i = 1; i < classes; i++) {
        largest = mine[i] > mine[largest] ? i : largest;
    }
    float sum = 0.0f;
    for (int i = 0; i < classes; i++) {
        sum += expf(mine[i] - mine[largest]);
    }
    int label = labels[row];
    losses[row] = logf(sum) - (mine[label] - mine[largest]);
    hits[row] = largest == label;
    if (gradient != nullptr) {
        for (int i = 0; i < classes; i++) {
            float share = expf(mine[i] - mine[largest]) / sum;
            gradient[row * classes + i] = scale * (share - (i == label ? 1.0f : 0.0f));
        }
    }
}

/** velocity = momentum * velocity + gradient; value -= rate * velocity. Without a velocity the gradient takes its place. */
extern "C" __global__ void __launch_bounds__(THREADS)
        mlp_sgd(float* value, const float* gradient, float* velocity, float rate, float momentum, int64_t count) {
    int64_t at = thisThread();
    if (at < count) {
        float direction = gradient[at];
        if (velocity != nullptr) {
            direction += momentum * velocity[at];
            velocity[at] = direction;
        }
        value[at] -= rate * direction;
    }
}

/** Adam; rate and unbias come with the step's corrections of the bias of mean and square. */
extern "C" __global__ void __launch_bounds__(THREADS)
        mlp_adam(float* value, const float* gradient, float* mean, float* square, float rate, float unbias, float beta1,
                float beta2, float epsilon, int64_t count) {
    int64_t at = thisThread();
    if (at < count) {
        float g = gradient[at];
        float m = beta1 * mean[at] + (1.0f - beta1) * g;
        float s = beta2 * square[at] + (1.0f - beta2) * g * g;
        mean[at] = m;
        square[at] = s;
        value[at] -= rate * m / (sqrtf(s) * unbias + epsilon);
    }
}
