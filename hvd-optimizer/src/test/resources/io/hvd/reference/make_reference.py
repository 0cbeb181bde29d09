#!/usr/bin/python3
"""Writes the files of values beside it, which TorchReferenceTest compares hvd with.

The values are those of torch where torch has the operation, of numpy where a formula says it in a line, and of
scikit-learn for metrics of classes. Gradients and batches come in PARTS parts, of which a job of n ranks gives
PARTS / n to each rank; torch sees all of them at once.

Run it in this folder with Debian 12's python3-torch (1.13), python3-numpy and python3-sklearn.
"""
import json
import math
import struct
import numpy as np
import torch
from sklearn import metrics as sk

PARTS = 4
RANKS = (1, 2, 4)
random = np.random.default_rng(20240229)


def floats(shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def flat(values):
    """The shortest decimals that give the same floats again."""
    return [float(str(value)) for value in np.asarray(values).reshape(-1)]


def write(name, content):
    with open(name + '.json', 'w') as file:
        json.dump(content, file, separators=(',', ':'))
        file.write('\n')


# ---- optimizers: two parameters, six steps, the rate a tenth of it from the fifth step on

SHAPES = {'w': (7,), 'b': (3,)}
STEPS = 6
START = {name: floats(shape) for name, shape in SHAPES.items()}
GRADIENTS = [[{name: floats(shape, 10.0 ** (step % 3 - 1)) for name, shape in SHAPES.items()}
              for _ in range(PARTS)] for step in range(STEPS)]
for part in GRADIENTS[2]:
    part['w'][0] = 0  # an element without a gradient


def mean_gradient(step):
    return {name: np.mean([part[name] for part in GRADIENTS[step]], axis=0, dtype=np.float64).astype(np.float32)
            for name in SHAPES}


def torch_run(make, rate):
    parameters = {name: torch.nn.Parameter(torch.from_numpy(value.copy())) for name, value in START.items()}
    optimizer = make(list(parameters.values()))
    course = []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group['lr'] = rate if step < 4 else rate / 10
        for name, gradient in mean_gradient(step).items():
            parameters[name].grad = torch.from_numpy(gradient)
        optimizer.step()
        course.append({name: flat(value.detach().numpy()) for name, value in parameters.items()})
    return course


def formula_run(rule, rate):
    values = {name: value.astype(np.float64) for name, value in START.items()}
    memory = {name: {} for name in SHAPES}
    course = []
    for step in range(STEPS):
        for name, gradient in mean_gradient(step).items():
            now = rate if step < 4 else rate / 10
            values[name] = rule(values[name], gradient.astype(np.float64), memory[name], step + 1, now)
        course.append({name: flat(value.astype(np.float32)) for name, value in values.items()})
    return course


def lamb(value, gradient, memory, step, rate, beta1=0.9, beta2=0.999, epsilon=1e-6, decay=0.01):
    memory['m'] = beta1 * memory.get('m', 0) + (1 - beta1) * gradient
    memory['v'] = beta2 * memory.get('v', 0) + (1 - beta2) * gradient ** 2
    direction = (memory['m'] / (1 - beta1 ** step)) / (np.sqrt(memory['v'] / (1 - beta2 ** step)) + epsilon)
    direction = direction + decay * value
    return value - rate * np.linalg.norm(value) / np.linalg.norm(direction) * direction


def lars(value, gradient, memory, step, rate, momentum=0.9, decay=0.0005, trust=0.001):
    local = trust * np.linalg.norm(value) / (np.linalg.norm(gradient) + decay * np.linalg.norm(value))
    memory['v'] = momentum * memory.get('v', 0) + local * (gradient + decay * value)
    return value - rate * memory['v']


OPTIMIZERS = {
    'sgd': (lambda p: torch.optim.SGD(p, 0.1), 0.1),
    'sgd momentum 0.9 decay 0.01': (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01), 0.1),
    'sgd nesterov 0.9 decay 0.01': (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True), 0.1),
    'adam': (lambda p: torch.optim.Adam(p, 0.01), 0.01),
    'adam 0.8 0.95 1e-3': (lambda p: torch.optim.Adam(p, 0.01, betas=(0.8, 0.95), eps=1e-3), 0.01),
    'adamw': (lambda p: torch.optim.AdamW(p, 0.01), 0.01),
    'adamw 0.8 0.95 1e-3 decay 0.1': (
        lambda p: torch.optim.AdamW(p, 0.01, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1), 0.01),
    'rmsprop': (lambda p: torch.optim.RMSprop(p, 0.01), 0.01),
    'rmsprop 0.9 1e-6 momentum 0.8 decay 0.01': (
        lambda p: torch.optim.RMSprop(p, 0.01, alpha=0.9, eps=1e-6, momentum=0.8, weight_decay=0.01), 0.01),
    'adagrad': (lambda p: torch.optim.Adagrad(p, 0.1), 0.1),
    'adagrad 0.1 decay 0.01 1e-6': (
        lambda p: torch.optim.Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.01, eps=1e-6), 0.1),
    'adadelta': (lambda p: torch.optim.Adadelta(p, 1.0), 1.0),
    'adadelta 0.8 1e-4 decay 0.01': (lambda p: torch.optim.Adadelta(p, 0.5, rho=0.8, eps=1e-4, weight_decay=0.01), 0.5),
}


