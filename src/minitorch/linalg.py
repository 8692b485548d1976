"""Linear algebra: what there is under ``torch.linalg``.

Functions of matrices take float32 and float64, in batches, ``(*, m, n)``; LAPACK computes them, through NumPy, and where
that fails for a matrix `LinAlgError` is raised.  The eigenvalues of matrices that are not symmetric are complex, so that
`eig` and `eigvals` only say that.
"""

from .ops._matrices import LinAlgError
from .ops.determinants import det, slogdet
from .ops.factorisations import cholesky, cholesky_ex, lu, lu_factor, lu_factor_ex, lu_solve
from .ops.linalg import matmul, multi_dot
from .ops.matrix_functions import lstsq, matrix_exp, matrix_power, matrix_rank, pinv
from .ops.matrix_norm import cond, matrix_norm, norm
from .ops.orthogonal import householder_product, qr
from .ops.solves import inv, inv_ex, solve, solve_ex, solve_triangular, tensorinv, tensorsolve
from .ops.spectra import eig, eigh, eigvals, eigvalsh, svd, svdvals
from .ops.vector_norm import vector_norm
from .ops.vectors import cross, vander, vecdot
from .ops.vectors import matrix_diagonal as diagonal

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex",
    "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
