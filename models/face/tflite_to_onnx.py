"""A small converter from TensorFlow Lite to ONNX, for the operators that the face networks use.

TFLite keeps pictures as batch, row, column, channel (NHWC), ONNX as batch, channel, row, column (NCHW). Each value is
made in the layout that its operator likes and transposed only where another one asks for it ("n" native, "c" NCHW).
Half-precision weights stay half-precision: an f16 initializer and a Cast, which the reader folds at load.
Opset 13, static shapes.
"""
import hashlib

import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper, numpy_helper

OPERATOR_NAMES = {v: k for k, v in vars(tflite.BuiltinOperator).items() if isinstance(v, int)}
DTYPES = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.INT64: np.int64,
}
NCHW_FROM_NHWC = [0, 3, 1, 2]
NHWC_FROM_NCHW = [0, 2, 3, 1]
# Smaller ones are not worth a Cast.
MIN_HALF_SIZE = 16


class Converter:
    """Converts one model; use it once."""

    def __init__(self, model):
        self.model = tflite.Model.GetRootAsModel(model, 0)
        assert self.model.SubgraphsLength() == 1
        self.graph = self.model.Subgraphs(0)
        self.nodes, self.initializers = [], []
        self.constants = {}  # tensor → array
        self.halves = set()  # constants that were f16
        self.values = {}  # (tensor, layout) → ONNX name
        self.paddings = {}  # output of a spatial PAD → (tensor, top, left, bottom, right), folded into convolutions
        self.initializer_names = {}  # content → ONNX name
        self.name_count = 0

    def run(self):
        """The ONNX model."""
        self.read_constants()
        inputs = []
        for i, tensor in enumerate(int(t) for t in self.graph.InputsAsNumpy()):
            name = "input" if i == 0 else f"input{i}"
            shape = self.shape(tensor)
            is_picture = len(shape) == 4
            self.values[tensor, "c" if is_picture else "n"] = name
            shape = [shape[axis] for axis in NCHW_FROM_NHWC] if is_picture else shape
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        for k in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(k)
            code = self.model.OperatorCodes(operator.OpcodeIndex())
            name = OPERATOR_NAMES[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            convert = getattr(self, f"op_{name}", None)
            if convert is None:
                raise NotImplementedError(name)
            convert(operator, [int(t) for t in operator.InputsAsNumpy()], [int(t) for t in operator.OutputsAsNumpy()])
        outputs = []
        for tensor in (int(t) for t in self.graph.OutputsAsNumpy()):
            name = self.graph.Tensors(tensor).Name().decode().replace(":", "_")
            self.node("Identity", [self.get(tensor, "n")], name)
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shape(tensor)))
        nodes = prune(self.nodes, [output.name for output in outputs])
        used = {name for node in nodes for name in node.input}
        initializers = [tensor for tensor in self.initializers if tensor.name in used]
        graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
        opset = helper.make_opsetid("", 13)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="tflite2onnx_vt")
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        return model

    def read_constants(self):
        for i in range(self.graph.TensorsLength()):
            tensor = self.graph.Tensors(i)
            buffer = self.model.Buffers(tensor.Buffer())
            if buffer.DataLength() == 0:
                continue
            array = np.frombuffer(buffer.DataAsNumpy().tobytes(), DTYPES[tensor.Type()])
            # Sparse ones hold fewer values than their shape says; DENSIFY asks for them.
            self.constants[i] = array.reshape(self.shape(i)) if tensor.Sparsity() is None else array
            if array.dtype == np.float16:
                self.halves.add(i)

    # Building blocks.

    def shape(self, tensor):
        tensor = self.graph.Tensors(tensor)
        return [int(x) for x in tensor.ShapeAsNumpy()] if tensor.ShapeLength() else []

    def new_name(self, hint):
        self.name_count += 1
        return f"{hint}_{self.name_count}"

    def node(self, kind, inputs, output=None, **attributes):
        output = output or self.new_name(kind.lower())
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def initializer(self, array, is_half=False, hint="w"):
        """The name of a constant; equal ones share one."""
        array = np.asarray(array)
        if array.ndim:  # ascontiguousarray would make shape [1] of a scalar, which tract refuses for Pad and Clip
            array = np.ascontiguousarray(array)
        key = hashlib.sha1(repr((array.shape, str(array.dtype), is_half)).encode() + array.tobytes()).hexdigest()
        if key not in self.initializer_names:
            name = self.new_name(hint)
            if is_half and array.dtype == np.float32 and array.size > MIN_HALF_SIZE:
                self.initializers.append(numpy_helper.from_array(array.astype(np.float16), f"{name}_h"))
                self.nodes.append(helper.make_node("Cast", [f"{name}_h"], [name], to=TensorProto.FLOAT))
            else:
                self.initializers.append(numpy_helper.from_array(array, name))
            self.initializer_names[key] = name
        return self.initializer_names[key]

    def get(self, tensor, layout="n"):
        """The ONNX value of a tensor in a layout ("c" for rank 4 only)."""
        if tensor in self.constants:
            array = self.constants[tensor]
            if layout == "c" and array.ndim >= 1:
                array = array.reshape((1,) * (4 - array.ndim) + array.shape).transpose(NCHW_FROM_NHWC)
            return self.initializer(array, tensor in self.halves)
        if (tensor, layout) not in self.values:
            assert len(self.shape(tensor)) == 4
            source = self.values[tensor, "c" if layout == "n" else "n"]
            perm = NCHW_FROM_NHWC if layout == "c" else NHWC_FROM_NCHW
            self.values[tensor, layout] = self.node("Transpose", [source], perm=perm)
        return self.values[tensor, layout]

    def layout(self, tensor):
        return "c" if (tensor, "c") in self.values else "n"

    def activation(self, name, kind):
        functions = tflite.ActivationFunctionType
        if kind == functions.NONE:
            return name
        if kind == functions.RELU:
            return self.node("Relu", [name])
        if kind == functions.RELU6:
            return self.node("Clip", [name, self.initializer(np.float32(0)), self.initializer(np.float32(6))])
        raise NotImplementedError(f"activation {kind}")

    # Operators, by their TFLite names.

    def op_DEQUANTIZE(self, _, inputs, outputs):
        array = self.constants[inputs[0]]
        assert array.dtype == np.float16
        self.constants[outputs[0]] = array.astype(np.float32)
        self.halves.add(outputs[0])

    def op_DENSIFY(self, _, inputs, outputs):
        self.constants[outputs[0]] = dense(self.graph.Tensors(inputs[0]), self.constants[inputs[0]])
        if inputs[0] in self.halves:
            self.halves.add(outputs[0])

    def convolution(self, operator, inputs, outputs, is_depthwise):
        o = options(operator, tflite.DepthwiseConv2DOptions if is_depthwise else tflite.Conv2DOptions)
        weights = self.constants[inputs[1]]
        channels = self.shape(inputs[0])[3]
        # Depthwise [1, rows, columns, out] or plain [out, rows, columns, in] → [out, in of the group, rows, columns].
        kernel = weights.transpose(3, 0, 1, 2) if is_depthwise else weights.transpose(0, 3, 1, 2)
        group = channels if is_depthwise else channels // weights.shape[3]
        rows, columns = weights.shape[1:3]
        strides = [o.StrideH(), o.StrideW()]
        dilations = [o.DilationHFactor() or 1, o.DilationWFactor() or 1]
        source, pads = inputs[0], [0, 0, 0, 0]
        if o.Padding() == tflite.Padding.SAME:
            height, width = self.shape(source)[1:3]
            top, bottom = same_padding(height, rows, strides[0], dilations[0])
            left, right = same_padding(width, columns, strides[1], dilations[1])
            pads = [top, left, bottom, right]
        elif source in self.paddings:
            source, *pads = self.paddings[source]
        values = [self.get(source, "c"), self.initializer(kernel, inputs[1] in self.halves)]
        if len(inputs) > 2 and inputs[2] >= 0:
            values.append(self.initializer(self.constants[inputs[2]], inputs[2] in self.halves, "b"))
        result = self.node(
            "Conv", values, kernel_shape=[rows, columns], strides=strides, dilations=dilations, pads=pads, group=group
        )
        self.values[outputs[0], "c"] = self.activation(result, o.FusedActivationFunction())

    def op_CONV_2D(self, operator, inputs, outputs):
        self.convolution(operator, inputs, outputs, is_depthwise=False)

    def op_DEPTHWISE_CONV_2D(self, operator, inputs, outputs):
        self.convolution(operator, inputs, outputs, is_depthwise=True)

    def op_MAX_POOL_2D(self, operator, inputs, outputs):
        o = options(operator, tflite.Pool2DOptions)
        height, width = self.shape(inputs[0])[1:3]
        top = left = bottom = right = 0
        if o.Padding() == tflite.Padding.SAME:
            top, bottom = same_padding(height, o.FilterHeight(), o.StrideH())
            left, right = same_padding(width, o.FilterWidth(), o.StrideW())
        result = self.node(
            "MaxPool",
            [self.get(inputs[0], "c")],
            kernel_shape=[o.FilterHeight(), o.FilterWidth()],
            strides=[o.StrideH(), o.StrideW()],
            pads=[top, left, bottom, right],
        )
        self.values[outputs[0], "c"] = self.activation(result, o.FusedActivationFunction())

    def op_PRELU(self, _, inputs, outputs):
        layout = self.layout(inputs[0])
        slopes = self.constants[inputs[1]]
        if layout == "c":
            slopes = slopes.reshape((1,) * (4 - slopes.ndim) + slopes.shape).transpose(NCHW_FROM_NHWC)[0]
        value = self.get(inputs[0], layout)
        slopes_name = self.initializer(slopes, inputs[1] in self.halves, "alpha")
        self.values[outputs[0], layout] = self.node("PRelu", [value, slopes_name])

    def unary(self, kind, inputs, outputs):
        layout = self.layout(inputs[0])
        self.values[outputs[0], layout] = self.node(kind, [self.get(inputs[0], layout)])

    def op_RELU(self, _, inputs, outputs):
        self.unary("Relu", inputs, outputs)

    def op_LOGISTIC(self, _, inputs, outputs):
        self.unary("Sigmoid", inputs, outputs)

    def op_NEG(self, _, inputs, outputs):
        self.unary("Neg", inputs, outputs)

    def op_SQRT(self, _, inputs, outputs):
        self.unary("Sqrt", inputs, outputs)

    def op_RSQRT(self, _, inputs, outputs):
        layout = self.layout(inputs[0])
        root = self.node("Sqrt", [self.get(inputs[0], layout)])
        self.values[outputs[0], layout] = self.node("Reciprocal", [root])

    def binary(self, kind, operator, inputs, outputs, option_type):
        # NCHW if all computed operands are pictures and one is in it already.
        computed = [tensor for tensor in inputs if tensor not in self.constants]
        are_pictures = all(len(self.shape(tensor)) == 4 for tensor in [*computed, outputs[0]])
        layout = "c" if are_pictures and any(self.layout(tensor) == "c" for tensor in computed) else "n"
        result = self.node(kind, [self.get(tensor, layout) for tensor in inputs])
        kind = options(operator, option_type).FusedActivationFunction()
        self.values[outputs[0], layout] = self.activation(result, kind)

    def op_ADD(self, *args):
        self.binary("Add", *args, tflite.AddOptions)

    def op_SUB(self, *args):
        self.binary("Sub", *args, tflite.SubOptions)

    def op_MUL(self, *args):
        self.binary("Mul", *args, tflite.MulOptions)

    def op_DIV(self, *args):
        self.binary("Div", *args, tflite.DivOptions)

    def op_SQUARED_DIFFERENCE(self, _, inputs, outputs):
        computed = [tensor for tensor in inputs if tensor not in self.constants]
        layout = "c" if all(self.layout(tensor) == "c" for tensor in computed) else "n"
        difference = self.node("Sub", [self.get(tensor, layout) for tensor in inputs])
        self.values[outputs[0], layout] = self.node("Mul", [difference, difference])

    def op_PAD(self, _, inputs, outputs):
        pads = self.constants[inputs[1]].astype(np.int64)
        layout = "c" if len(self.shape(inputs[0])) == 4 else "n"
        if layout == "c":
            pads = pads[NCHW_FROM_NHWC]
            if not pads[:2].any():
                (top, bottom), (left, right) = pads[2:].tolist()
                self.paddings[outputs[0]] = (inputs[0], top, left, bottom, right)
        pads = np.concatenate([pads[:, 0], pads[:, 1]])
        values = [self.get(inputs[0], layout), self.initializer(pads), self.initializer(np.float32(0))]
        self.values[outputs[0], layout] = self.node("Pad", values)

    def op_RESHAPE(self, _, inputs, outputs):
        if inputs[0] in self.constants:
            self.constants[outputs[0]] = self.constants[inputs[0]].reshape(self.shape(outputs[0]))
            return
        shape = self.shape(inputs[0])
        # One pixel is the same in both layouts.
        is_pixel = len(shape) == 4 and shape[1] == shape[2] == 1
        value = self.get(inputs[0], self.layout(inputs[0]) if is_pixel else "n")
        target = self.initializer(np.array(self.shape(outputs[0]), np.int64))
        self.values[outputs[0], "n"] = self.node("Reshape", [value, target])

    def op_CONCATENATION(self, operator, inputs, outputs):
        rank = len(self.shape(outputs[0]))
        axis = options(operator, tflite.ConcatenationOptions).Axis() % rank
        layout = "c" if rank == 4 and any(self.layout(tensor) == "c" for tensor in inputs) else "n"
        axis = NHWC_FROM_NCHW[axis] if layout == "c" else axis
        self.values[outputs[0], layout] = self.node(
            "Concat", [self.get(tensor, layout) for tensor in inputs], axis=axis
        )

    def reduction(self, operator, inputs, outputs):
        """The value to reduce, its axes, whether they stay, and the layout of the result."""
        keep = bool(options(operator, tflite.ReducerOptions).KeepDims())
        rank = len(self.shape(inputs[0]))
        axes = [int(axis) % rank for axis in np.atleast_1d(self.constants[inputs[1]])]
        if self.layout(inputs[0]) == "c" and (keep or sorted(axes) == [1, 2]):
            axes = [NHWC_FROM_NCHW[axis] for axis in axes]
            return self.get(inputs[0], "c"), axes, keep, "c" if keep else "n"
        return self.get(inputs[0], "n"), axes, keep, "n"

    def op_MEAN(self, operator, inputs, outputs):
        value, axes, keep, layout = self.reduction(operator, inputs, outputs)
        self.values[outputs[0], layout] = self.node("ReduceMean", [value], axes=axes, keepdims=int(keep))

    def op_SUM(self, operator, inputs, outputs):
        value, axes, keep, layout = self.reduction(operator, inputs, outputs)
        axes = self.initializer(np.array(axes, np.int64))
        self.values[outputs[0], layout] = self.node("ReduceSum", [value, axes], keepdims=int(keep))

    def op_RESIZE_BILINEAR(self, operator, inputs, outputs):
        o = options(operator, tflite.ResizeBilinearOptions)
        mode = "align_corners" if o.AlignCorners() else "half_pixel" if o.HalfPixelCenters() else "asymmetric"
        large, small = self.shape(outputs[0]), self.shape(inputs[0])
        scales = self.initializer(np.array([1, 1, large[1] / small[1], large[2] / small[2]], np.float32))
        attributes = {"mode": "linear", "coordinate_transformation_mode": mode}
        self.values[outputs[0], "c"] = self.node("Resize", [self.get(inputs[0], "c"), "", scales], **attributes)

    def op_DEPTH_TO_SPACE(self, operator, inputs, outputs):
        size = options(operator, tflite.DepthToSpaceOptions).BlockSize()
        picture = self.get(inputs[0], "c")
        self.values[outputs[0], "c"] = self.node("DepthToSpace", [picture], blocksize=size, mode="DCR")

    def op_TRANSPOSE(self, _, inputs, outputs):
        perm = [int(axis) for axis in self.constants[inputs[1]]]
        self.values[outputs[0], "n"] = self.node("Transpose", [self.get(inputs[0])], perm=perm)

    def op_STRIDED_SLICE(self, operator, inputs, outputs):
        o = options(operator, tflite.StridedSliceOptions)
        assert o.EllipsisMask() == 0 and o.NewAxisMask() == 0
        shape = self.shape(inputs[0])
        begins, ends, steps = (self.constants[tensor].tolist() for tensor in inputs[1:4])
        shrinks = False
        for axis in range(len(begins)):
            if o.BeginMask() >> axis & 1:
                begins[axis] = 0
            if o.EndMask() >> axis & 1:
                ends[axis] = shape[axis]
            if o.ShrinkAxisMask() >> axis & 1:
                begins[axis] %= shape[axis]
                ends[axis] = begins[axis] + 1
                shrinks = True
        bounds = [np.array(v, np.int64) for v in (begins, ends, list(range(len(begins))), steps)]
        result = self.node("Slice", [self.get(inputs[0])] + [self.initializer(v) for v in bounds])
        if shrinks:
            target = self.initializer(np.array(self.shape(outputs[0]), np.int64))
            result = self.node("Reshape", [result, target])
        self.values[outputs[0], "n"] = result


