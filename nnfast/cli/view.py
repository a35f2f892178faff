"""`nnfast view`: the graph of a model as a web page to pan, search and click: kernels, shapes, times."""

import os
import statistics
from itertools import groupby

from ..checks import counted
from ..errors import Error
from ..model.types import CONSTANT_LIFETIMES, LifeTime, operation_name, type_name
from . import arrays, shapes
from .main import one_line
from .output import Output, add_device_arguments, check_target, device_of, seconds, waiting
from .view_page import page

WIDTH, HEIGHT, BETWEEN, BELOW = 220, 48, 28, 40
"""Of the box of an operation, and the room around it."""

MANY = 20
"""Runs that times are the median of, if they do not take longer than said."""


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help="model file (.tflite, or of Model.save)")
    parser.add_argument("--output", metavar="F.html", help="the page (default: the model's name, in this folder)")
    parser.add_argument("--seconds", type=seconds, default=2.0, metavar="S",
                        help="time to measure the operations for, on random values (default 2; 0: no times)")
    shapes.add_argument(parser)
    add_device_arguments(parser)
    Output.add_argument(parser)


def main(args):
    output = Output(args.json)
    target = args.output or os.path.splitext(os.path.basename(args.model))[0] + ".html"
    check_target(target)
    with waiting("prepare"):
        model, input_shapes, _ = shapes.load(args.model, args.shape, args.relaxed)
        prepared = device_of(args).prepare(model, input_shapes=input_shapes)
    with waiting("measure"):
        times, why = measured(prepared, args.seconds) if args.seconds else ({}, "not measured")
    document = document_of(os.path.basename(args.model), model, prepared.explain(), times, why)
    with open(target, "w", encoding="utf-8") as stream:
        stream.write(page(document))
    count = sum(len(graph["nodes"]) for graph in document["graphs"])
    output.say(f"{target}: {count} boxes in {len(document['graphs'])} graph{'s' * (len(document['graphs']) > 1)}; "
               f"{document['facts'][-1]}")
    output.finish({"page": target, **document})
    return 0


def measured(prepared, limit):
    """({operation: median nanoseconds}, text about the times); {} and the reason where the model does not run."""
    import time

    import nnfast

    until, found = time.monotonic() + limit, {}
    try:
        inputs = arrays.random(prepared.inputs)
        prepared.run(inputs)
        for _ in range(MANY):
            with nnfast.profile() as profile:
                prepared.run(inputs)
            for row in profile.rows:
                found.setdefault(row["index"], []).append(row["ns"])
            if time.monotonic() > until:
                break
    except Error as error:
        return {}, f"no times: {one_line(error)}"
    times = {index: statistics.median(values) for index, values in found.items()}
    return times, f"times: median of {max(map(len, found.values()), default=0)} runs on random values, " \
                  f"{sum(times.values()) / 1e3:,.1f} us in all"


def document_of(title, model, explanation, times, why):
    """What the page shows, as plain data. times: {operation of the main graph: ns}; why: text about them."""
    rows = {row["index"]: row for row in explanation.rows}
    names = [model.name or "main", *(f"graph {place}" for place in range(len(model.referenced)))]
    graphs = [graph_of(name, graph, model, *((rows, times) if graph is model.main else ({}, {})))
              for name, graph in zip(names, (model.main, *model.referenced))]
    memory = [] if explanation.dynamic else \
        [f"working memory {explanation.arena_bytes:,} B, packed weights {explanation.packed_bytes:,} B"]
    facts = [f"{counted(len(model.main.operations), 'operation')}, {counted(explanation.threads, 'thread')}, "
             f"arithmetic {explanation.arithmetic}", *memory, why]
    return {"title": title, "facts": facts, "width": WIDTH, "height": HEIGHT, "graphs": graphs}