def optimizers():
    courses = {name: {'rate': rate, 'course': torch_run(make, rate)} for name, (make, rate) in OPTIMIZERS.items()}
    courses['lamb'] = {'rate': 0.01, 'course': formula_run(lamb, 0.01)}
    courses['lars'] = {'rate': 1.0, 'course': formula_run(lars, 1.0)}
    write('optimizers', {
        'start': {name: flat(value) for name, value in START.items()},
        'gradients': [[{name: flat(value) for name, value in part.items()} for part in step] for step in GRADIENTS],
        'courses': courses})


# ---- clipping, of the averages of the first step

def clipping():
    cases = []
    for kind, limit in (('norm', 0.5), ('norm', 0.01), ('norm', 1000.0), ('value', 0.05), ('value', 1000.0)):
        parameters = [torch.nn.Parameter(torch.from_numpy(START[name].copy())) for name in SHAPES]
        for parameter, name in zip(parameters, SHAPES):
            parameter.grad = torch.from_numpy(mean_gradient(1)[name])
        norm = None
        if kind == 'norm':
            norm = float(torch.nn.utils.clip_grad_norm_(parameters, limit))
        else:
            torch.nn.utils.clip_grad_value_(parameters, limit)
        cases.append({'kind': kind, 'limit': limit, 'norm': norm,
                      'gradients': {name: flat(p.grad.numpy()) for p, name in zip(parameters, SHAPES)}})
    write('clipping', {'step': 1, 'cases': cases})


# ---- the rules of torch.cuda.amp.GradScaler, which runs on GPUs only

def scaler():
    overflows = [int(x) for x in random.random(60) < 0.15]
    scale, tracker, course = 1024.0, 0, []
    for overflow in overflows:
        if overflow:
            scale, tracker = scale * 0.25, 0
        else:
            tracker += 1
            if tracker == 3:
                scale, tracker = scale * 4.0, 0
        course.append([scale, tracker])
    write('scaler', {'overflows': overflows, 'course': course})


# ---- learning rates, once per epoch

def schedule(make, epochs):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.4)
    planned = make(optimizer)
    rates = []
    for _ in range(epochs):
        rates.append(optimizer.param_groups[0]['lr'])
        optimizer.step()
        planned.step()
    return rates


def plateau():
    losses = [1, 0.9, 0.95, 0.91, 0.92, 0.93, 0.5, 0.6, 0.5, 0.55, 0.4999, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.4)
    planned = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=2, threshold=0.01, threshold_mode='abs', min_lr=0.4 * 0.2)
    rates = []
    for loss in losses:
        planned.step(loss)
        rates.append(optimizer.param_groups[0]['lr'])
    return {'losses': losses, 'rates': rates}