def dense(tensor, values):
    """A sparse tensor's values at their places, zeros elsewhere: TACO's format, levels dense or compressed."""
    sparsity = tensor.Sparsity()
    shape = [int(x) for x in tensor.ShapeAsNumpy()]
    order = [int(x) for x in sparsity.TraversalOrderAsNumpy()]
    blocked = [int(x) for x in sparsity.BlockMapAsNumpy()] if sparsity.BlockMapLength() else []
    levels = [level(sparsity.DimMetadata(i)) for i in range(sparsity.DimMetadataLength())]
    block_sizes = [1] * len(shape)
    for i, axis in enumerate(blocked):
        block_sizes[axis] = levels[len(shape) + i][0]
    result = np.zeros(shape, values.dtype)

    def place(depth, position, path):
        if depth == len(levels):
            at = [0] * len(shape)
            for i, step in enumerate(path[: len(shape)]):
                at[order[i]] = step * block_sizes[order[i]]
            for axis, step in zip(blocked, path[len(shape) :]):
                at[axis] += step
            result[tuple(at)] = values[position]
            return
        size, segments, indices = levels[depth]
        if segments is None:
            for step in range(size):
                place(depth + 1, position * size + step, [*path, step])
        else:
            for child in range(segments[position], segments[position + 1]):
                place(depth + 1, child, [*path, indices[child]])

    place(0, 0, [])
    return result


def level(metadata):
    """Size, segments and indices of a level; the latter two are None where it is dense."""
    if metadata.Format() == tflite.DimensionType.DENSE:
        return metadata.DenseSize(), None, None

    def integers(kind, table):
        vector = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}[kind]()
        vector.Init(table.Bytes, table.Pos)
        return [int(x) for x in vector.ValuesAsNumpy()]

    segments = integers(metadata.ArraySegmentsType(), metadata.ArraySegments())
    return 0, segments, integers(metadata.ArrayIndicesType(), metadata.ArrayIndices())


def options(operator, option_type):
    """The operator's own settings."""
    settings = option_type()
    table = operator.BuiltinOptions()
    settings.Init(table.Bytes, table.Pos)
    return settings


def same_padding(size, kernel, stride, dilation=1):
    """TensorFlow's padding "SAME": before and after; the odd pixel comes after."""
    count = -(-size // stride)
    total = max((count - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def prune(nodes, outputs):
    """The nodes that the outputs need, in order."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if any(name in needed for name in node.output):
            kept.append(node)
            needed.update(node.input)
    return kept[::-1]