def graph_of(name, graph, model, rows, times):
    """Boxes and edges of one graph: its inputs, its operations, its outputs."""
    nodes, edges, makers = [], [], {}
    total = sum(times.values())

    def add(kind, title, note, facts, reads=(), writes=(), graphs=(), share=0.0):
        place = len(nodes)
        nodes.append({"kind": kind, "title": title, "note": note, "facts": facts, "graphs": list(graphs),
                      "share": share})
        edges.extend((makers[operand], place) for operand in dict.fromkeys(reads) if operand in makers)
        makers.update(dict.fromkeys(writes, place))

    for operand in graph.inputs:
        add("input", named(graph, operand), described(graph.operands[operand]),
            [["input", said(graph, operand)]], writes=[operand])
    for index, operation in enumerate(graph.operations):
        row, took = rows.get(index), times.get(index)
        facts = [[f"input {place}", said(graph, operand)] for place, operand in enumerate(operation.inputs)]
        facts += [[f"output {place}", said(graph, operand)] for place, operand in enumerate(operation.outputs)]
        if row:
            facts = about(row) + facts
        if took is not None:
            facts.insert(0, ["time", f"{took / 1e3:,.2f} us, {100 * took / (total or 1):.1f} %"])
        note = f"{took / 1e3:,.1f} us" if took else described(graph.operands[operation.outputs[0]])
        inner = [1 + graph.operands[operand].subgraph for operand in operation.inputs
                 if graph.operands[operand].lifetime == LifeTime.SUBGRAPH]
        add("operation", f"{index} {operation_name(operation.type)}", note, facts, operation.inputs, operation.outputs,
            inner, took / total if took and total else 0.0)
    for operand in graph.outputs:
        add("output", named(graph, operand), described(graph.operands[operand]),
            [["output", said(graph, operand)]], reads=[operand])
    width, height = place_all(nodes, edges)
    return {"name": name, "nodes": nodes, "edges": edges, "width": width, "height": height}


def about(row):
    """Facts of how an operation runs, of a row of explain()."""
    facts = [["kernel", row["kernel"] if row["joined"] is None else f"joined to {row['joined']}"]]
    if row["reason"]:
        facts.append(["why numpy", row["reason"]])
    if row["packed_bytes"]:
        facts.append(["packed weights", f"{row['packed_bytes']:,} B"])
    if row["passes"]:
        facts.append(["changed by", ", ".join(row["passes"])])
    return facts


def named(graph, operand):
    return graph.operands[operand].name or f"operand {operand}"


def said(graph, operand):
    """Name, type, shape and quantization of an operand, in one line."""
    found = graph.operands[operand]
    value = " constant" if found.lifetime in CONSTANT_LIFETIMES else ""
    if found.lifetime in CONSTANT_LIFETIMES and found.data is not None and found.data.size == 1:
        value = f" = {found.data.reshape(-1)[0]}"
    if found.lifetime == LifeTime.NO_VALUE:
        value = " omitted"
    scale = f", scale {found.scale:g}, zero point {found.zero_point}" if found.scale else ""
    return f"{named(graph, operand)}: {type_name(found.type)} {described(found)}{scale}{value}"


def described(operand):
    return "x".join(str(size or "?") for size in operand.dims)


def place_all(nodes, edges):
    """Put boxes into layers from top to bottom, each below what it reads and near it; returns width and height."""
    readers, sources = {}, {}
    for source, target in edges:
        readers.setdefault(source, []).append(target)
        sources.setdefault(target, []).append(source)
    layer = [0] * len(nodes)
    for place in range(len(nodes)):  # what is read stands before its readers
        layer[place] = 1 + max((layer[source] for source in sources.get(place, ())), default=-1)
    for place in reversed(range(len(nodes))):  # what nothing feeds stands right above its first reader
        if place not in sources and place in readers:
            layer[place] = min(layer[target] for target in readers[place]) - 1
    middle = [0.0] * len(nodes)
    for level, members in groupby(sorted(range(len(nodes)), key=layer.__getitem__), layer.__getitem__):
        wanted = {place: statistics.fmean([middle[source] for source in sources.get(place, ())] or [0.0])
                  for place in members}
        order = sorted(wanted, key=lambda place: (wanted[place], place))
        cursor = float("-inf")
        for place in order:
            middle[place] = cursor = max(wanted[place], cursor + WIDTH + BETWEEN)
        shift = statistics.fmean(middle[place] - wanted[place] for place in order)
        for place in order:
            middle[place] -= shift
            nodes[place]["y"] = level * (HEIGHT + BELOW)
    left = min(middle, default=0.0)
    for node, x in zip(nodes, middle):
        node["x"] = round(x - left, 1)
    return (round(max(middle, default=0.0) - left + WIDTH, 1),
            max((node["y"] for node in nodes), default=0) + HEIGHT)