def schedules():
    s = torch.optim.lr_scheduler
    write('schedules', {
        'step': schedule(lambda o: s.StepLR(o, 3, 0.5), 20),
        'exponential': schedule(lambda o: s.ExponentialLR(o, 0.9), 20),
        'multistep': schedule(lambda o: s.MultiStepLR(o, [2, 5, 11], 0.1), 20),
        'cosine': schedule(lambda o: s.CosineAnnealingLR(o, 12, 0.01), 13),
        'polynomial': schedule(lambda o: s.PolynomialLR(o, 10, 2.5), 20),
        'linear': schedule(lambda o: s.LinearLR(o, 0.25, 1.0, 8), 20),
        'cyclic': schedule(lambda o: s.CyclicLR(o, 0.1, 0.4, 4, cycle_momentum=False), 20),
        'cyclic uneven': schedule(lambda o: s.CyclicLR(o, 0.1, 0.4, 2, 6, cycle_momentum=False), 20),
        'cyclic triangular2': schedule(
            lambda o: s.CyclicLR(o, 0.1, 0.4, 3, mode='triangular2', cycle_momentum=False), 20),
        'sequential': schedule(lambda o: s.SequentialLR(
            o, [s.LinearLR(o, 0.25, 1.0, 5), s.ExponentialLR(o, 0.5)], [5]), 20),
        'plateau': plateau()})


# ---- who gets which samples; torch's own random numbers are torch's, so only orders without them

def samplers():
    cases = []
    for size in (1, 2, 5, 10, 11, 13, 64, 97):
        for replicas in (1, 2, 3, 4, 8):
            for drop in (False, True):
                deals = [list(torch.utils.data.DistributedSampler(
                    range(size), replicas, rank, shuffle=False, drop_last=drop)) for rank in range(replicas)]
                cases.append({'size': size, 'replicas': replicas, 'dropLast': drop, 'deals': deals})
    write('samplers', cases)


# ---- a batch norm over the whole batch, in three steps and then an evaluation

def batch_norm():
    features, batch = 3, 8
    layer = torch.nn.BatchNorm2d(features, eps=1e-3, momentum=0.2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([0.5, 1.5, -1.0]))
        layer.bias.copy_(torch.tensor([1.0, 0.0, -2.0]))
    steps = []
    for step in range(3):
        shift = np.array([0, 100, -3], np.float32).reshape(1, features, 1, 1)
        x = torch.from_numpy(floats((batch, features, 3, 2)) * (1 + step) + shift).requires_grad_(True)
        outer = floats((batch, features, 3, 2))
        layer.weight.grad = layer.bias.grad = None
        y = layer(x)
        y.backward(torch.from_numpy(outer))
        steps.append({'x': flat(x.detach()), 'outer': flat(outer), 'y': flat(y.detach()), 'dx': flat(x.grad),
                      'dweight': flat(layer.weight.grad), 'dbias': flat(layer.bias.grad),
                      'mean': flat(layer.running_mean), 'var': flat(layer.running_var)})
    layer.eval()
    with torch.no_grad():
        evaluated = flat(layer(x))
    write('batchnorm', {'batch': batch, 'features': features, 'rows': 3, 'columns': 2, 'steps': steps,
                        'evaluated': evaluated})


# ---- metrics over samples that are shared out

def metrics():
    samples, classes = 64, 5
    labels = random.integers(0, classes, samples)
    scores = np.round(floats((samples, classes)), 1)  # with scores that are equal
    scores[np.arange(samples), labels] += np.float32(0.75)
    order = np.argsort(-scores, axis=1, kind='stable')  # of equal scores, the first class
    predicted = order[:, 0]
    binary = (labels == 2).astype(int)
    probability = random.random(samples).astype(np.float32)
    loss = torch.nn.functional.cross_entropy(torch.from_numpy(scores), torch.from_numpy(labels), reduction='none')
    write('metrics', {
        'classes': classes, 'labels': labels.tolist(), 'scores': flat(scores), 'probability': flat(probability),
        'losses': flat(loss),
        'accuracy': sk.accuracy_score(labels, predicted),
        'top3': float(np.mean([label in order[i, :3] for i, label in enumerate(labels)])),
        'confusion': sk.confusion_matrix(labels, predicted, labels=range(classes)).reshape(-1).tolist(),
        'precision': sk.precision_score(labels, predicted, average=None).tolist(),
        'recall': sk.recall_score(labels, predicted, average=None).tolist(),
        'f1': sk.f1_score(labels, predicted, average=None).tolist(),
        'jaccard': sk.jaccard_score(labels, predicted, average=None).tolist(),
        'auc': sk.roc_auc_score(binary, scores[:, 2]),
        'softDice': float(2 * np.sum(probability.astype(np.float64) * binary) / np.sum(probability.astype(np.float64) + binary)),
        'loss': float(loss.double().mean()), 'perplexity': float(loss.double().mean().exp())})


