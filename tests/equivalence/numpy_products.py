"""Cases of the products of MXNet's NumPy-style interface."""

from __future__ import annotations

from dataclasses import replace

from tests.equivalence.case import Case, Input, case, data, values

Shape = tuple[int, ...]
MATMUL: tuple[tuple[Shape, Shape], ...] = (
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)), ((4, 2, 3), (3, 2)),
    ((4, 2, 3), (4, 3, 2)), ((1, 2, 3), (4, 3, 2)), ((5, 1, 2, 3), (4, 3, 2)), ((2, 3), (4, 3, 2)), ((2, 0), (0, 3)),
    ((0, 3), (3, 2)), ((0, 2, 3), (3, 2)),
)  # fmt: skip
EQUATIONS: tuple[tuple[str, tuple[Shape, ...]], ...] = (
    ("ij,jk->ik", ((2, 3), (3, 2))), ("ij,jk", ((2, 3), (3, 2))), ("ji", ((2, 3),)), ("ii", ((3, 3),)),
    ("ii->i", ((3, 3),)), ("ij->", ((2, 3),)), ("...j,jk->...k", ((4, 2, 3), (3, 2))),
    ("...ij,...jk->...ik", ((1, 2, 3), (4, 3, 2))), ("...ij,...jk", ((1, 2, 3), (4, 3, 2))), ("i,j->ij", ((2,), (3,))),
    (" i j , j k -> k i ", ((2, 3), (3, 2))), ("ij,jk,kl->il", ((2, 3), (3, 2), (2, 4))),
    ("Aa,aB->AB", ((2, 3), (3, 2))), ("ba,Bc", ((2, 3), (4, 2))), ("ij,ij->j", ((2, 3), (2, 3))),
    ("i...->...", ((2, 3),)), ("ij...->j...i", ((2, 3, 4),)),
    (",->", ((), ())), ("i,->i", ((2,), ())), ("ii,i->i", ((3, 3), (3,))), ("...ii->...i", ((2, 3, 3),)),
    ("abc,dcf->abdf", ((2, 2, 0), (2, 0, 3))), ("...,...->...", ((2, 3), (3,))),
    ("bqhd,bkhd->bhqk", ((2, 3, 2, 4), (2, 5, 2, 4))),
)  # fmt: skip


def pair(left: Shape, right: Shape, dtype: str = "float32") -> tuple[Input, Input]:
    """The operands a and b."""
    return data(*left, name="a", dtype=dtype), data(*right, name="b", dtype=dtype)


def shown(*shapes: Shape) -> str:
    """Shapes in a test's id."""
    return "_".join("x".join(map(str, shape)) or "scalar" for shape in shapes)


def einsum(equation: str, shapes: tuple[Shape, ...], variant: str, dtype: str = "float32") -> Case:
    """An equation on operands of these shapes."""
    kind = {"bool": "bits", "uint8": "integers:0:255", "int8": "integers:-128:127"}.get(dtype, "normal")
    inputs = [data(*shape, name=f"arg{place}", dtype=dtype, kind=kind) for place, shape in enumerate(shapes)]
    return case("_npi_einsum", variant, *inputs, num_args=len(inputs), subscripts=equation)


ROWS: tuple[Case, ...] = (
    *(case("_npi_matmul", shown(*shapes), *pair(*shapes)) for shapes in MATMUL),
    case("_npi_matmul", "float64", *pair((2, 3), (3, 2), "float64")),
    *(case("_np_dot", shown(*shapes), *pair(*shapes)) for shapes in MATMUL),
    *(case("_np_dot", shown(*shapes), *pair(*shapes)) for shapes in (((), (3,)), ((2, 3), ()), ((), ()))),
    *(case("_np_dot", shown(*shapes), *pair(*shapes))
      for shapes in (((2, 2, 0), (2, 0, 3)), ((2, 2, 0), (3, 1, 0, 2)))),
    case("_np_dot", "infinities_and_nothing", values(0, float("-inf"), float("nan"), 1, shape=(2, 2), name="a"),
         values(-0.0, shape=(), name="b")),
    case("_np_dot", "far", *pair((4, 2, 3), (5, 3, 2))),
    case("_np_dot", "float64", *pair((2, 2, 3), (2, 3, 2), "float64")),
    *(
        case("_npi_tensordot_int_axes", f"{axes}-{shown(left, right)}", *pair(left, right), axes=axes)
        for left, right, axes in (
            ((2, 3), (3, 2), 0), ((2, 3), (3, 2), 1), ((2, 3), (2, 3), 2), ((2, 3, 4), (3, 4, 5), 2), ((), (2, 3), 0),
            ((), (), 0), ((3,), (3,), 1), ((2, 3, 4), (4, 3, 2), 1), ((0, 3), (3, 2), 1),
        )
    ),
    *(
        case("_npi_tensordot", f"{number}", *pair(left, right), a_axes_summed=first, b_axes_summed=second)
        for number, (left, right, first, second) in enumerate((
            ((2, 3, 4), (4, 3, 5), (1, 2), (1, 0)), ((2, 3, 4), (4, 3, 5), (-2, -1), (1, 0)), ((2, 3), (3, 2), (), ()),
            ((2, 3), (2, 3), (0, 1), (0, 1)), ((2, 3), (2, 3), (1, 0), (1, 0)), ((3,), (3,), (0,), (0,)),
            ((2, 3), (4, 2), (0,), (1,)), ((), (2, 3), (), ()), ((0, 3), (3, 2), (1,), (0,)),
        ))
    ),
    case("_npi_tensordot", "float64", *pair((2, 3), (4, 2), "float64"), a_axes_summed=(0,), b_axes_summed=(1,)),
    *(einsum(equation, shapes, str(number)) for number, (equation, shapes) in enumerate(EQUATIONS)),
    *(einsum("ij,jk->ik", ((2, 3), (3, 2)), dtype, dtype) for dtype in ("bool", "int8", "uint8", "int32", "int64")),
    *(einsum("ij,jk->ki", ((2, 3), (3, 2)), dtype, dtype) for dtype in ("float16", "float64")),
)  # fmt: skip

CASES: tuple[Case, ...] = tuple(replace(row, np_shape=True) for row in ROWS)

REFUSED: tuple[Case, ...] = tuple(
    replace(row, np_shape=True)
    for row in (
        case("_npi_matmul", "scalar", *pair((), (3,))),
        case("_npi_matmul", "other sizes", *pair((2, 3), (2, 3))),
        case("_npi_matmul", "integers", *pair((2, 3), (3, 2), "int32")),
        einsum("ij,jk->ik", ((1,), (3,)), "fewer_axes_than_labels"),
        case("_np_dot", "other sizes", *pair((2, 3), (2, 3))),
        case("_np_dot", "integers", *pair((2, 3), (3, 2), "int64")),
        case("_npi_tensordot", "other counts", *pair((2, 3), (3, 2)), a_axes_summed=(1,), b_axes_summed=(0, 1)),
        case("_npi_tensordot_int_axes", "other sizes", *pair((2, 3), (2, 3)), axes=1),
        einsum("ik,jk->ijz", ((2, 3), (2, 3)), "label of nothing"),
        einsum("ij->ii", ((2, 2),), "label twice"),
    )
)