# ---- numbers of 16 bits, by their bits

def halves():
    bits = [0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff, 0x7f7fffff,
            0x477fefff, 0x477ff000, 0x477fe000, 0x33000000, 0x33000001, 0x33800000, 0x38800000, 0x387fffff,
            0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0x3f801000, 0x3f803000, 0x3f800fff, 0x3f801001]
    bits += [int(x) for x in random.integers(0, 1 << 32, 400) if (int(x) >> 23 & 0xff) != 0xff]
    bits += [int(x) for x in floats(400, 100.0).view(np.uint32)]
    values = torch.from_numpy(np.array(bits, np.uint32).view(np.float32))
    hexadecimal = lambda tensor: tensor.view(torch.int16).numpy().astype('<i2').tobytes().hex()
    write('halves', {'bits': np.array(bits, '<u4').tobytes().hex(), 'float16': hexadecimal(values.to(torch.float16)),
                     'bfloat16': hexadecimal(values.to(torch.bfloat16))})


# ---- reducers, by numpy

def top_k():
    elements, fraction, steps = 40, 0.1, 5
    parts = [[floats(elements) for _ in range(PARTS)] for _ in range(steps)]
    courses = {}
    for ranks in RANKS[1:]:  # one rank sends nothing
        left = [np.zeros(elements, np.float32) for _ in range(ranks)]
        course = []
        for step in range(steps):
            sent = []
            for rank in range(ranks):
                share = PARTS // ranks
                gradient = np.mean(parts[step][rank * share:(rank + 1) * share], axis=0, dtype=np.float32)
                row = left[rank] + gradient
                largest = np.argsort(-np.abs(row), kind='stable')[:math.ceil(fraction * elements)]
                chosen = np.zeros(elements, np.float32)
                chosen[largest] = row[largest]
                left[rank] = row - chosen
                sent.append(chosen)
            course.append(flat(np.mean(sent, axis=0, dtype=np.float32)))
        courses[str(ranks)] = course
    return {'fraction': fraction, 'parts': [[flat(part) for part in step] for step in parts], 'courses': courses}


def low_rank():
    """Without error feedback, and with a gradient that stays the same, the steps end at the best matrix of rank 2."""
    rows, columns, rank = 12, 15, 2
    left, _ = np.linalg.qr(random.standard_normal((rows, rows)))
    right, _ = np.linalg.qr(random.standard_normal((columns, rows)))
    whole = (left * np.array([9, 5] + [0.5 / (i + 1) for i in range(rows - 2)])) @ right.T
    noise = [floats((rows, columns)) for _ in range(PARTS)]
    parts = [(whole + n - np.mean(noise, axis=0)).astype(np.float32) for n in noise]
    u, s, v = np.linalg.svd(np.mean(parts, axis=0, dtype=np.float64))
    best = (u[:, :rank] * s[:rank]) @ v[:rank]
    return {'rows': rows, 'columns': columns, 'rank': rank, 'parts': [flat(part) for part in parts],
            'best': flat(best.astype(np.float32))}


# ---- reductions of every type, by numpy, of bfloat16 by torch

def collectives():
    elements = 37
    cases = []
    for name, code in (('uint8', '<u1'), ('int8', '<i1'), ('int16', '<i2'), ('uint16', '<u2'), ('int32', '<i4'),
                       ('int64', '<i8'), ('float32', '<f4'), ('float64', '<f8'), ('float16', '<f2')):
        if code[1] == 'f':
            parts = [np.round(random.standard_normal(elements) * 8, 2).astype(code) for _ in range(PARTS)]
        else:
            limits = np.iinfo(code)
            parts = [random.integers(limits.min, limits.max, elements, dtype=code[1:], endpoint=True)
                     for _ in range(PARTS)]
        parts = [np.asarray(part, code) for part in parts]
        case = {'dtype': name, 'parts': [part.tobytes().hex() for part in parts], 'results': {}}
        for ranks in RANKS:
            stack = np.stack(parts[:ranks])
            wide = stack.astype(np.float64) if code[1] == 'f' else stack
            cast = lambda values: np.asarray(values).astype(code).tobytes().hex()
            case['results'][str(ranks)] = {
                'SUM': cast(np.add.reduce(wide, axis=0, dtype=wide.dtype)),
                'MIN': cast(stack.min(axis=0)), 'MAX': cast(stack.max(axis=0)),
                'PRODUCT': cast(np.multiply.reduce(wide, axis=0, dtype=wide.dtype))}
            if code[1] == 'f':
                case['results'][str(ranks)]['AVERAGE'] = cast(wide.mean(axis=0))
        cases.append(case)
    brain = [torch.from_numpy(floats(elements, 8.0)).to(torch.bfloat16) for _ in range(PARTS)]
    hexadecimal = lambda tensor: tensor.view(torch.int16).numpy().astype('<i2').tobytes().hex()
    case = {'dtype': 'bfloat16', 'parts': [hexadecimal(part) for part in brain], 'results': {}}
    for ranks in RANKS:
        stack = torch.stack(brain[:ranks]).double()
        case['results'][str(ranks)] = {
            'SUM': hexadecimal(stack.sum(0).to(torch.bfloat16)),
            'AVERAGE': hexadecimal(stack.mean(0).to(torch.bfloat16)),
            'MIN': hexadecimal(stack.min(0).values.to(torch.bfloat16)),
            'MAX': hexadecimal(stack.max(0).values.to(torch.bfloat16)),
            'PRODUCT': hexadecimal(stack.prod(0).to(torch.bfloat16))}
    cases.append(case)
    write('collectives', cases)


# ---- a file of safetensors, written by the definition of the format

def safetensors():
    tensors = {
        'empty': ('F32', (0, 3), np.zeros(0, '<f4')), 'scalar': ('F64', (), np.array(math.pi, '<f8')),
        'f32': ('F32', (2, 3), floats((2, 3))), 'f16': ('F16', (5,), floats(5).astype('<f2')),
        'i64': ('I64', (3,), np.array([-2 ** 63, 0, 2 ** 63 - 1], '<i8')), 'i32': ('I32', (2,), np.array([-7, 2 ** 31 - 1], '<i4')),
        'i16': ('I16', (2, 1), np.array([-32768, 5], '<i2')), 'u16': ('U16', (2,), np.array([65535, 1], '<u2')),
        'i8': ('I8', (3,), np.array([-128, 0, 127], 'i1')), 'u8': ('U8', (1, 1, 4), np.array([0, 1, 254, 255], 'u1')),
        'bool': ('BOOL', (4,), np.array([1, 0, 0, 1], 'u1')),
        'na\u00efve \u65e5\u672c "x"': ('BF16', (3,), torch.tensor([1.5, -2.0, 3.140625]).to(torch.bfloat16).view(torch.int16).numpy())}
    header, data, expected = {'__metadata__': {'made by': 'make_reference.py', 'e': 'caf\u00e9'}}, b'', {}
    for name, (kind, shape, values) in reversed(list(tensors.items())):  # the order of a file is free
        raw = np.ascontiguousarray(values).tobytes()
        header[name] = {'dtype': kind, 'shape': list(shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
        expected[name] = {'shape': list(shape), 'bytes': raw.hex()}
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open('reference.safetensors', 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + data)
    write('safetensors', expected)


optimizers()
clipping()
scaler()
schedules()
samplers()
batch_norm()
metrics()
halves()
write('reducers', {'topK': top_k(), 'lowRank': low_rank()})
collectives()
safetensors()
